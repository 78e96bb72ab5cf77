//! Runs an executor's work on the memory that it was bound to.

use ubtile_kernels::Level;
use ubtile_tiling::TensorSlot;

use crate::failure::{Failure, Outcome, code};
use crate::memory::{Region, lend};
use crate::operators::{Elements, Work};

/// A tensor and its memory.
pub(crate) struct Bound {
    pub(crate) slot: TensorSlot,
    pub(crate) region: Region,
}

/// Computes. Tensors that share memory, as views of one storage do, are read before any of them is written.
pub(crate) fn run(work: &Work, level: Level, bound: Vec<Bound>, workspace: Option<Region>) -> Outcome {
    let (outputs, inputs): (Vec<_>, Vec<_>) = bound.into_iter().partition(|bound| bound.slot.output);
    let (read_slots, read): (Vec<_>, Vec<_>) = inputs.into_iter().map(|bound| (bound.slot, bound.region)).unzip();
    let (slots, mut written): (Vec<_>, Vec<_>) = outputs.into_iter().map(|bound| (bound.slot, bound.region)).unzip();
    let with_workspace = workspace.is_some();
    written.extend(workspace);
    if let Some((read, mut written)) = lend(&read, &mut written) {
        let workspace = if with_workspace { written.pop() } else { None };
        let inputs = read_slots.into_iter().zip(read).collect();
        let outputs = slots.into_iter().zip(written).collect();
        return work.run(level, Elements { inputs, outputs }, workspace.unwrap_or_default());
    }
    apart(work, level, read_slots.into_iter().zip(read).collect(), slots.into_iter().zip(written).collect())
}

/// Computes on copies of the inputs, into memory from which the outputs' elements are copied when they are complete.
fn apart(work: &Work, level: Level, inputs: Vec<(TensorSlot, Region)>, outputs: Vec<(TensorSlot, Region)>) -> Outcome {
    let mut copies = Vec::new();
    for (slot, region) in inputs {
        let mut copy = Copied::zeroed(slot.span.saturating_mul(slot.dtype.size()))?;
        let one = [region];
        // Nothing is written, so nothing meets.
        if let Some((from, _)) = lend(&one, &mut []) {
            copy.bytes().copy_from_slice(from.first().copied().unwrap_or_default());
        }
        copies.push((slot, copy));
    }
    let mut results = Vec::new();
    for (slot, region) in outputs {
        results.push((slot, region, Copied::zeroed(slot.span.saturating_mul(slot.dtype.size()))?));
    }
    let mut workspace = Copied::zeroed(work.workspace())?;
    let elements = Elements {
        inputs: copies.iter_mut().map(|(slot, copy)| (*slot, &*copy.bytes())).collect(),
        outputs: results.iter_mut().map(|(slot, _, copy)| (*slot, copy.bytes())).collect(),
    };
    work.run(level, elements, workspace.bytes())?;
    for (slot, region, mut copy) in results {
        let mut one = [region];
        if let Some((_, mut to)) = lend(&[], &mut one)
            && let Some(to) = to.first_mut()
        {
            copy_view(&slot, copy.bytes(), to);
        }
    }
    Ok(())
}

/// Copies the elements that a tensor's strides reach, and nothing between them.
fn copy_view(slot: &TensorSlot, from: &[u8], to: &mut [u8]) {
    let (shape, strides, size) = (slot.shape.as_slice(), slot.strides.as_slice(), slot.dtype.size());
    for element in 0..slot.shape.numel().unwrap_or(0) {
        let (mut rest, mut offset) = (element, 0usize);
        for (&count, &stride) in shape.iter().zip(strides).rev() {
            offset += rest % count * stride;
            rest /= count;
        }
        let place = offset * size..(offset + 1) * size;
        if let (Some(to), Some(from)) = (to.get_mut(place.clone()), from.get(place)) {
            to.copy_from_slice(from);
        }
    }
}

/// Memory of the call's own, aligned for every dtype.
pub(crate) struct Copied {
    words: Vec<u128>,
    len: usize,
}

