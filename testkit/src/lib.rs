//! Naive reference, generators and comparisons.
