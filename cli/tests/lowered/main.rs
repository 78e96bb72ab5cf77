//! Programs that native plans are lowered to, against the kernels: the same bits, in whatever order their pipes get on. And the vendor's,
//! against the reference.

mod both;
mod grid_sampler_2d_backward;
mod im2col_backward;
mod max_unpool2d_backward;
mod pieces;
mod products;
mod replication_pad2d_backward;
mod vendor;
