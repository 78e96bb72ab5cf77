//! The four operators from description to outputs, on inputs made from integers.

use ubtile_kernels::{
    Level, Values, ValuesMut, grid_sampler_2d_backward as grid_sampler, im2col_backward as im2col,
    max_unpool2d_backward as max_unpool, replication_pad2d_backward as replication_pad,
};
use ubtile_tiling::{Dtype, Edition, PlanOptions, TargetSpec, TensorDesc};

use crate::memory::{Memory, put};

/// How to compute: what the plan is for, the kernels' level, the tensors' memory, and how many times to run.
pub(crate) struct Setting<'a> {
    pub(crate) target: TargetSpec,
    pub(crate) options: PlanOptions,
    pub(crate) level: Level,
    pub(crate) memory: &'a mut Memory,
    pub(crate) runs: u32,
}

/// GridSampler2DBackward: `[n, c, h, w]` of the input, the points' rows and columns, and aclnn's attributes.
pub(crate) struct Grid {
    pub(crate) dtype: Dtype,
    pub(crate) image: [usize; 4],
    pub(crate) points: [usize; 2],
    pub(crate) interpolation: i64,
    pub(crate) padding_mode: i64,
    pub(crate) align_corners: bool,
}

/// MaxUnpool2dBackward: dtypes of values, result and indices, `[n, c, h, w]` of the pooled tensor, and the unpooled plane.
pub(crate) struct Unpool {
    pub(crate) dtype: Dtype,
    pub(crate) out: Dtype,
    pub(crate) index: Dtype,
    pub(crate) pooled: [usize; 4],
    pub(crate) unpooled: [usize; 2],
}

/// ReplicationPad2dBackward: `[n, c, h, w]` before padding; left, right, top, bottom.
pub(crate) struct Pad {
    pub(crate) dtype: Dtype,
    pub(crate) image: [usize; 4],
    pub(crate) padding: [i64; 4],
}

/// Im2colBackward: dtypes of values and result, `[n, c, h, w]` of the image, and the windows.
pub(crate) struct Fold {
    pub(crate) dtype: Dtype,
    pub(crate) out: Dtype,
    pub(crate) image: [usize; 4],
    pub(crate) dilation: [i64; 2],
    pub(crate) padding: [i64; 2],
    pub(crate) stride: [i64; 2],
}

/// Kernels are 3 x 3.
const KERNEL: i64 = 3;

fn tensor(dtype: Dtype, shape: &[usize]) -> Option<TensorDesc> {
    TensorDesc::contiguous(dtype, shape).ok()
}

