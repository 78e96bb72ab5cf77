//! Buffers of a run in memory that ends where they end, and what a caller may get wrong about them.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::fmt::Debug;
use std::ptr::{null, null_mut};

use arbitrary::{Arbitrary, Result, Unstructured};
use ubtile_capi::{
    Input, Level, Output, UBTILE_ERROR_PARAM_INVALID, UBTILE_ERROR_PARAM_NULLPTR, UBTILE_SUCCESS, ubtile_level_detect,
    ubtile_level_scalar,
};
use ubtile_kernels::RunError;
use ubtile_testkit::problems::{POISON, output as poisoned};
use ubtile_testkit::{Data, Inputs, bits_equal};
use ubtile_tiling::TilingPlan;

use super::{Api, Outputs, input, output};

/// The alignment that all elements are content with.
const ALIGN: usize = 16;

/// Bytes that the sanitizer watches on both sides.
#[derive(Debug)]
pub struct Memory {
    start: *mut u8,
    layout: Layout,
    /// Bytes in front.
    skipped: usize,
}

impl Memory {
    /// So many bytes, so many behind an aligned address.
    fn new(len: usize, skipped: usize, byte: u8) -> Self {
        // Rust allocates no empty memory.
        let layout = Layout::from_size_align((len + skipped).max(1), ALIGN).expect("small");
        // SAFETY: the layout is not empty.
        let start = unsafe { alloc(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: as many bytes were allocated.
        unsafe { start.write_bytes(byte, layout.size()) };
        Self { start, layout, skipped }
    }

    /// A copy of a tensor's bytes, so many bytes behind an aligned address.
    #[must_use]
    pub fn of(data: &Data, skipped: usize) -> Self {
        let memory = Self::new(data.bytes().len(), skipped, 0);
        // SAFETY: as many bytes were allocated, and nothing else knows of them.
        unsafe { memory.first().copy_from_nonoverlapping(data.bytes().as_ptr(), data.bytes().len()) };
        memory
    }

    /// The address of its first byte.
    #[must_use]
    pub fn first(&self) -> *mut u8 {
        self.start.wrapping_add(self.skipped)
    }

    /// Copies its bytes back.
    pub fn fill(&self, data: &mut Data) {
        let bytes = data.bytes_mut();
        // SAFETY: as many bytes were allocated, and no call runs that writes them.
        unsafe { bytes.as_mut_ptr().copy_from_nonoverlapping(self.first(), bytes.len()) };
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start, self.layout) };
    }
}

/// One thing that a caller does wrong; numbers count the buffers: inputs, outputs, workspace.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// NULL where there are bytes.
    Null(u8),
    /// A byte less than needed.
    Short(u8),
    /// One byte behind an aligned address.
    Odd(u8),
    /// An output that starts where another buffer does.
    Twice(u8, u8),
    /// More bytes than there are addresses.
    Long(u8),
    /// No plan.
    NoPlan,
    /// No buffers.
    NoBuffers,
    /// A level that was never asked for.
    NoLevel,
}

impl Mistake {
    /// Whether it changes one of the buffers, of so many.
    fn is_of(self, buffer: usize, count: usize) -> bool {
        match self {
            Self::Null(i) | Self::Short(i) | Self::Odd(i) | Self::Long(i) => usize::from(i) % count == buffer,
            Self::Twice(..) | Self::NoPlan | Self::NoBuffers | Self::NoLevel => false,
        }
    }
}

/// How the functions are called.
#[derive(Clone, Debug)]
pub struct Call {
    /// Number of elements in front of each buffer, and of bytes in front of the workspace.
    pub skipped: Vec<u8>,
    /// By shares, on so many threads; at 0 in one go.
    pub threads: usize,
    /// Which level.
    pub level: u8,
    /// What goes wrong.
    pub mistake: Option<Mistake>,
}

impl Call {
    /// Any of them; most often right.
    pub fn new(u: &mut Unstructured<'_>) -> Result<Self> {
        Ok(Self {
            skipped: u.arbitrary::<[u8; 6]>()?.map(|n| n % 17).to_vec(),
            threads: u.int_in_range(0..=3)?,
            level: u.int_in_range(0..=2)?,
            mistake: if u.ratio(1, 3)? { Some(u.arbitrary()?) } else { None },
        })
    }
}

/// The buffers' addresses, which several threads may use: shares write disjoint elements.
struct Addresses<'a, T, B>(&'a T, *const Level, &'a B);

// SAFETY: the C functions may be called for different shares at the same time.
unsafe impl<T, B> Sync for Addresses<'_, T, B> {}

