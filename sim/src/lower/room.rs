//! What a program may use of a core.

use ubtile_tiling::TargetSpec;

use super::LowerError;
use super::substitute::SCRATCH;
use crate::product::Soc;
use crate::program::Pipe;

/// Flags that the framework leaves where there are eight.
const FLAGS: u32 = 6;

/// Local memory, flags, and what else a lowering has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// Bytes of local memory.
    pub(super) local_bytes: usize,
    /// Flags from a pipe to another.
    flags: u8,
}

impl Room {
    /// That of a plan's target on a product.
    pub(super) fn new(target: &TargetSpec, soc: &Soc) -> Result<Self, LowerError> {
        let flags = soc.sync.event_ids.get().map_err(|unknown| LowerError::Unknown(unknown.clone()))?.get();
        // Where copies take whole blocks alone, some of it holds what stands in for what else is missing.
        let scratch = if target.capabilities.unaligned_copy { 0 } else { SCRATCH };
        let Some(local_bytes) = target.local_bytes.checked_sub(scratch) else {
            return Err(LowerError::LocalBytes { got: target.local_bytes, want: scratch });
        };
        Ok(Self { local_bytes, flags: u8::try_from(flags.min(FLAGS)).unwrap_or(u8::MAX) })
    }

    /// Flags that a lowering may use from one pipe to another: one to the scalar unit and one from it are for what it stands in for.
    pub(super) fn flags(self, from: Pipe, to: Pipe) -> u8 {
        if from == Pipe::S || to == Pipe::S { self.scalar_flag() } else { self.flags }
    }

    /// The flag of a pipe whose work the scalar unit does.
    pub(super) const fn scalar_flag(self) -> u8 {
        self.flags.saturating_sub(1)
    }

    /// Most slots of a buffer: each takes a flag, and there are buffers for three.
    pub(super) fn slots(self) -> u32 {
        if u32::from(self.flags) < FLAGS { 1 } else { 2 }
    }
}
