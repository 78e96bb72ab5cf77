//! The cases. Each is computed twice, with all the workspace it likes for a machine with vectors and with none for one
//! without, so that it takes different ways; both must give the same digest.

use ubtile_kernels::{
    Level, Values, ValuesMut, grid_sampler_2d_backward as grid_sampler, im2col_backward as im2col,
    max_unpool2d_backward as max_unpool, replication_pad2d_backward as replication_pad,
};
use ubtile_tiling::{Dtype, Edition, PlanOptions, TargetSpec, TensorDesc};

use crate::memory::{Memory, digest, put};

/// Machine and options of a way to compute.
type Way = (TargetSpec, PlanOptions);

fn ways() -> [Way; 2] {
    let small = TargetSpec::from_name("cortex-m4").unwrap_or(TargetSpec::host(1));
    let limit = |workspace_limit| PlanOptions { workspace_limit, local_bytes: None };
    [(TargetSpec::host(3), limit(None)), (small, limit(Some(0)))]
}

/// Computes all cases, and gives `each` the name and the digest; `None` where a case failed.
pub fn run_all(level: Level, memory: &mut Memory, mut each: impl FnMut(&'static str, Option<u64>)) {
    let mut case = |name, compute: &mut dyn FnMut(Way, &mut Memory) -> Option<u64>| {
        let [one, other] = ways().map(|way| compute(way, memory));
        each(name, one.filter(|_| one == other));
    };
    for (name, dtype, interpolation, padding_mode, align_corners) in [
        ("grid-sampler,f16,bilinear,zeros", Dtype::F16, 0, 0, false),
        ("grid-sampler,bf16,nearest,border", Dtype::Bf16, 1, 1, true),
        ("grid-sampler,f32,bilinear,reflection", Dtype::F32, 0, 2, false),
        ("grid-sampler,f32,bicubic,border", Dtype::F32, 2, 1, true),
        ("grid-sampler,f64,bicubic,reflection", Dtype::F64, 2, 2, false),
    ] {
        case(name, &mut |way, memory| grid(way, level, memory, dtype, (interpolation, padding_mode, align_corners)));
    }
    for (name, dtype, out, index) in [
        ("max-unpool,i8", Dtype::I8, Dtype::I8, Dtype::I32),
        ("max-unpool,f32", Dtype::F32, Dtype::F32, Dtype::I64),
        ("max-unpool,f16,to,f32", Dtype::F16, Dtype::F32, Dtype::I32),
        ("max-unpool,i64,to,bf16", Dtype::I64, Dtype::Bf16, Dtype::I64),
    ] {
        case(name, &mut |way, memory| unpool(way, level, memory, (dtype, out, index)));
    }
    for (name, dtype) in [
        ("replication-pad,f16", Dtype::F16),
        ("replication-pad,bf16", Dtype::Bf16),
        ("replication-pad,f32", Dtype::F32),
        ("replication-pad,c128", Dtype::C128),
    ] {
        case(name, &mut |way, memory| pad(way, level, memory, dtype));
    }
    for (name, dtype, out) in [
        ("im2col,f16", Dtype::F16, Dtype::F16),
        ("im2col,bf16,to,f64", Dtype::Bf16, Dtype::F64),
        ("im2col,f32", Dtype::F32, Dtype::F32),
        ("im2col,f64,to,f16", Dtype::F64, Dtype::F16),
    ] {
        case(name, &mut |way, memory| fold(way, level, memory, (dtype, out)));
    }
}

fn tensor(dtype: Dtype, shape: &[usize]) -> Option<TensorDesc> {
    TensorDesc::contiguous(dtype, shape).ok()
}

fn grid(
    (target, options): Way,
    level: Level,
    memory: &mut Memory,
    dtype: Dtype,
    (interpolation, padding_mode, align_corners): (i64, i64, bool),
) -> Option<u64> {
    use ubtile_tiling::grid_sampler_2d_backward::{Desc, check, plan};
    let (image, points) = ([2, 5, 6, 7], [2, 9, 5, 2]);
    let desc = Desc {
        grad_output: tensor(dtype, &[2, 5, 9, 5])?,
        input: tensor(dtype, &image)?,
        grid: tensor(dtype, &points)?,
        input_grad: tensor(dtype, &image)?,
        grid_grad: tensor(dtype, &points)?,
        interpolation,
        padding_mode,
        align_corners,
        output_mask: &[true, true],
    };
    let plan = plan(&check(&desc, None, Edition::Any).ok()?, &target, &options).ok()?;
    let mut arena = memory.arena();
    let (pixels, values) = (image.iter().product::<usize>(), points.iter().product::<usize>());
    let inputs = grid_sampler::Inputs {
        grad_output: Values::from_bytes(dtype, arena.filled(dtype, 2 * 5 * 45, 1))?,
        input: Values::from_bytes(dtype, arena.filled(dtype, pixels, 2))?,
        grid: Values::from_bytes(dtype, arena.filled(dtype, values, 3))?,
    };
    let (input_grad, grid_grad) = (arena.take(pixels * dtype.size()), arena.take(values * dtype.size()));
    let outputs = grid_sampler::Outputs {
        input_grad: ValuesMut::from_bytes(dtype, input_grad)?,
        grid_grad: ValuesMut::from_bytes(dtype, grid_grad)?,
    };
    grid_sampler::run(&plan, level, inputs, outputs, arena.take(plan.workspace_bytes())).ok()?;
    Some(digest(&[input_grad, grid_grad]))
}

fn unpool(
    (target, options): Way,
    level: Level,
    memory: &mut Memory,
    (dtype, out_dtype, index_dtype): (Dtype, Dtype, Dtype),
) -> Option<u64> {
    use ubtile_tiling::max_unpool2d_backward::{Desc, check, plan};
    let (pooled, unpooled) = ([2, 3, 5, 7], [2, 3, 10, 13]);
    let desc = Desc {
        grad_output: tensor(dtype, &unpooled)?,
        self_tensor: tensor(dtype, &pooled)?,
        indices: tensor(index_dtype, &pooled)?,
        output_size: &[10, 13],
        out: tensor(out_dtype, &pooled)?,
    };
    let plan = plan(&check(&desc, None, Edition::Any).ok()?, &target, &options).ok()?;
    let mut arena = memory.arena();
    let (elements, cells) = (pooled.iter().product::<usize>(), unpooled.iter().product::<usize>());
    let grad_output = arena.filled(dtype, cells, 4);
    let indices = arena.take(elements * index_dtype.size());
    for (k, index) in indices.chunks_exact_mut(index_dtype.size().max(1)).enumerate() {
        put(index, (k as u64 * 97 % 130).to_le_bytes());
    }
    let out = arena.take(elements * out_dtype.size());
    let inputs = max_unpool::Inputs {
        grad_output: Values::from_bytes(dtype, grad_output)?,
        indices: Values::from_bytes(index_dtype, indices)?,
    };
    let outputs = max_unpool::Outputs { out: ValuesMut::from_bytes(out_dtype, out)? };
    max_unpool::run(&plan, level, inputs, outputs, &mut []).ok()?;
    Some(digest(&[out]))
}

fn pad((target, options): Way, level: Level, memory: &mut Memory, dtype: Dtype) -> Option<u64> {
    use ubtile_tiling::replication_pad2d_backward::{Desc, check, plan};
    let (image, padded) = ([2, 3, 6, 5], [2, 3, 6 + 2 + 9, 5 + 11 - 1]);
    let desc = Desc {
        grad_output: tensor(dtype, &padded)?,
        self_tensor: tensor(dtype, &image)?,
        padding: &[11, -1, 2, 9],
        grad_input: tensor(dtype, &image)?,
    };
    let plan = plan(&check(&desc, None, Edition::Any).ok()?, &target, &options).ok()?;
    let mut arena = memory.arena();
    let grad_output = arena.filled(dtype, padded.iter().product(), 5);
    let grad_input = arena.take(image.iter().product::<usize>() * dtype.size());
    let inputs = replication_pad::Inputs { grad_output: Values::from_bytes(dtype, grad_output)? };
    let outputs = replication_pad::Outputs { grad_input: ValuesMut::from_bytes(dtype, grad_input)? };
    replication_pad::run(&plan, level, inputs, outputs, &mut []).ok()?;
    Some(digest(&[grad_input]))
}

fn fold(
    (target, options): Way,
    level: Level,
    memory: &mut Memory,
    (dtype, out_dtype): (Dtype, Dtype),
) -> Option<u64> {
    use ubtile_tiling::im2col_backward::{Desc, check, plan};
    // Windows: (9 + 2 - 4 - 1) / 2 + 1 by (11 + 4 - 2 - 1) / 1 + 1.
    let (taps, windows, image) = (3 * 3, 4 * 13, [2, 2, 9, 11]);
    let desc = Desc {
        grad_output: tensor(dtype, &[2, 2 * taps, windows])?,
        input_size: &[9, 11],
        kernel_size: &[3, 3],
        dilation: &[2, 1],
        padding: &[1, 2],
        stride: &[2, 1],
        out: tensor(out_dtype, &image)?,
    };
    let plan = plan(&check(&desc, None, Edition::Any).ok()?, &target, &options).ok()?;
    let mut arena = memory.arena();
    let grad_output = arena.filled(dtype, 2 * 2 * taps * windows, 6);
    let out = arena.take(image.iter().product::<usize>() * out_dtype.size());
    let inputs = im2col::Inputs { grad_output: Values::from_bytes(dtype, grad_output)? };
    let outputs = im2col::Outputs { out: ValuesMut::from_bytes(out_dtype, out)? };
    im2col::run(&plan, level, inputs, outputs, &mut []).ok()?;
    Some(digest(&[out]))
}
