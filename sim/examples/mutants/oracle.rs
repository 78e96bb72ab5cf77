//! Whether a mutant computes something else in some order of its pipes.

use bytemuck::cast_slice_mut;
use half::{bf16, f16};
use ubtile_sim::exec::{Global, Halt, Run};
use ubtile_sim::generate::{Choices, delays};
use ubtile_sim::program::{Program, TensorId};
use ubtile_tiling::Dtype;

/// Small whole numbers, so that sums are exact in any order; in i32, indices of few rows, some of them negative.
pub(crate) fn inputs(program: &Program) -> Global {
    let mut global = Global::new(program).expect("memory for the tensors");
    for (id, tensor) in (0..).zip(&program.source().tensors).filter(|(_, tensor)| tensor.role.is_given()) {
        let bytes = global.tensor_mut(TensorId(id));
        let number = |n: usize| (n * 7 + n / 256 * 11 + usize::from(id) * 71 + 5) % 509;
        match tensor.dtype {
            Dtype::F16 => {
                let values = cast_slice_mut::<u8, f16>(bytes).iter_mut().enumerate();
                values.for_each(|(n, to)| *to = f16::from_f32(number(n) as f32));
            }
            Dtype::Bf16 => {
                let values = cast_slice_mut::<u8, bf16>(bytes).iter_mut().enumerate();
                values.for_each(|(n, to)| *to = bf16::from_f32((number(n) % 128) as f32));
            }
            Dtype::F32 => {
                cast_slice_mut::<u8, f32>(bytes).iter_mut().enumerate().for_each(|(n, to)| *to = number(n) as f32);
            }
            Dtype::I32 => {
                let index = |n: usize| if n % 7 == 3 && id % 2 == 1 { -1 } else { (n * 5 % 16) as i32 };
                cast_slice_mut::<u8, i32>(bytes).iter_mut().enumerate().for_each(|(n, to)| *to = index(n));
            }
            _ => bytes.iter_mut().enumerate().for_each(|(n, to)| *to = number(n) as u8),
        }
    }
    global
}

/// What a program computes in program order.
pub(crate) fn values(program: &Program, inputs: &Global) -> Result<Global, Halt> {
    let mut run = Run::new(program, inputs.clone());
    run.finish()?;
    Ok(run.global().clone())
}

/// Whether results are the same.
pub(crate) fn same(program: &Program, a: &Global, b: &Global) -> bool {
    a.results(program).eq(b.results(program))
}

/// Whether results differ from `expected` in some of 32 runs in which random steps wait.
pub(crate) fn matters(program: &Program, inputs: &Global, expected: &Global) -> bool {
    let Ok(steps) = Run::new(program, inputs.clone()).finish_with(&[]) else { return true };
    (1..=32).any(|seed| {
        let mut run = Run::new(program, inputs.clone());
        let delayed = run.finish_with(&delays(&steps, &mut Choices::of_seed(seed)));
        delayed.is_err() || !same(program, run.global(), expected)
    })
}
