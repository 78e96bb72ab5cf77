//! Global memory as the cores see it: L2 in front of main memory, both shared.

use crate::program::{Program, Transfer};

use super::blocks::Blocks;
use super::costs::Costs;
use super::l2::{Found, L2};
use super::share::Share;
use super::tick::{PerByte, Tick};

/// What global memory did in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traffic {
    /// Bytes that the cores asked to read and to write.
    pub(super) read: u64,
    pub(super) written: u64,
    /// Bytes of these that scalar units read and wrote.
    pub(super) scalar_read: u64,
    pub(super) scalar_written: u64,
    /// Bytes of the requests that this took.
    pub(super) requested: u64,
    /// Bytes through L2, atomic additions counted as often as they pass it.
    pub(super) l2: u64,
    /// Bytes from and to main memory.
    pub(super) memory_read: u64,
    pub(super) memory_written: u64,
    /// Bytes of these that scalar units asked for, which take no bandwidth.
    pub(super) memory_scalar: u64,
    /// Lines that were in L2, and that were not.
    pub(super) hits: u64,
    pub(super) misses: u64,
    /// Atomic additions that waited for another one to the same granule, and how long they did.
    pub(super) collisions: u64,
    pub(super) collided: Tick,
}

/// A transfer that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begun {
    /// It ends then, whatever happens.
    Ends(Tick),
    /// It ends when [`Memory::end`] says so, but not before.
    Shares(Tick),
}

/// A transfer that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) at: Tick,
    pub(super) core: u32,
    pub(super) load: bool,
}

/// Of what L2 holds, the part that can be owed before all who take room wait for as much as they displace.
const BACKLOG: u64 = 48;

/// Whose a transfer in main memory is.
const LOAD: u32 = 0;
const STORE: u32 = 1;
const BUFFER: u32 = 2;
const KINDS: u32 = 4;

/// A core's write buffer.
#[derive(Clone, Copy, Debug, Default)]
struct Buffer {
    /// Bytes in it.
    bytes: u64,
    /// What it took of a store that is not through yet: bytes, and their demand.
    last: (u64, u64),
}

/// Global memory.
#[derive(Debug)]
pub(super) struct Memory {
    /// First byte of each tensor, and one past its last.
    tensors: Vec<(u64, u64)>,
    /// `None` where everything is in L2 from the start and stays there.
    l2: Option<L2>,
    /// Lines that were evicted and have yet to be written back.
    owed: u64,
    line: u64,
    request: u64,
    share: Share,
    rates: (f64, f64),
    through_l2: PerByte,
    l2_free: Tick,
    /// When the last atomic addition to each granule is over; empty without any.
    granules: Vec<Tick>,
    granule_bytes: u64,
    /// How long an addition keeps its granule.
    granule: Tick,
    atomic_factor: f64,
    block: Tick,
    write_buffer: u64,
    /// Of each core.
    buffers: Vec<Buffer>,
    pub(super) traffic: Traffic,
}

/// What a table has room for, and as many as there may be lines of L2.
const MOST_GRANULES: usize = 1 << 29;

impl Memory {
    /// Memory for a program. `resident` says that it finds everything in L2; only where everything fits.
    pub(super) fn new(program: &Program, costs: &Costs, resident: bool, adds: bool) -> Option<Self> {
        let mut tensors = Vec::new();
        let mut end = 0u64;
        for tensor in &program.source().tensors {
            let first = end.checked_next_multiple_of(costs.line_bytes)?;
            end = first.checked_add(tensor.bytes())?;
            tensors.push((first, end));
        }
        let lines = end.div_ceil(costs.line_bytes);
        let capacity = costs.l2_bytes / costs.line_bytes;
        let granules = if adds { end.div_ceil(costs.granule_bytes) } else { 0 };
        let granules = usize::try_from(granules).ok().filter(|granules| *granules <= MOST_GRANULES)?;
        Some(Self {
            tensors,
            l2: if resident { None } else { Some(L2::new(lines, capacity)?) },
            owed: 0,
            line: costs.line_bytes,
            request: costs.request_bytes,
            share: Share::new(costs.memory, costs.copies.fastest),
            rates: (costs.memory, costs.copies.fastest),
            through_l2: costs.l2,
            l2_free: 0,
            granules: vec![0; granules],
            granule_bytes: costs.granule_bytes,
            granule: costs.same_granule,
            atomic_factor: costs.atomic_factor,
            block: costs.copies.block,
            write_buffer: costs.copies.write_buffer,
            buffers: vec![Buffer::default(); program.source().cores as usize],
            traffic: Traffic::default(),
        })
    }

