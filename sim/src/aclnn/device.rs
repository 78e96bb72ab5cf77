//! The machine that a graph is for.

use ubtile_tiling::{
    Dtype, Edition, Problem, Product, VendorArch, VendorError, VendorMachine, VendorPlan, vendor_plan_in,
};

use crate::product::{Soc, Unknown};

/// What the first phase knows of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// The product line, which decides where a problem runs.
    pub product: Product,
    /// The edition of the vendor's documents.
    pub edition: Edition,
    /// The generation, where its tilings are published.
    pub arch: Option<VendorArch>,
    /// Cores of a vector-only kernel.
    pub cores: usize,
    /// Bytes of the unified buffer, as the vendor's tilings are told.
    pub ub_bytes: usize,
    /// Whether the deterministic mode is on (`ACL_OPT_DETERMINISTIC`).
    pub deterministic: bool,
}

impl Device {
    /// A SoC in its usual product line, with every edition's rules and the deterministic mode off.
    ///
    /// # Errors
    /// Something that it needs is unknown.
    pub fn of(soc: &Soc) -> Result<Self, Unknown> {
        let lines = &soc.version.products;
        let unknown = || Unknown { key: lines.key().into() };
        Ok(Self {
            product: *lines.get()?.first().ok_or_else(unknown)?,
            edition: Edition::Any,
            arch: match soc.version.npu_arch.get()? {
                2201 => Some(VendorArch::Dav2201),
                3510 => Some(VendorArch::Dav3510),
                _ => None,
            },
            cores: usize::try_from(soc.cores.vector_units.get()?.get()).unwrap_or(usize::MAX),
            ub_bytes: usize::try_from(soc.ub.bytes.get()?.0).unwrap_or(usize::MAX),
            deterministic: false,
        })
    }

    /// The same as the vendor's tilings see it; `None` for generations without a published one.
    #[must_use]
    pub fn machine(&self) -> Option<VendorMachine> {
        let Self { arch, cores, ub_bytes, deterministic, .. } = *self;
        Some(VendorMachine { arch: arch?, vector_cores: cores, ub_bytes, deterministic })
    }

    /// The vendor's tiling for tensors of `dtype`, where there is a published one and something to compute.
    ///
    /// # Errors
    /// The tiling fails.
    pub(super) fn tiling(&self, problem: &Problem, dtype: Dtype) -> Result<Option<VendorPlan>, VendorError> {
        let Some(machine) = self.machine() else { return Ok(None) };
        match vendor_plan_in(problem, dtype, &machine) {
            Ok(plan) => Ok(Some(plan)),
            Err(VendorError::NotPublished { .. } | VendorError::NoWork) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