/// Runs a plan through C on data and compares with what Rust gives.
pub fn check<D: Copy, T: Copy + Debug, B>(
    api: &Api<D, T, B>,
    tiling: &T,
    plan: &TilingPlan,
    data: &Inputs,
    wanted: &std::result::Result<Outputs, RunError>,
    call: &Call,
) {
    let problem = plan.problem();
    let inputs = data.tensors();
    let skipped = |i: usize, step: usize| usize::from(call.skipped[i]) * step;
    // One that is not wanted is not looked at.
    let mut outputs: Vec<Option<Data>> = api.tensors[inputs.len()..]
        .iter()
        .map(|tensor| problem.slot(*tensor).map(|slot| poisoned(Some(slot))))
        .collect();
    let workspace_bytes = plan.workspace_bytes();
    let mut memories: Vec<Memory> =
        inputs.iter().enumerate().map(|(i, (_, data))| Memory::of(data, skipped(i, data.dtype().size()))).collect();
    for output in &outputs {
        let i = memories.len();
        memories.push(match output {
            Some(data) => Memory::of(data, skipped(i, data.dtype().size())),
            None => Memory::new(0, 0, 0),
        });
    }
    memories.push(Memory::new(workspace_bytes, skipped(5, 1), POISON));
    let mut sizes: Vec<usize> = inputs.iter().map(|(_, data)| data.bytes().len()).collect();
    sizes.extend(outputs.iter().map(|output| output.as_ref().map_or(0, |data| data.bytes().len())));
    sizes.push(workspace_bytes);
    let mut places: Vec<(*mut u8, usize)> = memories.iter().map(Memory::first).zip(sizes.iter().copied()).collect();
    let count = places.len();
    let pick = |i: u8| usize::from(i) % count;
    let computed = match wanted {
        Ok(_) => UBTILE_SUCCESS,
        Err(error) => error.status().code(),
    };
    // What a buffer must look like is only said where something is computed; and nobody looks at one that is not wanted.
    let looked_at = |i: usize| {
        let output = i.checked_sub(inputs.len()).and_then(|i| outputs.get(i));
        problem.early_success().is_none() && output.is_none_or(Option::is_some)
    };
    let refused =
        |i: usize, bytes: usize| if looked_at(i) && bytes > 0 { Some(UBTILE_ERROR_PARAM_INVALID) } else { None };
    let mut unsure = problem.early_success().is_some() && call.mistake.is_some();
    let (mut no_plan, mut no_buffers, mut no_level) = (false, false, false);
    let wrong = call.mistake.and_then(|mistake| match mistake {
        Mistake::Null(i) => {
            let i = pick(i);
            places[i].0 = null_mut();
            refused(i, sizes[i]).map(|_| UBTILE_ERROR_PARAM_NULLPTR)
        }
        Mistake::Short(i) => {
            let i = pick(i);
            places[i].1 = sizes[i].saturating_sub(1);
            refused(i, sizes[i])
        }
        Mistake::Odd(i) => {
            let i = pick(i);
            // The last byte is no longer there.
            places[i] = (places[i].0.wrapping_add(usize::from(sizes[i] > 0)), sizes[i].saturating_sub(1));
            refused(i, sizes[i])
        }
        Mistake::Twice(i, j) => {
            let i = inputs.len() + usize::from(i) % (count - inputs.len());
            let j = pick(j);
            if i == j {
                return None;
            }
            let bytes = sizes[i].min(sizes[j]);
            places[i].0 = places[j].0;
            places[i].1 = bytes;
            unsure |= !looked_at(j);
            refused(i, sizes[i])
        }
        Mistake::Long(i) => {
            let i = pick(i);
            places[i].1 = usize::MAX - sizes[i];
            refused(i, 1)
        }
        Mistake::NoPlan => {
            no_plan = true;
            Some(UBTILE_ERROR_PARAM_NULLPTR)
        }
        Mistake::NoBuffers => {
            no_buffers = true;
            Some(UBTILE_ERROR_PARAM_NULLPTR)
        }
        Mistake::NoLevel => {
            no_level = true;
            Some(UBTILE_ERROR_PARAM_INVALID)
        }
    });
    let status = wrong.unwrap_or(computed);
    let inputs_in_c: Vec<Input> = places[..inputs.len()].iter().map(|&(at, bytes)| input(at, bytes)).collect();
    let (workspace, outputs_in_c) = places[inputs.len()..].split_last().expect("a workspace");
    let outputs_in_c: Vec<Output> = outputs_in_c.iter().map(|&(at, bytes)| output(at, bytes)).collect();
    let buffers = (api.buffers)(&inputs_in_c, &outputs_in_c, output(workspace.0, workspace.1));
    let mut chosen = Level::default();
    // SAFETY: a level.
    unsafe {
        match call.level {
            0 => ubtile_level_scalar(&mut chosen),
            _ => ubtile_level_detect(&mut chosen),
        }
    };
    let level = if call.level == 2 { null() } else { &raw const chosen };
    let level = if no_level { &Level::default() } else { level };
    let tiling_at = if no_plan { null() } else { &raw const *tiling };
    let buffers_at = if no_buffers { null() } else { &raw const buffers };

    let in_shares = call.threads > 0 && !no_plan && !no_buffers;
    let got = if !in_shares {
        // SAFETY: each pointer is NULL or to what it says.
        unsafe { (api.run)(tiling_at, level, buffers_at) }
    } else {
        by_shares(api, &Addresses(tiling, level, &buffers), call.threads)
    };
    api.refuses_nothing(tiling, &buffers);
    if wrong.is_none() && problem.early_success().is_none() && tile_count(plan) <= MOST_TILES {
        by_tiles(api, tiling, plan, data, wanted, (call.level != 2).then_some(&chosen));
    }
    if unsure || wrong.is_some() && in_shares {
        // Which share is the first to notice is not said; nor is the workspace of shares that do not use its end.
        let finds_more = computed != UBTILE_SUCCESS;
        let refused = [UBTILE_ERROR_PARAM_INVALID, UBTILE_ERROR_PARAM_NULLPTR, status].contains(&got);
        let spared = unsure || finds_more || call.mistake.is_some_and(|mistake| mistake.is_of(count - 1, count));
        assert!(refused || spared && got == computed, "{got}, {:?}", call.mistake);
        return;
    }
    assert_eq!(got, status, "{:?}", call.mistake);
    for (memory, output) in memories[inputs.len()..].iter().zip(&mut outputs) {
        if let Some(data) = output {
            memory.fill(data);
        }
    }
    for (tensor, data) in api.tensors[inputs.len()..].iter().zip(&outputs) {
        let Some(data) = data else { continue };
        if wrong.is_some() {
            assert!(data.bytes().iter().all(|&byte| byte == POISON), "{tensor} of a refused call is written to");
            continue;
        }
        assert!(data.gaps_hold(POISON), "{tensor} is written to between its elements");
        let Ok(wanted) = wanted else { continue };
        let (_, plain) = wanted.iter().find(|(name, _)| name == tensor).expect("an output of the problem");
        if let Err(difference) = bits_equal(data, plain) {
            panic!("{tensor} differs from that of Rust: {difference}");
        }
    }
}

