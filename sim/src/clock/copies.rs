//! What a core's copies take, and what they cost beside L2 and main memory: issue, latency, and its variation.

use crate::product::{Bytes, Rate, Soc, Unknown};
use crate::program::Transfer;

use super::core::{Core, MTE2, MTE3, Shared, Stop};
use super::costs::{Change, Has, unless};
use super::evidence::Asker;
use super::memory::Begun;
use super::observe::Accesses;
use super::pipe::Head;
use super::tick::{PerByte, Tick, cycles, nanoseconds};

impl Core<'_> {
    /// Begins the transfer at the head of a pipe, whose time has come.
    pub(super) fn begin(&mut self, at: usize, shared: &mut Shared<'_>) -> Result<(), Stop> {
        let pipe = &mut self.pipes[at];
        let (Head::Ready { start, begin }, Some(transfer)) = (pipe.head, pipe.transfers.front()) else {
            return Ok(());
        };
        let (costs, memory) = (&*shared.costs, &mut *shared.memory);
        let (alone, extra) =
            if transfer.load { (costs.copies.load, 0) } else { (costs.copies.store, costs.copies.unaligned(transfer)) };
        let before = memory.traffic;
        let begun = memory.begin(begin, self.walker.core(), transfer, alone, extra);
        shared.recorder.begun(self.walker.core(), at, Accesses::between(&before, &memory.traffic));
        // Not when it took the pipe: whoever waits for its place goes on now, not in what is past for the other cores.
        self.pipes[at].leave(begin);
        match begun {
            Begun::Ends(ends) => self.end(at, start, ends, shared),
            Begun::Shares(ends) => {
                self.pipes[at].head = Head::Shares { start, ends };
                self.run(shared)
            }
        }
    }

    /// The transfer at the head of a pipe is through main memory.
    pub(super) fn through(&mut self, load: bool, now: Tick, shared: &mut Shared<'_>) -> Result<(), Stop> {
        let at = if load { MTE2 } else { MTE3 };
        match self.pipes[at].head {
            Head::Shares { start, ends } => self.end(at, start, ends.max(now), shared),
            Head::Waits | Head::Ready { .. } => Ok(()),
        }
    }

    fn end(&mut self, at: usize, start: Tick, ends: Tick, shared: &mut Shared<'_>) -> Result<(), Stop> {
        let costs = &shared.costs.copies;
        let base = if at == MTE2 { costs.load_latency } else { costs.store_latency };
        let copies = &mut self.copies[at - MTE2];
        *copies += 1;
        let random = self.luck.of_copy(at, *copies);
        let latency = jittered(base, costs.jitter, random);
        let issue = costs.issue;
        let pipe = &mut self.pipes[at];
        pipe.head = Head::Waits;
        pipe.transfers.pop_front();
        pipe.free = start + issue;
        pipe.moved = ends;
        pipe.done = pipe.done.max(ends + latency);
        pipe.counts.instructions += 1;
        let done = pipe.done;
        pipe.busy(start, done);
        shared.recorder.over(self.walker.core(), at, start, done, 0);
        self.drain(shared)?;
        self.run(shared)
    }
}

/// A latency, longer or shorter by up to a share of it in 1/65536.
fn jittered(base: Tick, share: u64, random: u64) -> Tick {
    let most = (u128::from(base) * u128::from(share)) >> 16;
    let most = u64::try_from(most).unwrap_or(0);
    let up = ((u128::from(random) * u128::from(2 * most + 1)) >> 64) as u64;
    base - most.min(base) + up
}

/// What copies of a core cost beside L2 and main memory.
#[derive(Clone, Debug, Default)]
pub(super) struct CopyCosts {
    pub(super) issue: Tick,
    load_latency: Tick,
    store_latency: Tick,
    /// Latency of what the scalar unit's cache does not have.
    pub(super) scalar_miss: Tick,
    /// Share of a latency by which it varies, in 1/65536.
    jitter: u64,
    pub(super) load: PerByte,
    pub(super) store: PerByte,
    /// Bytes a cycle of the faster of both.
    pub(super) fastest: f64,
    pub(super) block: Tick,
    pub(super) write_buffer: u64,
    /// Of stores of unaligned length, and of those that are less than a block.
    unaligned_store: Tick,
    unaligned_byte: PerByte,
    tiny_store: Tick,
    tiny_store_byte: Tick,
}

impl CopyCosts {
    /// What a program needs to know of them.
    ///
    /// # Errors
    /// The product does not say.
    pub(super) fn of(
        soc: &Soc,
        mhz: u32,
        cores: u32,
        has: &Has,
        change: Option<Change>,
        asker: &mut Asker,
    ) -> Result<Self, Unknown> {
        let dma = &soc.dma;
        let mut costs = Self { fastest: 1.0, ..Self::default() };
        if has.load || has.store || has.scalar_memory {
            costs.issue = unless(change, Change::NoIssue, cycles(asker.ask(&dma.issue_cycles)?));
            let latency = nanoseconds(asker.ask(&dma.load_latency_ns)?, mhz);
            costs.load_latency = unless(change, Change::NoLoadLatency, latency);
            costs.scalar_miss = unless(change, Change::NoScalar, latency);
            let speedup = if change == Some(Change::L2) { 2.0 } else { 1.0 };
            let mut rate = |fact| asker.ask(fact).map(|rate: Rate| rate.get() * speedup);
            let (load, store) = (rate(&dma.load_bytes_per_cycle)?, rate(&dma.store_bytes_per_cycle)?);
            (costs.load, costs.store, costs.fastest) = (PerByte::of(load), PerByte::of(store), load.max(store));
            costs.block = cycles(asker.or(&dma.block_cycles, 0.0));
            costs.jitter = cycles(asker.or(&dma.latency_jitter, 0.0)) * 64;
        }
        if has.store {
            let latency = nanoseconds(asker.ask(&dma.store_latency_ns)?, mhz);
            costs.store_latency = unless(change, Change::NoStoreLatency, latency);
            costs.write_buffer = asker.or(&dma.write_buffer_bytes, Bytes(0)).0;
            if let (Ok(fixed), Ok(rate)) =
                (asker.ask(&dma.unaligned_store_cycles), asker.ask(&dma.unaligned_store_bytes_per_cycle))
            {
                (costs.unaligned_store, costs.unaligned_byte) = (cycles(fixed), PerByte::of(rate.get()));
                let one = asker.or(&dma.tiny_store_cycles, 0.0);
                let contended = f64::from(cores) * asker.or(&dma.tiny_store_cycles_per_core, 0.0);
                costs.tiny_store = cycles(one + contended);
                costs.tiny_store_byte = cycles(asker.or(&dma.tiny_store_cycles_less_per_byte, 0.0));
            } else {
                asker.assume("stores of unaligned length cost no more than others: unknown".into());
            }
        }
        Ok(costs)
    }

    /// What a store of blocks whose length is no multiple of 32 bytes costs beside its transfer. Short blocks cost each; of others the
    /// published cost is that of an instruction.
    fn unaligned(&self, transfer: &Transfer) -> Tick {
        let bytes = u64::from(transfer.bytes);
        if bytes % 32 == 0 {
            return 0;
        }
        if bytes < 32 {
            let one = self.tiny_store.saturating_sub(self.tiny_store_byte * bytes);
            return one * u64::from(transfer.blocks);
        }
        let rest = if bytes <= 512 { bytes } else { bytes % 512 };
        self.unaligned_store + PerByte::ticks(self.unaligned_byte, rest)
    }
}
