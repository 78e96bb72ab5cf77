//! What the functions of all operators do alike: plan, store, load, count.

use core::ops::Range;

use ubtile_tiling::{ALIGN, Phase, PlanOptions, Staging, Status, TargetSpec};

use crate::held::{self, Held};
use crate::memory::{Bytes, read, write};
use crate::stored::{Described, Digest, Recipe};
use crate::types::{Options, Outcome, Target};

/// An operator, by the C struct that holds its plan.
pub(crate) trait Operator: Held {
    /// What a caller asks for.
    type Desc: Described;

    /// Bytes of a stored plan.
    const STORED_BYTES: usize;

    /// Checks and plans.
    fn make(desc: &Self::Desc, target: &TargetSpec, options: &PlanOptions) -> Result<Self::Value, Status>;
    /// Bytes of workspace.
    fn workspace_bytes(plan: &Self::Value) -> usize;
    /// The phases of a plan.
    fn phases(plan: &Self::Value) -> impl Iterator<Item = Phase>;
    /// Adds a plan's decisions to a digest.
    fn digest(plan: &Self::Value, digest: &mut Digest);
}

/// # Safety
/// The pointers are NULL or valid; the last two are written.
pub(crate) unsafe fn plan<T: Operator>(
    desc: *const T::Desc,
    target: *const Target,
    options: *const Options,
    tiling: *mut T,
    workspace_bytes: *mut usize,
) -> Outcome {
    let make = || {
        // SAFETY: the caller's promise. Not a `Recipe`: a copy of the description would take stack.
        let (desc, target, options) = unsafe { (read(desc)?, read(target)?, given(options)?) };
        make::<T>(desc, target, &options)
    };
    // SAFETY: the caller's promise.
    unsafe { publish(tiling, workspace_bytes, make) }
}

/// # Safety
/// The pointers are NULL or valid, and `bytes` points to `len` bytes to write.
pub(crate) unsafe fn store<T: Operator>(
    desc: *const T::Desc,
    target: *const Target,
    options: *const Options,
    bytes: *mut u8,
    len: usize,
) -> Outcome {
    // SAFETY: the caller's promise.
    let recipe = unsafe { recipe(desc, target, options) }?;
    let plan = make::<T>(&recipe.desc, &recipe.target, &recipe.options)?;
    if bytes.is_null() {
        return Err(Status::ParamNullptr);
    }
    if len != T::STORED_BYTES {
        return Err(Status::ParamInvalid);
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { core::slice::from_raw_parts_mut(bytes, len) };
    recipe.store(|digest| T::digest(&plan, digest), bytes)
}

/// # Safety
/// The pointers are NULL or valid, and `bytes` points to `len` bytes; `desc`, `tiling` and `workspace_bytes` are written.
pub(crate) unsafe fn load<T: Operator<Desc: Default>>(
    bytes: *const u8,
    len: usize,
    desc: *mut T::Desc,
    tiling: *mut T,
    workspace_bytes: *mut usize,
) -> Outcome {
    let mut recipe = Recipe { desc: T::Desc::default(), target: Target::default(), options: Options::NONE };
    let again = || {
        if bytes.is_null() {
            return Err(Status::ParamNullptr);
        }
        if len != T::STORED_BYTES {
            return Err(Status::ParamInvalid);
        }
        // SAFETY: the caller's promise.
        let bytes = unsafe { core::slice::from_raw_parts(bytes, len) };
        let (mut digest, want) = recipe.load(bytes)?;
        // What was stored had a plan, so bytes without one are damaged.
        let plan = make::<T>(&recipe.desc, &recipe.target, &recipe.options).map_err(|_| Status::ParamInvalid)?;
        T::digest(&plan, &mut digest);
        digest.equals(want)?;
        Ok(plan)
    };
    // SAFETY: the caller's promise.
    unsafe { publish(tiling, workspace_bytes, again) }?;
    // Whoever has the description need not read it.
    if desc.is_null() {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe { write(desc, recipe.desc) }
}

/// How many phases there are; 0 without a plan.
///
/// # Safety
/// `tiling` is NULL or valid.
pub(crate) unsafe fn phases<T: Operator>(tiling: *const T) -> usize {
    // SAFETY: the caller's promise.
    unsafe { held::get(tiling) }.map_or(0, |plan| T::phases(plan).count())
}

/// How many shares a phase has; 0 where there is no such phase.
///
/// # Safety
/// `tiling` is NULL or valid.
pub(crate) unsafe fn shares<T: Operator>(tiling: *const T, phase: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { held::get(tiling) }.map_or(0, |plan| shares_of::<T>(plan, phase))
}

fn shares_of<T: Operator>(plan: &T::Value, phase: usize) -> usize {
    T::phases(plan).nth(phase).map_or(0, |phase| phase.shares)
}

/// Refuses a share that the plan does not have.
pub(crate) fn has_share<T: Operator>(plan: &T::Value, phase: usize, share: usize) -> Outcome {
    if share < shares_of::<T>(plan, phase) { Ok(()) } else { Err(Status::ParamInvalid) }
}

/// Refuses a workspace that the whole run would: where its shares lie in it depends on its address.
pub(crate) fn has_room<T: Operator>(plan: &T::Value, workspace: Bytes) -> Outcome {
    if workspace.len() < T::workspace_bytes(plan) { Err(Status::ParamInvalid) } else { Ok(()) }
}

/// Where in a workspace the copy of an input lies that a plan asks for.
pub(crate) fn copy_in(staging: &Staging, workspace: Bytes) -> Bytes {
    let start = staging.region.offset;
    workspace.aligned(ALIGN).part(start..start.saturating_add(staging.region.bytes))
}

/// The elements of that copy which a share makes.
pub(crate) fn copy_share(staging: &Staging, share: usize) -> Range<usize> {
    let (planes, plane) = (staging.planes(share), staging.plane());
    planes.start.saturating_mul(plane)..planes.end.saturating_mul(plane)
}

/// A plan for what C describes.
fn make<T: Operator>(desc: &T::Desc, target: &Target, options: &Options) -> Result<T::Value, Status> {
    T::make(desc, &target.spec()?, &options.spec())
}

/// # Safety
/// The pointers are NULL or valid.
unsafe fn recipe<D: Copy>(desc: *const D, target: *const Target, options: *const Options) -> Result<Recipe<D>, Status> {
    // SAFETY: the caller's promise.
    Ok(unsafe { Recipe { desc: *read(desc)?, target: *read(target)?, options: given(options)? } })
}

/// The options, which may be left out.
///
/// # Safety
/// The pointer is NULL or valid.
unsafe fn given(options: *const Options) -> Result<Options, Status> {
    // SAFETY: the caller's promise.
    if options.is_null() { Ok(Options::NONE) } else { unsafe { read(options) }.copied() }
}

/// # Safety
/// The pointers are NULL or valid and are written.
unsafe fn publish<T: Operator>(
    tiling: *mut T,
    workspace_bytes: *mut usize,
    make: impl FnOnce() -> Result<T::Value, Status>,
) -> Outcome {
    // SAFETY: the caller's promise.
    unsafe { held::fill(tiling, make) }?;
    if workspace_bytes.is_null() {
        return Ok(());
    }
    // SAFETY: the caller's promise, and the plan is there.
    unsafe { write(workspace_bytes, T::workspace_bytes(held::get(tiling)?)) }
}