    /// Bytes of all tensors, each from a line of its own.
    pub(super) fn footprint(program: &Program, costs: &Costs) -> u64 {
        program.source().tensors.iter().map(|t| t.bytes().div_ceil(costs.line_bytes) * costs.line_bytes).sum()
    }

    /// Begins a new run with what the last one left in L2.
    pub(super) fn restart(&mut self) {
        self.share = Share::new(self.rates.0, self.rates.1);
        self.l2_free = 0;
        self.granules.fill(0);
        self.buffers.fill(Buffer::default());
        self.traffic = Traffic::default();
    }

    /// Sees a transfer that takes no time.
    pub(super) fn touch(&mut self, transfer: &Transfer) {
        let blocks = Blocks::of(transfer, self.base(transfer));
        self.look_up(transfer, &blocks, blocks.pieces(self.line));
    }

    /// Where a transfer's tensor begins.
    fn base(&self, transfer: &Transfer) -> u64 {
        self.tensors.get(usize::from(transfer.global.tensor.0)).map_or(0, |(first, _)| *first)
    }

    /// The lines of some bytes, from the first to before the last.
    fn lines(&self, start: u64, end: u64) -> (u32, u32) {
        let (first, end) = (start / self.line, end.div_ceil(self.line));
        // There are fewer than 2^32 lines, or there would be no memory.
        (u32::try_from(first).unwrap_or(0), u32::try_from(end).unwrap_or(0))
    }

    /// Begins a transfer of `alone`, what its core needs for each byte of a request, and `extra` ticks.
    pub(super) fn begin(&mut self, now: Tick, core: u32, transfer: &Transfer, alone: PerByte, extra: Tick) -> Begun {
        let blocks = Blocks::of(transfer, self.base(transfer));
        let requests = blocks.pieces(self.request);
        let volume = requests * self.request;
        let lines = if self.line == self.request { requests } else { blocks.pieces(self.line) };
        let (read, written) = self.look_up(transfer, &blocks, lines);
        let free = if transfer.add.is_some() { self.collide(now, &blocks) } else { now };
        let traffic = &mut self.traffic;
        let moved = transfer.moved();
        if transfer.load {
            traffic.read += moved
        } else {
            traffic.written += moved
        }
        let demand = (read + written) * self.line;
        traffic.memory_read += read * self.line;
        traffic.memory_written += written * self.line;
        traffic.requested += volume;
        let through = if transfer.add.is_some() { (volume as f64 * self.atomic_factor) as u64 } else { volume };
        traffic.l2 += through;
        self.l2_free = self.l2_free.max(now) + self.through_l2.ticks(through);
        let extra = extra + self.block * blocks.count().saturating_sub(1);
        let ends = (now + alone.ticks(volume) + extra).max(self.l2_free).max(free);
        if demand == 0 {
            return Begun::Ends(ends);
        }
        let mut waited = volume;
        if !transfer.load {
            let buffer = &mut self.buffers[core as usize];
            let absorbed = volume.min(self.write_buffer - buffer.bytes);
            buffer.bytes += absorbed;
            buffer.last = (absorbed, part(demand, absorbed, volume));
            waited -= absorbed;
        }
        if waited == 0 {
            self.drain(now, core);
            return Begun::Ends(ends);
        }
        let kind = if transfer.load { LOAD } else { STORE };
        self.share.begin(now, waited, part(demand, waited, volume), core * KINDS + kind);
        Begun::Shares(ends)
    }

    /// What the buffer took of a core's last store goes on its way.
    fn drain(&mut self, now: Tick, core: u32) {
        let (absorbed, demand) = std::mem::take(&mut self.buffers[core as usize].last);
        if absorbed > 0 {
            self.share.begin(now, absorbed, demand, core * KINDS + BUFFER);
        }
    }

