//! What a core's copies take beside their transfer: issue, latency, and its variation.

use crate::program::Transfer;

use super::core::{Core, MTE2, MTE3, Shared, Stop};
use super::costs::Costs;
use super::memory::Begun;
use super::observe::Accesses;
use super::pipe::Head;
use super::tick::{PerByte, Tick};

impl Core<'_> {
    /// Begins the transfer at the head of a pipe, whose time has come.
    pub(super) fn begin(&mut self, at: usize, shared: &mut Shared<'_>) -> Result<(), Stop> {
        let pipe = &mut self.pipes[at];
        let (Head::Ready { start, begin }, Some(transfer)) = (pipe.head, pipe.transfers.front()) else {
            return Ok(());
        };
        let (costs, memory) = (&*shared.costs, &mut *shared.memory);
        let (alone, extra) = if transfer.load { (costs.load, 0) } else { (costs.store, costs.unaligned(transfer)) };
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
        let costs = &*shared.costs;
        let base = if at == MTE2 { costs.load_latency } else { costs.store_latency };
        let copies = &mut self.copies[at - MTE2];
        *copies += 1;
        let random = self.luck.of_copy(at, *copies);
        let latency = jittered(base, costs.jitter, random);
        let issue = costs.dma_issue;
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

impl Costs {
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
