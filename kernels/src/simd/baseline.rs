//! The baseline
