//! What the outside world asks for, and the memory it brings.

use ubtile_kernels::{Level, RunError, Values, ValuesMut};
use ubtile_tiling::{
    Capabilities, ContractError, Dtype, Dtypes, MAX_RANK, PlanError, PlanOptions, TargetSpec, TensorDesc,
};

/// Laid out by `memory.ld`.
mod symbol {
    unsafe extern "C" {
        pub(super) static mut mailbox: u32;
        pub(super) static mut arena_start: u8;
        pub(super) static mut arena_end: u8;
    }
}

/// Why a request was not served.
pub(crate) enum Refusal {
    /// Not even a description: a list that is too long, or buffers beyond the arena.
    Malformed,
    Contract(ContractError),
    Plan(PlanError),
    Run(RunError),
}

impl From<ContractError> for Refusal {
    fn from(error: ContractError) -> Self {
        Self::Contract(error)
    }
}

impl From<PlanError> for Refusal {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}

impl From<RunError> for Refusal {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

/// Which of a kernel's functions to call.
pub(crate) enum Call {
    Run,
    #[cfg(feature = "slices")]
    Share {
        phase: usize,
        share: usize,
    },
    #[cfg(feature = "slices")]
    Tile {
        phase: usize,
        share: usize,
        tile: usize,
    },
}

/// Words to read one after the other.
pub(crate) struct Request {
    next: *mut u32,
}

impl Request {
    pub(crate) fn open() -> Self {
        Self { next: &raw mut symbol::mailbox }
    }

    /// The next word; the compiler cannot know its value.
    #[inline(never)]
    pub(crate) fn word(&mut self) -> u32 {
        // SAFETY: the mailbox has 256 words; the longest request reads 5 tensors of 18 words and fewer than 40 others.
        let word = unsafe { self.next.read_volatile() };
        self.next = self.next.wrapping_add(1);
        word
    }

    pub(crate) fn size(&mut self) -> usize {
        self.word() as usize
    }

    pub(crate) fn signed(&mut self) -> i64 {
        i64::from(self.word().cast_signed())
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.word() != 0
    }

    /// A list of any length up to `N`.
    pub(crate) fn list<T: Copy + Default, const N: usize>(
        &mut self,
        next: fn(&mut Self) -> T,
    ) -> Result<List<T, N>, Refusal> {
        let (mut items, count) = ([T::default(); N], self.size());
        if count > N {
            return Err(Refusal::Malformed);
        }
        for item in items.iter_mut().take(count) {
            *item = next(self);
        }
        Ok(List { items, count })
    }

    /// A tensor of any rank and any strides.
    #[inline(never)]
    pub(crate) fn tensor(&mut self, dtype: Dtype) -> Result<TensorDesc, Refusal> {
        let shape: List<usize, MAX_RANK> = self.list(Self::size)?;
        let strides: List<usize, MAX_RANK> = self.list(Self::size)?;
        TensorDesc::strided(dtype, &shape, &strides).map_err(|_| Refusal::Malformed)
    }

    /// Element type of a tensor.
    pub(crate) fn dtype(&mut self) -> Result<Dtype, Refusal> {
        Dtype::ALL.get(self.size()).copied().ok_or(Refusal::Malformed)
    }

    /// Instruction set.
    pub(crate) fn level(&mut self) -> Level {
        if self.flag() { Level::scalar() } else { Level::detect() }
    }

    #[cfg(not(feature = "slices"))]
    pub(crate) fn call(&mut self) -> Call {
        Call::Run
    }
    #[cfg(feature = "slices")]
    pub(crate) fn call(&mut self) -> Call {
        match self.word() {
            0 => Call::Run,
            1 => Call::Share { phase: self.size(), share: self.size() },
            _ => Call::Tile { phase: self.size(), share: self.size(), tile: self.size() },
        }
    }

    /// Any machine to plan for, also an absurd one.
    pub(crate) fn target(&mut self) -> TargetSpec {
        TargetSpec {
            cores: self.size(),
            local_bytes: self.size(),
            block_bytes: self.size(),
            vector_bytes: self.size(),
            capabilities: self.capabilities(),
        }
    }

    fn capabilities(&mut self) -> Capabilities {
        let atomic_add = if self.flag() { Dtypes::NONE.with(Dtype::F32) } else { Dtypes::NONE };
        Capabilities {
            atomic_add,
            unaligned_copy: self.flag(),
            gather: self.flag(),
            bf16: self.flag(),
            caches: self.flag(),
        }
    }

    pub(crate) fn options(&mut self) -> PlanOptions {
        PlanOptions { workspace_limit: self.option(), local_bytes: self.option() }
    }

    fn option(&mut self) -> Option<usize> {
        if self.flag() { Some(self.size()) } else { None }
    }
}

/// A list as a request gives it.
pub(crate) struct List<T, const N: usize> {
    items: [T; N],
    count: usize,
}

impl<T, const N: usize> core::ops::Deref for List<T, N> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.items.get(..self.count).unwrap_or(&[])
    }
}

/// The memory for tensors and workspace, handed out piece by piece in sizes that the request gives.
pub(crate) struct Arena {
    rest: &'static mut [u8],
}

impl Arena {
    pub(crate) fn open() -> Self {
        let start = &raw mut symbol::arena_start;
        let bytes = (&raw mut symbol::arena_end).addr().wrapping_sub(start.addr());
        // SAFETY: `memory.ld` keeps this range free of everything else, and only one arena is open at a time.
        Self { rest: unsafe { core::slice::from_raw_parts_mut(start, bytes) } }
    }

    /// The next bytes, as many as the request says.
    pub(crate) fn bytes(&mut self, request: &mut Request) -> Result<&'static mut [u8], Refusal> {
        let (bytes, rest) =
            core::mem::take(&mut self.rest).split_at_mut_checked(request.size()).ok_or(Refusal::Malformed)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// The elements of an input.
    pub(crate) fn values(&mut self, request: &mut Request, dtype: Dtype) -> Result<Values<'static>, Refusal> {
        Values::from_bytes(dtype, self.bytes(request)?).ok_or(Refusal::Malformed)
    }

    /// The elements of an output.
    pub(crate) fn values_mut(&mut self, request: &mut Request, dtype: Dtype) -> Result<ValuesMut<'static>, Refusal> {
        ValuesMut::from_bytes(dtype, self.bytes(request)?).ok_or(Refusal::Malformed)
    }
}

/// Tells how the request ended, in the words behind it.
pub(crate) fn report(request: &mut Request, outcome: Result<(), Refusal>) {
    let (kind, status) = match outcome {
        Ok(()) => (0, 0),
        Err(Refusal::Malformed) => (1, 0),
        Err(Refusal::Contract(error)) => (2, error.status().code()),
        Err(Refusal::Plan(error)) => (3, i32::from(error == PlanError::TooLarge)),
        Err(Refusal::Run(error)) => (4, error.status().code()),
    };
    #[cfg(feature = "plant-panic")]
    let kind = [kind, 5, 6, 7][request.size()];
    for word in [kind, status.cast_unsigned()] {
        // SAFETY: as for reading; a report takes two words more.
        unsafe { request.next.write_volatile(word) };
        request.next = request.next.wrapping_add(1);
    }
}
