//! One operator in one dtype on a plain problem, run so many times: the difference of two numbers of runs is what a run takes.

use ubtile_kernels::Level;
use ubtile_tiling::{Dtype, PlanOptions, TargetSpec};

use crate::memory::Memory;
use crate::operators::{Fold, Grid, Pad, Setting, Unpool};

/// Marks the request in the image's file. Three words follow: operator, dtype (its place in [`Dtype::ALL`]) and runs.
pub const MARK: [u32; 4] = [0x7562_7469, 0x6c65_2063, 0x6f73_7473, 0x2d72_6571];

/// Runs what is asked for. Operators: 0 bilinear and 1 bicubic grid sampler, 2 max unpool, 3 replication pad, 4 im2col.
/// Gives the elements of the first output, 0 where nothing was computed.
///
/// Shapes: image 1x4x16x16 and as many points, at the border where they would lie outside; 1x4x12x12 of 24x24 with I32 indices;
/// 1x4x16x16 with a pad of 1; 1x2x16x16 with 3 x 3 windows, stride 1 and padding 1. Plans are for one core without caches and no
/// workspace limit.
#[must_use]
pub fn measure(operator: u32, dtype: u32, runs: u32, level: Level, memory: &mut Memory) -> usize {
    let Some(&dtype) = usize::try_from(dtype).ok().and_then(|place| Dtype::ALL.get(place)) else { return 0 };
    let target = TargetSpec::from_name("cortex-m4").unwrap_or(TargetSpec::host(1));
    let mut setting = Setting { target, options: PlanOptions::default(), level, memory, runs };
    let bytes = match operator {
        0 | 1 => setting
            .grid(&Grid {
                dtype,
                image: [1, 4, 16, 16],
                points: [16, 16],
                interpolation: if operator == 1 { 2 } else { 0 },
                padding_mode: 1,
                align_corners: false,
            })
            .map(|[input_grad, _]| input_grad.len()),
        2 => {
            let (pooled, unpooled) = ([1, 4, 12, 12], [24, 24]);
            setting.unpool(&Unpool { dtype, out: dtype, index: Dtype::I32, pooled, unpooled }).map(|[out]| out.len())
        }
        3 => setting.pad(&Pad { dtype, image: [1, 4, 16, 16], padding: [1; 4] }).map(|[out]| out.len()),
        _ => {
            let (image, one) = ([1, 2, 16, 16], [1, 1]);
            let fold = Fold { dtype, out: dtype, image, dilation: one, padding: one, stride: one };
            setting.fold(&fold).map(|[out]| out.len())
        }
    };
    bytes.unwrap_or(0) / dtype.size().max(1)
}
