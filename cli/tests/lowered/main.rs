//! Programs that native plans are lowered to, against the kernels: the same bits, in whatever order their pipes get on.

mod both;
mod grid_sampler_2d_backward;
mod im2col_backward;
mod max_unpool2d_backward;
mod products;
mod replication_pad2d_backward;
