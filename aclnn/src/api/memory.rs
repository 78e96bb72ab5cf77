//! Memory of the device and of the host, and copies between them.

use std::ffi::c_void;

use super::out;
use crate::context;
use crate::failure::{Failure, Outcome, code, status};
use crate::memory::{End, Place, allocate, free, place_of};
use crate::soc;
use crate::stream::Task;

fn allocated(place: *mut *mut c_void, name: &str, size: usize, of: Place) -> Outcome {
    let place = out(name, place)?;
    if size == 0 {
        return Err(Failure::new(code::INVALID_PARAM, "size is 0"));
    }
    context::current()?;
    // Where it is unknown how much memory the product has, this machine's is the limit.
    let most = if of == Place::Device { soc::chosen()?.memory_bytes().unwrap_or(u64::MAX) } else { u64::MAX };
    place.set(allocate(size, of, most)? as *mut c_void);
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMalloc(devPtr: *mut *mut c_void, size: usize, _policy: i32) -> i32 {
    status("aclrtMalloc", || allocated(devPtr, "devPtr", size, Place::Device))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMallocAlign32(devPtr: *mut *mut c_void, size: usize, _policy: i32) -> i32 {
    status("aclrtMallocAlign32", || allocated(devPtr, "devPtr", size, Place::Device))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMallocCached(devPtr: *mut *mut c_void, size: usize, _policy: i32) -> i32 {
    status("aclrtMallocCached", || allocated(devPtr, "devPtr", size, Place::Device))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMallocWithCfg(devPtr: *mut *mut c_void, size: usize, _policy: i32, _cfg: *mut c_void) -> i32 {
    status("aclrtMallocWithCfg", || allocated(devPtr, "devPtr", size, Place::Device))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMallocHost(hostPtr: *mut *mut c_void, size: usize) -> i32 {
    status("aclrtMallocHost", || allocated(hostPtr, "hostPtr", size, Place::Host))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtFree(devPtr: *mut c_void) -> i32 {
    status("aclrtFree", || freed("devPtr", devPtr, Place::Device))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtFreeHost(hostPtr: *mut c_void) -> i32 {
    status("aclrtFreeHost", || freed("hostPtr", hostPtr, Place::Host))
}

fn freed(name: &str, address: *mut c_void, place: Place) -> Outcome {
    if address.is_null() {
        return Err(Failure::new(code::INVALID_PARAM, format!("{name} is null")));
    }
    free(name, address as usize, place)
}

/// A copy that is checked: the ends of `rows` rows of `width` bytes, and how far apart their starts are.
struct Copy {
    to: End,
    to_pitch: usize,
    from: End,
    from_pitch: usize,
    width: usize,
    rows: usize,
}

impl Copy {
    fn new(
        (to, to_pitch): (*mut c_void, usize),
        (from, from_pitch): (*const c_void, usize),
        [width, rows]: [usize; 2],
        kind: i32,
    ) -> Outcome<Self> {
        // H2H, H2D, D2H, D2D; by address; H2D through a buffer; D2D in a device.
        let (to_device, from_device) = match kind {
            0 => (Some(false), Some(false)),
            1 | 5 => (Some(true), Some(false)),
            2 => (Some(false), Some(true)),
            3 | 6 => (Some(true), Some(true)),
            4 => (None, None),
            _ => return Err(Failure::new(code::INVALID_PARAM, format!("kind is {kind}, which is none here"))),
        };
        // Rows of nothing are none.
        let rows = if width == 0 { 0 } else { rows };
        let reach = |pitch: usize| {
            let before = rows.saturating_sub(1).checked_mul(pitch)?;
            if rows == 0 { Some(0) } else { before.checked_add(width) }
        };
        let too_large = || Failure::new(code::RT_PARAM_INVALID, "so many rows leave the address space");
        let to_bytes = reach(to_pitch).ok_or_else(too_large)?;
        let from_bytes = reach(from_pitch).ok_or_else(too_large)?;
        let from = End::new("src", from.cast_mut().cast(), from_bytes, from_device)?;
        let to = End::new("dst", to.cast(), to_bytes, to_device)?;
        Ok(Self { to, to_pitch, from, from_pitch, width, rows })
    }

    /// One row.
    fn linear(to: *mut c_void, most: usize, from: *const c_void, count: usize, kind: i32) -> Outcome<Self> {
        let copy = Self::new((to, count), (from, count), [count, 1], kind)?;
        if count > most {
            return Err(Failure::new(code::RT_PARAM_INVALID, format!("count is {count}, but destMax is {most}")));
        }
        Ok(copy)
    }

    /// Rows that lie apart.
    fn pitched(
        to: (*mut c_void, usize),
        from: (*const c_void, usize),
        [width, rows]: [usize; 2],
        kind: i32,
    ) -> Outcome<Self> {
        for (name, pitch) in [("dpitch", to.1), ("spitch", from.1)] {
            if pitch < width {
                return Err(Failure::new(code::RT_PARAM_INVALID, format!("{name} is {pitch}, but width is {width}")));
            }
        }
        Self::new(to, from, [width, rows], kind)
    }

    fn perform(&self) {
        for row in 0..self.rows {
            self.to.copy(row * self.to_pitch, &self.from, row * self.from_pitch, self.width);
        }
    }

    /// Now, behind the default stream.
    fn now(self) -> Outcome {
        context::settle_default_stream()?;
        self.perform();
        Ok(())
    }

    /// When it is its turn in a stream.
    fn on(self, stream: usize) -> Outcome {
        let task = move || {
            self.perform();
            Ok(())
        };
        context::stream(stream)?.submit(Task::Work(Box::new(task)))
    }
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMemcpy(dst: *mut c_void, destMax: usize, src: *const c_void, count: usize, kind: i32) -> i32 {
    status("aclrtMemcpy", || Copy::linear(dst, destMax, src, count, kind)?.now())
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMemcpyAsync(
    dst: *mut c_void,
    destMax: usize,
    src: *const c_void,
    count: usize,
    kind: i32,
    stream: usize,
) -> i32 {
    status("aclrtMemcpyAsync", || Copy::linear(dst, destMax, src, count, kind)?.on(stream))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMemcpy2d(
    dst: *mut c_void,
    dpitch: usize,
    src: *const c_void,
    spitch: usize,
    width: usize,
    height: usize,
    kind: i32,
) -> i32 {
    status("aclrtMemcpy2d", || Copy::pitched((dst, dpitch), (src, spitch), [width, height], kind)?.now())
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMemcpy2dAsync(
    dst: *mut c_void,
    dpitch: usize,
    src: *const c_void,
    spitch: usize,
    width: usize,
    height: usize,
    kind: i32,
    stream: usize,
) -> i32 {
    status("aclrtMemcpy2dAsync", || Copy::pitched((dst, dpitch), (src, spitch), [width, height], kind)?.on(stream))
}

/// Memory to be set, as much as is set of it.
fn to_set(address: *mut c_void, most: usize, count: usize) -> Outcome<End> {
    let end = End::new("devPtr", address.cast(), count, None)?;
    if count > most {
        return Err(Failure::new(code::RT_PARAM_INVALID, format!("count is {count}, but maxCount is {most}")));
    }
    Ok(end)
}

/// The byte of an `int32_t`, as `memset` takes it.
const fn byte(value: i32) -> u8 {
    value.to_le_bytes()[0]
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMemset(devPtr: *mut c_void, maxCount: usize, value: i32, count: usize) -> i32 {
    status("aclrtMemset", || {
        let end = to_set(devPtr, maxCount, count)?;
        context::settle_default_stream()?;
        end.fill(byte(value), count);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtMemsetAsync(devPtr: *mut c_void, maxCount: usize, value: i32, count: usize, stream: usize) -> i32 {
    status("aclrtMemsetAsync", || {
        let end = to_set(devPtr, maxCount, count)?;
        let task = move || {
            end.fill(byte(value), count);
            Ok(())
        };
        context::stream(stream)?.submit(Task::Work(Box::new(task)))
    })
}

/// There is no cache between the host and this device.
#[unsafe(no_mangle)]
extern "C" fn aclrtMemFlush(devPtr: *mut c_void, size: usize) -> i32 {
    status("aclrtMemFlush", || End::new("devPtr", devPtr.cast(), size, Some(true)).map(drop))
}

/// There is no cache between the host and this device.
#[unsafe(no_mangle)]
extern "C" fn aclrtMemInvalidate(devPtr: *mut c_void, size: usize) -> i32 {
    status("aclrtMemInvalidate", || End::new("devPtr", devPtr.cast(), size, Some(true)).map(drop))
}

/// `aclrtPtrAttributes`
#[repr(C)]
#[derive(Clone, Copy)]
struct PointerAttributes {
    id: u32,
    /// `ACL_MEM_LOCATION_TYPE_HOST` is 0, `_DEVICE` is 1, `_UNREGISTERED` is 2.
    location: i32,
    page_size: u32,
    reserved: [u32; 4],
}

#[unsafe(no_mangle)]
extern "C" fn aclrtPointerGetAttributes(address: *const c_void, attributes: *mut PointerAttributes) -> i32 {
    status("aclrtPointerGetAttributes", || {
        let place = out("attributes", attributes)?;
        let location = match place_of(address as usize) {
            Some(Place::Host) => 0,
            Some(Place::Device) => 1,
            None => 2,
        };
        place.set(PointerAttributes { id: 0, location, page_size: 4096, reserved: [0; 4] });
        Ok(())
    })
}
