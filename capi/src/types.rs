//! What the operators' functions have in common: numbers, tensors, machines, levels, buffers.

use core::ffi::{CStr, c_char, c_void};

use ubtile_tiling::{Capabilities, ContractError, Dims, Dtype, PlanError, PlanOptions, Status, TargetSpec, TensorDesc};

use crate::held::{self, Held};
use crate::memory::{read, write};

/// Success.
pub const UBTILE_SUCCESS: i32 = 0;
/// A pointer that must not be NULL is NULL.
pub const UBTILE_ERROR_PARAM_NULLPTR: i32 = 161_001;
/// A tensor, attribute, plan or buffer that is not usable.
pub const UBTILE_ERROR_PARAM_INVALID: i32 = 161_002;
/// An index outside of the unpooled plane.
pub const UBTILE_ERROR_RUNTIME: i32 = 361_001;
/// The target's local memory does not hold the smallest tile, or sizes of the plan overflow; those of a tensor are
/// UBTILE_ERROR_PARAM_INVALID.
pub const UBTILE_ERROR_TILING: i32 = 561_002;

/// IEEE 754 binary32. Dtypes have the numbers of aclDataType.
pub const UBTILE_F32: i32 = 0;
/// IEEE 754 binary16.
pub const UBTILE_F16: i32 = 1;
/// Signed 8-bit integer.
pub const UBTILE_I8: i32 = 2;
/// Signed 32-bit integer.
pub const UBTILE_I32: i32 = 3;
/// Unsigned 8-bit integer.
pub const UBTILE_U8: i32 = 4;
/// Signed 16-bit integer.
pub const UBTILE_I16: i32 = 6;
/// Signed 64-bit integer.
pub const UBTILE_I64: i32 = 9;
/// IEEE 754 binary64.
pub const UBTILE_F64: i32 = 11;
/// One byte, 0 or 1.
pub const UBTILE_BOOL: i32 = 12;
/// Two f32: real, imaginary.
pub const UBTILE_C64: i32 = 16;
/// Two f64: real, imaginary.
pub const UBTILE_C128: i32 = 17;
/// bfloat16.
pub const UBTILE_BF16: i32 = 27;

/// Dimensions that a tensor may have.
pub const UBTILE_MAX_RANK: usize = 8;
/// For `ubtile_options`: no limit, or the target's own number.
pub const UBTILE_DEFAULT: usize = usize::MAX;

/// A tensor: dtype, shape, and strides in elements. Entries beyond the rank are not looked at.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Tensor {
    /// UBTILE_F32, ...
    pub dtype: i32,
    /// Dimensions, at most UBTILE_MAX_RANK.
    pub rank: u32,
    /// Sizes, outermost first.
    pub shape: [usize; UBTILE_MAX_RANK],
    /// Distance in elements between neighbours along each dimension.
    pub strides: [usize; UBTILE_MAX_RANK],
}

/// The machine that a plan is for. `ubtile_target_named` fills it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Target {
    /// Cores that may run shares at the same time, at least 1.
    pub cores: usize,
    /// Bytes of memory that the boxes of a tile should fit; of the grid sampler, those that
    /// `ubtile_grid_sampler_2d_backward_boxes` names.
    pub local_bytes: usize,
    /// Granularity of those boxes in bytes, at least 1; of what is no power of two, the next one is taken.
    pub block_bytes: usize,
    /// Bytes that a vector instruction takes at once, at least 1; 4 where there is none.
    pub vector_bytes: usize,
    /// Whether memory is read through caches, so that a copy of an input with far strides pays.
    pub caches: bool,
}

/// What may be asked of a plan.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Most bytes of workspace, or UBTILE_DEFAULT. 0 always works.
    pub workspace_limit: usize,
    /// Bytes of local memory in place of the target's, or UBTILE_DEFAULT.
    pub local_bytes: usize,
}

/// A set of vector instructions that this processor has. Opaque; filled by `ubtile_level_detect` and the like.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Level {
    /// Not to be touched.
    pub opaque: [usize; 2],
}

/// Elements to read. NULL with 0 bytes is an empty one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// The first one.
    pub data: *const c_void,
    /// Bytes of all, as many as the tensor's strides reach, or more.
    pub bytes: usize,
}

/// Elements to write, or workspace. NULL with 0 bytes is an empty one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// The first one.
    pub data: *mut c_void,
    /// Bytes of all, as many as the tensor's strides reach, or more.
    pub bytes: usize,
}

#[cfg(any(feature = "grid-sampler-2d-backward", feature = "max-unpool2d-backward"))]
impl Output {
    /// None.
    pub(crate) const EMPTY: Self = Self { data: core::ptr::null_mut(), bytes: 0 };
}

/// What a C function gives back.
pub(crate) type Outcome = Result<(), Status>;

/// The number of an outcome.
pub(crate) fn code(outcome: Outcome) -> i32 {
    match outcome {
        Ok(()) => UBTILE_SUCCESS,
        Err(status) => status.code(),
    }
}

pub(crate) fn of_contract(error: ContractError) -> Status {
    error.status()
}

pub(crate) fn of_plan(error: PlanError) -> Status {
    if matches!(error, PlanError::NotBuilt { .. }) { Status::ParamInvalid } else { Status::InnerTilingError }
}

pub(crate) fn of_run(error: ubtile_kernels::RunError) -> Status {
    error.status()
}

