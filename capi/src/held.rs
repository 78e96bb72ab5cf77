//! Values of ours in memory of the caller's, which C sees as opaque words.

use ubtile_tiling::Status;

/// A struct of words that C can allocate and copy.
pub(crate) trait Held: Sized {
    /// What lies in it.
    type Value: Copy;
}

/// What really lies there.
#[repr(C)]
struct Filled<V> {
    /// [`TAG`] in front of a value: what a caller never filled, or failed to, is refused and not read.
    tag: usize,
    value: V,
}

const TAG: usize = 0x7562_746c;

/// Refuses to compile where the words do not hold the value.
pub(crate) const fn fits<H: Held>() {
    assert!(size_of::<Filled<H::Value>>() <= size_of::<H>());
    assert!(align_of::<Filled<H::Value>>() <= align_of::<H>());
}

/// Puts a value there; on an error nothing usable.
///
/// # Safety
/// `to` is NULL or points to an `H`.
pub(crate) unsafe fn fill<H: Held>(to: *mut H, make: impl FnOnce() -> Result<H::Value, Status>) -> Result<(), Status> {
    if to.is_null() {
        return Err(Status::ParamNullptr);
    }
    let to = to.cast::<Filled<H::Value>>();
    // SAFETY: it has room and alignment for that, as `fits` has shown; this writes plain memory of the caller's.
    unsafe { (&raw mut (*to).tag).write(0) };
    let value = make()?;
    // SAFETY: the same.
    unsafe { to.write(Filled { tag: TAG, value }) };
    Ok(())
}

/// The value that lies there.
///
/// # Safety
/// `from` is NULL or points to an `H` that has not been changed except by [`fill`] and by copying another one.
pub(crate) unsafe fn get<'a, H: Held>(from: *const H) -> Result<&'a H::Value, Status> {
    if from.is_null() {
        return Err(Status::ParamNullptr);
    }
    let from = from.cast::<Filled<H::Value>>();
    // SAFETY: the tag is a word of the caller's memory.
    if unsafe { (&raw const (*from).tag).read() } != TAG {
        return Err(Status::ParamInvalid);
    }
    // SAFETY: behind the tag lies what `fill` has put there, and nothing else writes it.
    Ok(unsafe { &(*from).value })
}