    /// Lines that come from main memory and that go there, when blocks ask for so many.
    fn look_up(&mut self, transfer: &Transfer, blocks: &Blocks, lines: u64) -> (u64, u64) {
        let Some(l2) = &mut self.l2 else {
            self.traffic.hits += lines;
            return (0, 0);
        };
        let allocate = !transfer.bypass && l2.capacity() > 0;
        let (mut read, mut written, mut allocated) = (0, 0, 0);
        let mut all = Found::default();
        if transfer.load {
            match blocks.extent(self.line) {
                Some((first, end)) => all = l2.access(first as u32, end as u32, false, allocate),
                _ => {
                    for (start, end) in blocks.each() {
                        let (first, end) = (start / self.line, end.div_ceil(self.line));
                        all += l2.access(first as u32, end as u32, false, allocate);
                    }
                }
            }
            read = all.misses;
            allocated = if allocate { all.misses } else { 0 };
        } else {
            // Lines before this one have been asked for by blocks before.
            let mut seen = 0;
            for (start, end) in blocks.each() {
                let whole = (start.div_ceil(self.line), end / self.line);
                let (first, end) = ((start / self.line).max(seen), end.div_ceil(self.line));
                seen = end;
                let pieces = if whole.0 > whole.1 {
                    [(first, end, true), (end, end, false), (end, end, false)]
                } else {
                    [(first, whole.0, true), (whole.0.max(first), whole.1, false), (whole.1.max(first), end, true)]
                };
                for (from, to, partly) in pieces {
                    let found = l2.access(from as u32, to as u32, true, allocate);
                    all += found;
                    if allocate {
                        allocated += found.misses;
                    } else {
                        written += found.misses;
                    }
                    // Of a line that is not there, the rest is fetched if it is not wholly written, and all of it to add to.
                    read += if partly && allocate || transfer.add.is_some() { found.misses } else { 0 };
                }
            }
        }
        self.traffic.hits += all.hits;
        self.traffic.misses += all.misses;
        (read, written + self.write_back(allocated, all.evicted))
    }

    /// Lines that a transfer has to see written back for the room that it took. L2 evicts set by set, not in the order of time: whoever
    /// takes room waits for its share of what is owed, not for what a model without sets says was oldest.
    fn write_back(&mut self, allocated: u64, evicted: u64) -> u64 {
        self.owed += evicted;
        let Some(l2) = &self.l2 else { return 0 };
        let expected = l2.expected_dirty(allocated);
        let due = if self.owed > l2.capacity() / BACKLOG { expected.max(allocated) } else { expected };
        let now = self.owed.min(due);
        self.owed -= now;
        now
    }

    /// When the last granule of some blocks can be added to.
    fn collide(&mut self, now: Tick, blocks: &Blocks) -> Tick {
        let (mut last, mut seen) = (now, 0);
        for (start, end) in blocks.each() {
            // Blocks of one addition do not wait for each other.
            let (first, end) = ((start / self.granule_bytes).max(seen), end.div_ceil(self.granule_bytes));
            seen = end;
            // There are so many, or there would be no memory.
            let range = self.granules.get_mut(first as usize..end as usize);
            for free in range.into_iter().flatten() {
                let at = now.max(*free);
                if at > now {
                    self.traffic.collisions += 1;
                    self.traffic.collided += at - now;
                }
                *free = at + self.granule;
                last = last.max(at);
            }
        }
        last
    }

    /// An access of a scalar unit's cache. L2 sees it; its few bytes do not slow others down.
    pub(super) fn cache_line(&mut self, tensor: usize, offset: u64, bytes: u64, write: bool) {
        let (base, end) = self.tensors.get(tensor).copied().unwrap_or_default();
        // Of a line that is longer than what is left of the tensor, nothing else is fetched.
        let (first, end) = self.lines(base + offset, end.min(base + offset + bytes));
        if let Some(l2) = &mut self.l2 {
            let Found { hits, misses, evicted } = l2.access(first, end, write, true);
            self.owed += evicted;
            self.traffic.hits += hits;
            self.traffic.misses += misses;
            self.traffic.memory_read += misses * self.line;
            self.traffic.memory_scalar += misses * self.line;
        } else {
            self.traffic.hits += u64::from(end - first);
        }
    }

    /// When the next transfer in main memory ends, if no other begins before.
    pub(super) fn next(&self) -> Option<Tick> {
        self.share.next()
    }

    /// Ends it. What only was in a write buffer is nobody's news.
    pub(super) fn end(&mut self) -> Option<Ended> {
        let (at, owner, volume) = self.share.end()?;
        let (core, kind) = (owner / KINDS, owner % KINDS);
        if kind == BUFFER {
            self.buffers[core as usize].bytes -= volume;
            return None;
        }
        if kind == STORE {
            self.drain(at, core);
        }
        Some(Ended { at, core, load: kind == LOAD })
    }

    /// When main memory was last busy.
    pub(super) fn idle(&self) -> Tick {
        self.share.idle()
    }
}

/// The part of a demand that goes with a part of a volume.
fn part(demand: u64, of: u64, volume: u64) -> u64 {
    u64::try_from(u128::from(demand) * u128::from(of) / u128::from(volume.max(1))).unwrap_or(u64::MAX).max(1)
}
