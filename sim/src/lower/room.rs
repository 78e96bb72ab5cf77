//! What a program may use of a core.

use ubtile_tiling::TargetSpec;

use super::LowerError;
use super::pieces::Most;
use super::substitute::Scratch;
use crate::product::{Element, Soc};
use crate::program::{Pipe, VectorOp, lacks_transpose, lacks_vector};

/// Flags that the framework leaves where there are eight.
const FLAGS: u32 = 6;
/// Fewest that programs get along with: three for buffers, and one for what stands in for a pipe's work.
const FEWEST_FLAGS: u32 = 4;

/// Local memory, flags, and what else a lowering has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// Bytes of local memory.
    pub(super) local_bytes: usize,
    /// Flags from a pipe to another.
    flags: u8,
    /// What stands in for what a product lacks, where copies take whole blocks alone.
    pub(super) scratch: Option<Scratch>,
    /// Whether an instruction gathers elements of 32 bits, whether one transposes halves of them, and whether one transposes them.
    pub(super) gathers: bool,
    pub(super) transposes: bool,
    pub(super) transposes_words: bool,
    /// How large pieces may be.
    pub(super) most: Most,
}

impl Room {
    /// That of a plan's target on a product, some of it for what vector instructions shift where copies cannot, so many bytes at a time.
    pub(super) fn new(target: &TargetSpec, soc: &Soc, shifted: usize) -> Result<Self, LowerError> {
        let flags = soc.sync.event_ids.get().map_err(|unknown| LowerError::Unknown(unknown.clone()))?.get();
        if flags < FEWEST_FLAGS {
            return Err(LowerError::Flags { got: flags, want: FEWEST_FLAGS });
        }
        let scratch = (!target.capabilities.unaligned_copy).then(|| Scratch::of(target.local_bytes, shifted, soc));
        let bytes = scratch.map_or(0, Scratch::bytes);
        let Some(local_bytes) = target.local_bytes.checked_sub(bytes) else {
            return Err(LowerError::LocalBytes { got: target.local_bytes, want: bytes });
        };
        let flags = u8::try_from(flags.min(FLAGS)).unwrap_or(u8::MAX);
        let gathers = !lacks_vector(soc, VectorOp::Gather(Element::F32));
        let [transposes, transposes_words] = [Element::U16, Element::F32].map(|element| !lacks_transpose(soc, element));
        Ok(Self { local_bytes, flags, scratch, gathers, transposes, transposes_words, most: Most::ALL })
    }

    /// Whether elements of a pixel are put side by side instead of gathered.
    pub(super) fn puts_beside(self) -> bool {
        !self.gathers && self.shifted().is_some()
    }

    /// Bytes that vector instructions shift at a time where copies cannot, if any.
    pub(super) fn shifted(self) -> Option<usize> {
        self.scratch?.shifted
    }

    /// Bytes of local memory for a program that nothing has to stand in for.
    pub(super) fn without_scratch(self) -> usize {
        self.local_bytes + self.scratch.map_or(0, Scratch::bytes)
    }

    /// Flags that a lowering may use from one pipe to another: the last one is for what stands in for a pipe's work.
    pub(super) fn flags(self, from: Pipe, to: Pipe) -> u8 {
        let stands_in = self.shifted().is_some() || from == Pipe::S || to == Pipe::S;
        if stands_in { self.stand_in_flag() } else { self.flags }
    }

    /// The flag of a pipe whose work another one does.
    pub(super) const fn stand_in_flag(self) -> u8 {
        self.flags.saturating_sub(1)
    }

    /// Slots of a buffer for which so many are wanted: each takes a flag, and where there are few, there are buffers for three.
    pub(super) fn slots(self, wanted: u32) -> u32 {
        if u32::from(self.flags) < FLAGS { 1 } else { wanted }
    }
}