impl Setting<'_> {
    /// input_grad and grid_grad.
    pub(crate) fn grid(&mut self, case: &Grid) -> Option<[&[u8]; 2]> {
        use ubtile_tiling::grid_sampler_2d_backward::{Desc, check, plan};
        let ([n, c, ..], [rows, columns], dtype) = (case.image, case.points, case.dtype);
        let points = [n, rows, columns, 2];
        let desc = Desc {
            grad_output: tensor(dtype, &[n, c, rows, columns])?,
            input: tensor(dtype, &case.image)?,
            grid: tensor(dtype, &points)?,
            input_grad: tensor(dtype, &case.image)?,
            grid_grad: tensor(dtype, &points)?,
            interpolation: case.interpolation,
            padding_mode: case.padding_mode,
            align_corners: case.align_corners,
            output_mask: &[true, true],
        };
        let plan = plan(&check(&desc, None, Edition::Any).ok()?, &self.target, &self.options).ok()?;
        let mut arena = self.memory.arena();
        let (pixels, values) = (case.image.iter().product::<usize>(), points.iter().product::<usize>());
        let grid = arena.filled(dtype, values, 3);
        if let (Dtype::F64, Some(first)) = (dtype, grid.first_chunk_mut()) {
            // The x of the first point: the lowest column that has a pixel, behind one that 32 bits do not count.
            *first = ((2.0 * (0.5 - 2_147_483_648.0) + 1.0) / case.image[3] as f64 - 1.0).to_ne_bytes();
        }
        let inputs = grid_sampler::Inputs {
            grad_output: Values::from_bytes(dtype, arena.filled(dtype, n * c * rows * columns, 1))?,
            input: Values::from_bytes(dtype, arena.filled(dtype, pixels, 2))?,
            grid: Values::from_bytes(dtype, grid)?,
        };
        let (input_grad, grid_grad) = (arena.take(pixels * dtype.size()), arena.take(values * dtype.size()));
        let workspace = arena.take(plan.workspace_bytes());
        for _ in 0..self.runs {
            let outputs = grid_sampler::Outputs {
                input_grad: ValuesMut::from_bytes(dtype, input_grad)?,
                grid_grad: ValuesMut::from_bytes(dtype, grid_grad)?,
            };
            grid_sampler::run(&plan, self.level, inputs, outputs, workspace).ok()?;
        }
        Some([input_grad, grid_grad])
    }

    /// out.
    pub(crate) fn unpool(&mut self, case: &Unpool) -> Option<[&[u8]; 1]> {
        use ubtile_tiling::max_unpool2d_backward::{Desc, check, plan};
        let ([n, c, ..], [rows, columns]) = (case.pooled, case.unpooled);
        let desc = Desc {
            grad_output: tensor(case.dtype, &[n, c, rows, columns])?,
            self_tensor: tensor(case.dtype, &case.pooled)?,
            indices: tensor(case.index, &case.pooled)?,
            output_size: &[i64::try_from(rows).ok()?, i64::try_from(columns).ok()?],
            out: tensor(case.out, &case.pooled)?,
        };
        let plan = plan(&check(&desc, None, Edition::Any).ok()?, &self.target, &self.options).ok()?;
        let mut arena = self.memory.arena();
        let (elements, plane) = (case.pooled.iter().product::<usize>(), rows * columns);
        let grad_output = arena.filled(case.dtype, n * c * plane, 4);
        let indices = arena.take(elements * case.index.size());
        for (k, index) in indices.chunks_exact_mut(case.index.size().max(1)).enumerate() {
            put(index, (k as u64 * 97 % plane.max(1) as u64).to_le_bytes());
        }
        let out = arena.take(elements * case.out.size());
        let inputs = max_unpool::Inputs {
            grad_output: Values::from_bytes(case.dtype, grad_output)?,
            indices: Values::from_bytes(case.index, indices)?,
        };
        for _ in 0..self.runs {
            let outputs = max_unpool::Outputs { out: ValuesMut::from_bytes(case.out, out)? };
            max_unpool::run(&plan, self.level, inputs, outputs, &mut []).ok()?;
        }
        Some([out])
    }

    /// grad_input.
    pub(crate) fn pad(&mut self, case: &Pad) -> Option<[&[u8]; 1]> {
        use ubtile_tiling::replication_pad2d_backward::{Desc, check, plan};
        let ([n, c, rows, columns], [left, right, top, bottom], dtype) = (case.image, case.padding, case.dtype);
        let wider = |size: usize, before: i64, after: i64| usize::try_from(size as i64 + before + after).ok();
        let padded = [n, c, wider(rows, top, bottom)?, wider(columns, left, right)?];
        let desc = Desc {
            grad_output: tensor(dtype, &padded)?,
            self_tensor: tensor(dtype, &case.image)?,
            padding: &case.padding,
            grad_input: tensor(dtype, &case.image)?,
        };
        let plan = plan(&check(&desc, None, Edition::Any).ok()?, &self.target, &self.options).ok()?;
        let mut arena = self.memory.arena();
        let grad_output = arena.filled(dtype, padded.iter().product(), 5);
        let grad_input = arena.take(case.image.iter().product::<usize>() * dtype.size());
        let inputs = replication_pad::Inputs { grad_output: Values::from_bytes(dtype, grad_output)? };
        for _ in 0..self.runs {
            let outputs = replication_pad::Outputs { grad_input: ValuesMut::from_bytes(dtype, grad_input)? };
            replication_pad::run(&plan, self.level, inputs, outputs, &mut []).ok()?;
        }
        Some([grad_input])
    }

    /// out.
    pub(crate) fn fold(&mut self, case: &Fold) -> Option<[&[u8]; 1]> {
        use ubtile_tiling::im2col_backward::{Desc, check, plan};
        let [n, c, rows, columns] = case.image;
        let (size, taps) = ([rows as i64, columns as i64], (KERNEL * KERNEL) as usize);
        let windows = |axis: usize| {
            let free = size[axis] + 2 * case.padding[axis] - case.dilation[axis] * (KERNEL - 1) - 1;
            usize::try_from(free / case.stride[axis] + 1).ok()
        };
        let columns_shape = [n, c * taps, windows(0)? * windows(1)?];
        let desc = Desc {
            grad_output: tensor(case.dtype, &columns_shape)?,
            input_size: &size,
            kernel_size: &[KERNEL, KERNEL],
            dilation: &case.dilation,
            padding: &case.padding,
            stride: &case.stride,
            out: tensor(case.out, &case.image)?,
        };
        let plan = plan(&check(&desc, None, Edition::Any).ok()?, &self.target, &self.options).ok()?;
        let mut arena = self.memory.arena();
        let grad_output = arena.filled(case.dtype, columns_shape.iter().product(), 6);
        let out = arena.take(case.image.iter().product::<usize>() * case.out.size());
        let inputs = im2col::Inputs { grad_output: Values::from_bytes(case.dtype, grad_output)? };
        for _ in 0..self.runs {
            let outputs = im2col::Outputs { out: ValuesMut::from_bytes(case.out, out)? };
            im2col::run(&plan, self.level, inputs, outputs, &mut []).ok()?;
        }
        Some([out])
    }
}