/// Each is a call of C, and one of a padding looks at the tiles of its plane: many more take minutes.
const MOST_TILES: usize = 500;

fn tile_count(plan: &TilingPlan) -> usize {
    plan.phases().enumerate().flat_map(|(i, phase)| (0..phase.shares).map(move |j| plan.tile_count(i, j))).sum()
}

/// The tiles give the same, or the same status.
fn by_tiles<D, T, B>(
    api: &Api<D, T, B>,
    tiling: &T,
    plan: &TilingPlan,
    data: &Inputs,
    wanted: &std::result::Result<Outputs, RunError>,
    level: Option<&Level>,
) {
    match ((api.by_tiles)(tiling, plan, data, level), wanted) {
        (Ok(got), Ok(wanted)) => {
            for (tensor, plain) in wanted {
                let (_, data) = got.iter().find(|(name, _)| name == tensor).expect("an output of the problem");
                if let Err(difference) = bits_equal(data, plain) {
                    panic!("{tensor} by tiles differs from that of Rust: {difference}");
                }
            }
        }
        (got, wanted) => assert_eq!(got.err(), wanted.as_ref().err().map(|error| error.status().code())),
    }
}

/// All shares of a phase on some threads, then those of the next one. The first status that is not success, in the order of shares.
fn by_shares<D: Copy, T: Copy, B>(api: &Api<D, T, B>, of: &Addresses<'_, T, B>, threads: usize) -> i32 {
    let mut status = UBTILE_SUCCESS;
    for (phase, shares) in api.all_shares(of.0).into_iter().enumerate() {
        let run = |share| {
            let Addresses(tiling, level, buffers) = of;
            // SAFETY: pointers are to what they say, and a share runs once.
            unsafe { (api.run_share)(*tiling, *level, phase, share, *buffers) }
        };
        let mut statuses: Vec<i32> = if threads == 1 {
            (0..shares).rev().map(run).collect::<Vec<_>>().into_iter().rev().collect()
        } else {
            let mut all = vec![UBTILE_SUCCESS; shares];
            let each = shares.div_ceil(threads).max(1);
            std::thread::scope(|scope| {
                for (number, part) in all.chunks_mut(each).enumerate() {
                    let run = &run;
                    scope.spawn(move || {
                        part.iter_mut().enumerate().for_each(|(i, status)| *status = run(number * each + i))
                    });
                }
            });
            all
        };
        statuses.retain(|&status| status != UBTILE_SUCCESS);
        status = if status == UBTILE_SUCCESS { statuses.first().copied().unwrap_or(UBTILE_SUCCESS) } else { status };
    }
    status
}
