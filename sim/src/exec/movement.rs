//! Copies: global memory and UB, and inside the UB.

use half::{bf16, f16};

use super::memory::{Global, UNDEFINED, index};
use crate::product::Element;
use crate::program::{BLOCK, MoveStep, PadBytes, Transfer, canonical, size_of};

pub(super) fn transfer(step: &Transfer, local: &mut [u8], global: &mut Global) {
    let bytes = step.bytes as usize;
    let tensor = global.tensor_mut(step.global.tensor);
    for block in 0..step.blocks {
        let at = (step.local.address + block * step.local_pitch()) as usize;
        let from = index(step.global.offset + u64::from(block) * step.global_pitch());
        let memory = &mut tensor[from..from + bytes];
        if step.load {
            let whole = step.local_bytes().next_multiple_of(BLOCK) as usize;
            let (left, right) = step.pad.map_or((0, 0), |pad| (pad.left as usize, pad.right as usize));
            let block = &mut local[at..at + whole];
            block[left..left + bytes].copy_from_slice(memory);
            if let Some(pad) = step.pad {
                fill(&pad, &mut block[..left]);
                fill(&pad, &mut block[left + bytes..left + bytes + right]);
            }
            block[left + bytes + right..].fill(UNDEFINED);
        } else {
            let block = &local[at..at + bytes];
            match step.add {
                None => memory.copy_from_slice(block),
                Some(element) => add(element, memory, block),
            }
        }
    }
}

fn fill(pad: &PadBytes, to: &mut [u8]) {
    let size = size_of(pad.element) as usize;
    to.chunks_exact_mut(size).for_each(|to| to.copy_from_slice(&pad.bits.to_le_bytes()[..size]));
}

/// Adds element by element.
fn add(element: Element, to: &mut [u8], from: &[u8]) {
    fn each<const N: usize>(to: &mut [u8], from: &[u8], sum: impl Fn([u8; N], [u8; N]) -> [u8; N]) {
        for (to, from) in to.as_chunks_mut::<N>().0.iter_mut().zip(from.as_chunks::<N>().0) {
            *to = sum(*to, *from);
        }
    }
    match element {
        Element::F32 => each(to, from, |a, b| canonical(f32::from_le_bytes(a) + f32::from_le_bytes(b)).to_le_bytes()),
        Element::F16 => each(to, from, |a, b| {
            f16::from_f32(canonical(f16::from_le_bytes(a).to_f32() + f16::from_le_bytes(b).to_f32())).to_le_bytes()
        }),
        Element::Bf16 => each(to, from, |a, b| {
            bf16::from_f32(canonical(bf16::from_le_bytes(a).to_f32() + bf16::from_le_bytes(b).to_f32())).to_le_bytes()
        }),
        Element::I8 | Element::U8 => each(to, from, |[a], [b]| [u8::wrapping_add(a, b)]),
        Element::I16 | Element::U16 => {
            each(to, from, |a, b| u16::from_le_bytes(a).wrapping_add(u16::from_le_bytes(b)).to_le_bytes());
        }
        Element::I32 | Element::U32 => {
            each(to, from, |a, b| u32::from_le_bytes(a).wrapping_add(u32::from_le_bytes(b)).to_le_bytes());
        }
        Element::I64 => each(to, from, |a, b| u64::from_le_bytes(a).wrapping_add(u64::from_le_bytes(b)).to_le_bytes()),
    }
}

pub(super) fn move_blocks(step: &MoveStep, local: &mut [u8]) {
    let bytes = step.bytes as usize;
    for block in 0..step.blocks as usize {
        let from = step.from.address as usize + block * (bytes + step.from_gap as usize);
        let to = step.to.address as usize + block * (bytes + step.to_gap as usize);
        local.copy_within(from..from + bytes, to);
    }
}
