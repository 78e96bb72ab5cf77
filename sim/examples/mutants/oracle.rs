//! Whether a mutant computes something else in some order of its pipes.

use bytemuck::cast_slice_mut;
use half::{bf16, f16};
use ubtile_sim::exec::{Global, Halt, Run};
use ubtile_sim::program::{Pipe, Program, TensorId};
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
    let tensors = (0..).map(TensorId).zip(&program.source().tensors);
    tensors.filter(|(_, tensor)| tensor.role.is_result()).all(|(id, _)| a.tensor(id) == b.tensor(id))
}

/// Whether results differ from `expected` under some of 32 random delays of the pipes.
pub(crate) fn matters(program: &Program, inputs: &Global, expected: &Global) -> bool {
    (1..=32).any(|seed| delayed(program, inputs, seed).is_none_or(|global| !same(program, &global, expected)))
}

/// What a program computes when each pipe is as slow as a random number says, and another one from time to time.
fn delayed(program: &Program, inputs: &Global, seed: u64) -> Option<Global> {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = |below: usize| {
        // xorshift64*
        random ^= random >> 12;
        random ^= random << 25;
        random ^= random >> 27;
        (random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % below
    };
    let mut run = Run::new(program, inputs.clone());
    while !run.ended() {
        let ready = |(core, pipe): &(u32, Pipe)| run.ready(*core, *pipe);
        let cores = 0..program.source().cores;
        let ready: Vec<_> = cores.flat_map(|core| Pipe::ALL.map(|(pipe, _)| (core, pipe))).filter(ready).collect();
        if ready.is_empty() {
            return None;
        }
        let (core, pipe) = ready[next(ready.len())];
        // Long runs of one pipe are where orders differ.
        for _ in 0..1 + next(40) {
            if run.ready(core, pipe) {
                run.advance(core, pipe).ok()?;
            }
        }
    }
    Some(run.global().clone())
}
