//! Memory of a run.

use std::ops::{Deref, DerefMut};

use crate::program::{FaultKind, GlobalAt, PlaceAt, Program, Tensor, TensorId};

/// What fills memory that nobody has written: a NaN in each floating-point type, -1 in each signed one.
pub const UNDEFINED: u8 = 0xff;

/// Bytes, aligned for every element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    words: Vec<u128>,
    len: usize,
}

impl Memory {
    /// So many bytes, each the same; `None` where there is not so much memory.
    #[must_use]
    pub fn filled(len: usize, byte: u8) -> Option<Self> {
        let mut words = Vec::new();
        words.try_reserve_exact(len.div_ceil(16)).ok()?;
        words.resize(len.div_ceil(16), u128::from_ne_bytes([byte; 16]));
        Some(Self { words, len })
    }
}

impl Deref for Memory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }
}

impl DerefMut for Memory {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.len]
    }
}

/// Global memory: the tensors of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Global {
    tensors: Vec<Memory>,
}

impl Global {
    /// The tensors as a kernel finds them, those that are given still undefined; `None` where there is not so much memory.
    #[must_use]
    pub fn new(program: &Program) -> Option<Self> {
        let tensor = |tensor: &Tensor| {
            let len = usize::try_from(tensor.bytes()).ok()?;
            Memory::filled(len, if tensor.role.is_zeroed() { 0 } else { UNDEFINED })
        };
        program.source().tensors.iter().map(tensor).collect::<Option<_>>().map(|tensors| Self { tensors })
    }

    /// The bytes of a tensor; none where there is no such tensor.
    #[must_use]
    pub fn tensor(&self, tensor: TensorId) -> &[u8] {
        self.tensors.get(usize::from(tensor.0)).map_or(&[], |memory| memory)
    }

    /// The same, to be changed.
    pub fn tensor_mut(&mut self, tensor: TensorId) -> &mut [u8] {
        self.tensors.get_mut(usize::from(tensor.0)).map_or(&mut [], |memory| memory)
    }

    /// The bytes of the tensor of that name, to be changed; `None` where the program has none.
    pub fn named_mut(&mut self, program: &Program, name: &str) -> Option<&mut [u8]> {
        let at = program.source().tensors.iter().position(|tensor| tensor.name == name)?;
        self.tensors.get_mut(at).map(|memory| &mut **memory)
    }

    /// The tensors that a program leaves as its results, with their bytes.
    pub fn results<'a>(&'a self, program: &'a Program) -> impl Iterator<Item = (&'a Tensor, &'a [u8])> {
        let all = program.source().tensors.iter().zip(&self.tensors);
        all.filter(|(tensor, _)| tensor.role.is_result()).map(|(tensor, memory)| (tensor, &**memory))
    }
}

/// An element at a place, in the lowest bytes.
pub(super) fn read(local: &[u8], global: &Global, at: PlaceAt, size: usize) -> Result<u64, FaultKind> {
    let (memory, start) = match at {
        PlaceAt::Local(at) => (local, at.address as usize),
        PlaceAt::Global(GlobalAt { tensor, offset }) => (global.tensor(tensor), index(offset)),
    };
    let mut bytes = [0; 8];
    bytes[..size].copy_from_slice(&memory[start..start + size]);
    Ok(u64::from_le_bytes(bytes))
}

/// Positions of what is in memory fit in `usize`.
pub(super) fn index(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}
