//! What the outside world asks for, and the memory it brings.

use ubtile_kernels::RunError;
use ubtile_tiling::{ContractError, Dtype, MAX_RANK, PlanError, PlanOptions, TargetSpec, TensorDesc};

/// Laid out by `memory.ld`.
mod symbol {
    unsafe extern "C" {
        pub(super) static mut mailbox: u32;
        pub(super) static mut arena_start: u32;
        pub(super) static mut arena_end: u32;
    }
}

/// How a request ended.
pub(crate) enum Outcome {
    Done,
    /// Not even a description: a tensor of too many dimensions, or buffers beyond the arena.
    Malformed,
    Refused(ContractError),
    Unplanned(PlanError),
    Failed(RunError),
}

impl From<ContractError> for Outcome {
    fn from(error: ContractError) -> Self {
        Self::Refused(error)
    }
}

impl From<PlanError> for Outcome {
    fn from(error: PlanError) -> Self {
        Self::Unplanned(error)
    }
}

impl From<RunError> for Outcome {
    fn from(error: RunError) -> Self {
        Self::Failed(error)
    }
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
        // SAFETY: the mailbox has 256 words, and the longest request reads fewer than 128.
        let word = unsafe { self.next.read_volatile() };
        self.next = self.next.wrapping_add(1);
        word
    }

    pub(crate) fn size(&mut self) -> usize {
        self.word() as usize
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.word() != 0
    }

    /// A list of attributes of any length up to `N`.
    pub(crate) fn list<T: Copy + Default, const N: usize>(&mut self, from: fn(u32) -> T) -> List<T, N> {
        let mut items = [T::default(); N];
        let count = self.size();
        for item in items.iter_mut().take(count) {
            *item = from(self.word());
        }
        List { items, count }
    }

    /// A tensor of any rank and any strides.
    #[inline(never)]
    pub(crate) fn tensor(&mut self, dtype: Dtype) -> Option<TensorDesc> {
        let shape: List<usize, MAX_RANK> = self.list(|word| word as usize);
        let strides: List<usize, MAX_RANK> = self.list(|word| word as usize);
        TensorDesc::strided(dtype, shape.as_slice()?, strides.as_slice()?).ok()
    }

    /// Any machine to plan for, also an absurd one.
    pub(crate) fn target(&mut self) -> TargetSpec {
        TargetSpec {
            name: "firmware",
            cores: self.size(),
            local_bytes: self.size(),
            block_bytes: self.size(),
            vector_bytes: self.size(),
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

impl<T, const N: usize> List<T, N> {
    /// `None` when there were more than fit.
    pub(crate) fn as_slice(&self) -> Option<&[T]> {
        self.items.get(..self.count)
    }
}

/// Reads a word as a signed attribute.
pub(crate) fn signed(word: u32) -> i64 {
    i64::from(word.cast_signed())
}

/// The memory for tensors and workspace, handed out piece by piece.
pub(crate) struct Arena {
    rest: &'static mut [u32],
}

impl Arena {
    pub(crate) fn open() -> Self {
        let start = &raw mut symbol::arena_start;
        let words = ((&raw mut symbol::arena_end).addr().wrapping_sub(start.addr())) / size_of::<u32>();
        // SAFETY: `memory.ld` keeps this range free of everything else, and only one arena is open at a time.
        Self { rest: unsafe { core::slice::from_raw_parts_mut(start, words) } }
    }

    /// The next elements, as many as the request says; elements of at most a word.
    pub(crate) fn take<T: bytemuck::Pod>(&mut self, request: &mut Request) -> Option<&'static mut [T]> {
        let (words, rest) = core::mem::take(&mut self.rest).split_at_mut_checked(request.size())?;
        self.rest = rest;
        bytemuck::try_cast_slice_mut(words).ok()
    }
}

/// Tells how the request ended, in the words behind it.
pub(crate) fn report(request: &mut Request, outcome: Outcome) {
    let (kind, status) = match outcome {
        Outcome::Done => (0, 0),
        Outcome::Malformed => (1, 0),
        Outcome::Refused(error) => (2, error.status().code()),
        Outcome::Unplanned(_) => (3, 0),
        Outcome::Failed(error) => (4, error.status().code()),
    };
    #[cfg(feature = "plant-panic")]
    let kind = [kind, 5, 6, 7][request.size()];
    for word in [kind, status.cast_unsigned()] {
        // SAFETY: as for reading; a report takes two words more.
        unsafe { request.next.write_volatile(word) };
        request.next = request.next.wrapping_add(1);
    }
}
