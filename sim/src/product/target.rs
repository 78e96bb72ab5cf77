//! A product as the planner sees it.

use ubtile_tiling::{Capabilities, Dtypes, TargetSpec};

use super::graded::Unknown;
use super::kinds::{Bytes, Element};
use super::{Rounding, Soc};

impl Soc {
    /// What a native tiling needs to know: all vector units, and the UB that the framework leaves.
    ///
    /// # Errors
    /// Something that it needs is unknown.
    pub fn target_spec(&self) -> Result<TargetSpec, Unknown> {
        let atomic_add: Dtypes = self.capabilities.atomic_add.get()?.iter().filter_map(|e| e.dtype()).collect();
        let capabilities = Capabilities {
            atomic_add,
            unaligned_copy: *self.capabilities.data_copy_pad.get()?,
            gather: *self.capabilities.gather.get()?,
            bf16: !self.conversions.modes(Element::Bf16, Element::F32)?.is_empty()
                && self.conversions.modes(Element::F32, Element::Bf16)?.contains(&Rounding::Even),
            // Copies to the unified buffer take elements at any distance.
            caches: false,
        };
        Ok(TargetSpec {
            cores: size(self.cores.vector_units.get()?.get().into()),
            // Of a smaller one, stated in a file, there is no more than all.
            local_bytes: bytes((*self.ub.plan_bytes.get()?).min(*self.ub.bytes.get()?)),
            block_bytes: bytes(*self.ub.block_bytes.get()?),
            vector_bytes: bytes(*self.vector.repeat_bytes.get()?),
            capabilities,
        })
    }
}

fn bytes(Bytes(number): Bytes) -> usize {
    size(number)
}

/// More than this machine can address is all that it can address.
fn size(number: u64) -> usize {
    number.try_into().unwrap_or(usize::MAX)
}
