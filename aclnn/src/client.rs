//! What a client hands in by address: read and written here and nowhere else.
//!
//! As in any C library a pointer that is neither null nor valid is the client's fault. Null and misaligned ones are refused.
//! Handles are not addresses: see [`crate::registry`]. Device memory is not reached from here: see [`crate::memory`].

use std::ffi::{CStr, c_char, c_void};
use std::fs;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::OnceLock;

use crate::failure::{Failure, Outcome, code};

/// A place for a result, which the client owns.
#[derive(Clone, Copy)]
pub(crate) struct Out<T>(*mut T);

impl<T: Copy> Out<T> {
    /// The place, unless it is null; `code` is the status for that.
    pub(crate) fn new(name: &str, place: *mut T, code: i32) -> Outcome<Self> {
        if place.is_null() {
            return Err(Failure::new(code, format!("{name} is null")));
        }
        if !place.is_aligned() {
            return Err(Failure::new(code, format!("{name} is {place:p}, which is not aligned")));
        }
        Ok(Self(place))
    }

    /// Stores a result.
    pub(crate) fn set(self, value: T) {
        // SAFETY: not null and aligned; that it is a place of this type is the client's promise by the C signature.
        unsafe { self.0.write(value) };
    }
}

/// A C array, copied. No elements may be at null.
pub(crate) fn array<T: Copy>(name: &str, first: *const T, count: u64, code: i32) -> Outcome<Vec<T>> {
    let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(size_of::<T>()));
    if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        return Err(Failure::new(code, format!("{name} has {count} elements, more than memory can hold")));
    }
    if count == 0 {
        return Ok(Vec::new());
    }
    if first.is_null() || !first.is_aligned() {
        let what = if first.is_null() { "is null" } else { "is not aligned" };
        return Err(Failure::new(code, format!("{name} {what} and has {count} elements")));
    }
    // SAFETY: not null, aligned, not larger than memory; that so many elements lie there is the client's promise.
    Ok(unsafe { std::slice::from_raw_parts(first, count as usize) }.to_vec())
}