impl Tensor {
    /// As the contract reads it.
    fn desc(&self) -> Result<TensorDesc, Status> {
        let dtype = dtype(self.dtype)?;
        let rank = usize::try_from(self.rank).unwrap_or(usize::MAX);
        let (shape, strides) = (self.shape.get(..rank), self.strides.get(..rank));
        let (Some(shape), Some(strides)) = (shape, strides) else { return Err(Status::ParamInvalid) };
        TensorDesc::strided(dtype, shape, strides).map_err(|_| Status::ParamInvalid)
    }
}

/// Tensors as the contract reads them.
pub(crate) fn descs<const N: usize>(tensors: [&Tensor; N]) -> Result<[TensorDesc; N], Status> {
    let mut descs = [TensorDesc { dtype: Dtype::F32, shape: Dims::NONE, strides: Dims::NONE }; N];
    for (desc, tensor) in descs.iter_mut().zip(tensors) {
        *desc = tensor.desc()?;
    }
    Ok(descs)
}

fn dtype(number: i32) -> Result<Dtype, Status> {
    Dtype::from_acl(number).ok_or(Status::ParamInvalid)
}

impl Target {
    pub(crate) fn spec(&self) -> Result<TargetSpec, Status> {
        let Self { cores, local_bytes, block_bytes, vector_bytes, caches } = *self;
        if cores == 0 || block_bytes == 0 || vector_bytes == 0 {
            return Err(Status::ParamInvalid);
        }
        let capabilities = Capabilities { caches, ..Capabilities::HOST };
        Ok(TargetSpec { cores, local_bytes, block_bytes, vector_bytes, capabilities })
    }
}

impl Options {
    /// Neither.
    pub(crate) const NONE: Self = Self { workspace_limit: UBTILE_DEFAULT, local_bytes: UBTILE_DEFAULT };

    pub(crate) fn spec(&self) -> PlanOptions {
        let given = |bytes: usize| (bytes != UBTILE_DEFAULT).then_some(bytes);
        PlanOptions { workspace_limit: given(self.workspace_limit), local_bytes: given(self.local_bytes) }
    }
}

/// Fills `tensor` with a contiguous tensor of `rank` sizes.
///
/// # Safety
/// `shape` points to `rank` sizes, `tensor` to a tensor; either may be NULL, which is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_tensor_contiguous(
    dtype: i32,
    rank: u32,
    shape: *const usize,
    tensor: *mut Tensor,
) -> i32 {
    let fill = || {
        let count = usize::try_from(rank).ok().filter(|&rank| rank <= UBTILE_MAX_RANK).ok_or(Status::ParamInvalid)?;
        if shape.is_null() {
            return Err(Status::ParamNullptr);
        }
        self::dtype(dtype)?;
        let mut made = Tensor { dtype, rank, ..Tensor::default() };
        for (i, size) in made.shape.iter_mut().enumerate().take(count) {
            // SAFETY: the caller's promise, and `i` is below `rank`.
            *size = *unsafe { read(shape.wrapping_add(i)) }?;
        }
        let dims = Dims::new(made.shape.get(..count).unwrap_or(&[])).map_err(|_| Status::ParamInvalid)?;
        let strides = dims.contiguous_strides().ok_or(Status::ParamInvalid)?;
        for (to, from) in made.strides.iter_mut().zip(strides.as_slice()) {
            *to = *from;
        }
        // SAFETY: the caller's promise.
        unsafe { write(tensor, made) }
    };
    code(fill())
}

/// Fills `target` with a machine by name: "cortex-m3", "cortex-m4", "cortex-m33", "riscv32imac", "cortex-a53", or "host" with one
/// thread.
///
/// # Safety
/// `name` is a string that ends in a zero byte, `target` points to a target; either may be NULL, which is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_target_named(name: *const c_char, target: *mut Target) -> i32 {
    let fill = || {
        if name.is_null() {
            return Err(Status::ParamNullptr);
        }
        // SAFETY: the caller's promise.
        let name = unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| Status::ParamInvalid)?;
        let spec = match name {
            "host" => TargetSpec::host(1),
            _ => TargetSpec::from_name(name).ok_or(Status::ParamInvalid)?,
        };
        let TargetSpec { cores, local_bytes, block_bytes, vector_bytes, capabilities: Capabilities { caches, .. } } =
            spec;
        // SAFETY: the caller's promise.
        unsafe { write(target, Target { cores, local_bytes, block_bytes, vector_bytes, caches }) }
    };
    code(fill())
}

impl Held for Level {
    type Value = ubtile_kernels::Level;
}
const _: () = held::fits::<Level>();

/// Fills `level` with the fastest one of this processor. It asks the processor, which under a hypervisor can take
/// microseconds: call it once and keep the level. Needs no operating system.
///
/// # Safety
/// `level` points to a level or is NULL, which is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_level_detect(level: *mut Level) -> i32 {
    // SAFETY: the caller's promise.
    code(unsafe { held::fill(level, || Ok(ubtile_kernels::Level::detect())) })
}

/// Fills `level` with that of one lane, which every processor has.
///
/// # Safety
/// `level` points to a level or is NULL, which is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ubtile_level_scalar(level: *mut Level) -> i32 {
    // SAFETY: the caller's promise.
    code(unsafe { held::fill(level, || Ok(ubtile_kernels::Level::scalar())) })
}

/// The level a caller chose; without one, what the library is compiled for.
///
/// # Safety
/// `level` is NULL or points to a level.
pub(crate) unsafe fn level(level: *const Level) -> Result<ubtile_kernels::Level, Status> {
    if level.is_null() {
        return Ok(ubtile_kernels::Level::baseline());
    }
    // SAFETY: the caller's promise.
    unsafe { held::get(level) }.copied()
}