impl Copied {
    /// So many zeros.
    pub(crate) fn zeroed(len: usize) -> Outcome<Self> {
        let count = len.div_ceil(size_of::<u128>());
        let mut words = Vec::new();
        let none = |_| Failure::new(code::RT_MEMORY_ALLOCATION, format!("no host memory for {len} bytes"));
        words.try_reserve_exact(count).map_err(none)?;
        words.resize(count, 0);
        Ok(Self { words, len })
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.words).get_mut(..self.len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use ubtile_tiling::{Dtype, TargetSpec, im2col_backward, max_unpool2d_backward};

    use super::*;
    use crate::memory::{Place, allocate, free};
    use ubtile_tiling::{Edition, PlanOptions, Problem, Tensor, TensorDesc, TilingPlan};

    /// An unpooling whose tensors are columns of one matrix of 4 columns: 0 is read, 1 the indices, 2 written, 3 nobody's.
    #[test]
    fn views_of_one_storage_do_not_disturb_each_other() {
        let column = TensorDesc::strided(Dtype::I32, &[1, 3, 1], &[12, 4, 4]).unwrap();
        let desc = max_unpool2d_backward::Desc {
            grad_output: column,
            self_tensor: column,
            indices: column,
            output_size: &[3, 1],
            out: column,
        };
        let problem = Problem::MaxUnpool2dBackward(max_unpool2d_backward::check(&desc, None, Edition::Any).unwrap());
        let plan = ubtile_tiling::plan(&problem, &TargetSpec::host(1), &PlanOptions::default()).unwrap();
        assert!(matches!(plan, TilingPlan::MaxUnpool2dBackward(_)));
        let base = allocate(48, Place::Device, u64::MAX).unwrap();
        let cells: [i32; 12] = [10, 2, -1, 70, 20, 0, -1, 71, 30, 1, -1, 72];
        let mut all = [Region::new("x", base, 48, Place::Device).unwrap()];
        lend(&[], &mut all).unwrap().1[0].copy_from_slice(bytemuck::cast_slice(&cells));
        let bound = [Tensor::GradOutput, Tensor::Indices, Tensor::Out].iter().enumerate().map(|(i, &tensor)| {
            let slot = problem.slot(tensor).unwrap();
            Bound { slot, region: Region::new("x", base + 4 * i, 4 * slot.span, Place::Device).unwrap() }
        });
        run(&Work::Plan { plan: Box::new(plan), workspace: 0 }, Level::scalar(), bound.collect(), None).unwrap();
        let (read, _) = lend(&all, &mut []).unwrap();
        assert_eq!(bytemuck::cast_slice::<u8, i32>(read[0]), [10, 2, 30, 70, 20, 0, 10, 71, 30, 1, 20, 72]);
        free("x", base, Place::Device).unwrap();
    }

    #[test]
    fn an_output_may_be_the_input() {
        let columns = TensorDesc::contiguous(Dtype::F32, &[1, 4]).unwrap();
        let desc = im2col_backward::Desc {
            grad_output: columns,
            input_size: &[2, 2],
            kernel_size: &[1, 1],
            dilation: &[1, 1],
            padding: &[0, 0],
            stride: &[1, 1],
            out: TensorDesc::strided(Dtype::F32, &[1, 2, 2], &[4, 1, 2]).unwrap(),
        };
        let problem = Problem::Im2colBackward(im2col_backward::check(&desc, None, Edition::Any).unwrap());
        let plan = ubtile_tiling::plan(&problem, &TargetSpec::host(1), &PlanOptions::default()).unwrap();
        let base = allocate(16, Place::Device, u64::MAX).unwrap();
        let mut all = [Region::new("x", base, 16, Place::Device).unwrap()];
        lend(&[], &mut all).unwrap().1[0].copy_from_slice(bytemuck::cast_slice(&[1.0f32, 2.0, 3.0, 4.0]));
        let bound = [Tensor::GradOutput, Tensor::Out].map(|tensor| {
            let slot = problem.slot(tensor).unwrap();
            Bound { slot, region: all[0].clone() }
        });
        run(&Work::Plan { plan: Box::new(plan), workspace: 0 }, Level::scalar(), bound.into(), None).unwrap();
        let (read, _) = lend(&all, &mut []).unwrap();
        assert_eq!(bytemuck::cast_slice::<u8, f32>(read[0]), [1.0, 3.0, 2.0, 4.0]);
        free("x", base, Place::Device).unwrap();
    }
}