/// A C string that may be absent.
pub(crate) fn string(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null; that it ends with a zero byte is the client's promise.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// A C array for the client to free with `delete[]`, as the vendor's getters give it; `None` when there is no memory.
pub(crate) fn new_array(values: &[i64]) -> Option<*mut i64> {
    let bytes = size_of_val(values).max(1);
    let new = is_cpp().then(|| symbol(c"_Znam")).flatten();
    let place = if let Some(new) = new {
        type New = unsafe extern "C-unwind" fn(usize) -> *mut c_void;
        // SAFETY: `_Znam` is the mangled name of `operator new[](std::size_t)` in the Itanium C++ ABI.
        let new = unsafe { std::mem::transmute::<NonNull<c_void>, New>(new) };
        // SAFETY: it takes any size; where it throws, as there is no memory, the process ends.
        unsafe { new(bytes) }
    } else {
        // SAFETY: a plain allocation.
        unsafe { libc::malloc(bytes) }
    };
    if place.is_null() {
        return None;
    }
    let place = place.cast::<i64>();
    // SAFETY: both allocators align for any scalar and gave room for all values.
    unsafe { place.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
    Some(place)
}

/// Whether the client is in C++ and ends arrays with `delete[]`; in C it frees them. Sanitizers tell the two apart.
fn is_cpp() -> bool {
    static CPP: OnceLock<bool> = OnceLock::new();
    // AddressSanitizer has an `operator new[]` in programs of C too, but no exceptions. UndefinedBehaviorSanitizer brings all of
    // the C++ runtime with it: then it matters whether the program's own file has `operator delete[]` among its symbols.
    *CPP.get_or_init(|| match symbol(c"__ubsan_handle_builtin_unreachable") {
        None => symbol(c"__gxx_personality_v0").is_some(),
        Some(_) => fs::read("/proc/self/exe").is_ok_and(|file| file.windows(6).any(|name| name == b"_ZdaPv")),
    })
}

/// What a name of the process stands for.
fn symbol(name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the name is a C string; any process can look symbols up.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
}

/// Whether this process has memory at all of these addresses. It says nothing about rights: writing to constants still traps.
pub(crate) fn mapped(addresses: &Range<usize>) -> bool {
    /// Pages asked about at once.
    const PAGES: usize = 4096;
    if addresses.is_empty() {
        return true;
    }
    // SAFETY: a query without side effects.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096).max(1);
    let mut seen = [0; PAGES];
    let mut from = addresses.start - addresses.start % page;
    while from < addresses.end {
        let bytes = (addresses.end - from).min(PAGES * page);
        // SAFETY: the kernel checks the addresses; `seen` has a byte for each page.
        if unsafe { libc::mincore(from as *mut c_void, bytes, seen.as_mut_ptr()) } != 0 {
            return false;
        }
        from += bytes;
    }
    true
}

/// New pages of zeros for so many bytes, at least 1; `None` when there are none left.
pub(crate) fn pages(bytes: usize) -> Option<NonNull<u8>> {
    let (rights, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: the kernel picks addresses where nothing is.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, kind, -1, 0) };
    NonNull::new(start.cast::<u8>()).filter(|_| start != libc::MAP_FAILED)
}

/// Gives pages back.
///
/// # Safety
/// They are of [`pages`] for as many bytes, and nobody uses them any more.
pub(crate) unsafe fn end_pages(start: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
}

/// The POSIX id of this thread, as clients get it from `pthread_self`.
pub(crate) fn thread_id() -> u64 {
    // SAFETY: a query without side effects.
    unsafe { libc::pthread_self() }
}

/// Has a function called when the process ends normally, and when children that it forks do.
pub(crate) fn at_exit(function: extern "C" fn()) {
    // SAFETY: the function takes nothing, catches what panics and stays: the library cannot be unloaded while it has threads.
    unsafe { libc::atexit(function) };
}

/// A function of the client's and what to call it with.
#[derive(Clone, Copy)]
pub(crate) struct Callback {
    function: unsafe extern "C-unwind" fn(*mut c_void),
    data: *mut c_void,
}

// SAFETY: the client asks for the call on another thread; what `data` points to is the client's to protect.
unsafe impl Send for Callback {}

impl Callback {
    pub(crate) fn new(function: Option<unsafe extern "C-unwind" fn(*mut c_void)>, data: *mut c_void) -> Outcome<Self> {
        let function = function.ok_or_else(|| Failure::new(code::INVALID_PARAM, "the callback is null"))?;
        Ok(Self { function, data })
    }

    pub(crate) fn call(self) {
        // SAFETY: not null; that it is a function of this signature is the client's promise.
        unsafe { (self.function)(self.data) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_are_not_there_are_noticed() {
        let here = vec![0u8; 100_000];
        let start = here.as_ptr() as usize;
        assert!(mapped(&(start..start + here.len())));
        assert!(!mapped(&(0..1)));
        // Nothing can be copied to and from anywhere.
        assert!(mapped(&(1..1)) && mapped(&(4096..4096)));
        assert!(!mapped(&(64..4096)));
        assert!(!mapped(&(0x5542_0000_0000_1000..0x5542_0000_0000_1001)));
    }

    #[test]
    fn arrays_are_copied_or_refused() {
        let values = [1i64, 2, 3];
        assert_eq!(array("value", values.as_ptr(), 3, 7).unwrap(), values);
        assert!(array::<i64>("value", std::ptr::null(), 0, 7).unwrap().is_empty());
        assert_eq!(array::<i64>("value", std::ptr::null(), 1, 7).unwrap_err().code, 7);
        assert_eq!(array("value", values.as_ptr(), u64::MAX, 7).unwrap_err().code, 7);
    }
}
