//! Device memory and page-locked host memory: registered allocations, and the bytes in them.
//!
//! An address is looked up before it is used, so foreign and freed ones are errors. Whoever works on memory holds a share of its
//! allocation, so memory that a client frees too early goes when the work is done.
//!
//! As on a device, the memory has no owner: two streams that write the same bytes without an event between them race, and the
//! bytes are then unspecified.

use std::collections::BTreeMap;
use std::ops::Range;
use std::ptr::NonNull;

use crate::client;
use crate::failure::{Failure, Outcome, code};
use crate::monitor::Monitor;
use crate::shared::Shared;

/// Where memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// On the device.
    Device,
    /// On the host, page-locked.
    Host,
}

impl Place {
    const fn name(self) -> &'static str {
        match self {
            Self::Device => "device memory",
            Self::Host => "page-locked host memory",
        }
    }
}

/// A piece of memory that goes when the last share of it goes: pages of its own, so that the address of a freed one is none in the
/// client's heap.
pub(crate) struct Allocation {
    start: NonNull<u8>,
    /// The first byte, by its address.
    base: usize,
    len: usize,
    place: Place,
}

// SAFETY: it is plain memory without ties to a thread; who may touch its bytes when is the client's affair, as on a device.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Allocation {
    fn new(len: usize, place: Place) -> Option<Self> {
        let start = client::pages(len.max(1))?;
        let base = start.as_ptr() as usize;
        Some(Self { start, base, len, place })
    }

    /// The byte at an address in it.
    fn at(&self, address: usize) -> *mut u8 {
        self.start.as_ptr().wrapping_add(address.wrapping_sub(self.base))
    }

    fn end(&self) -> usize {
        self.base.saturating_add(self.len)
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: these are its pages, and nobody has a share any more.
        unsafe { client::end_pages(self.start, self.len.max(1)) };
    }
}

/// All registered allocations, by their first address.
static MAP: Monitor<BTreeMap<usize, Shared<Allocation>>> = Monitor::new(BTreeMap::new());

/// Allocates zeroed memory, as long as no more than `most` bytes of the place are taken then, and gives its address.
pub(crate) fn allocate(len: usize, place: Place, most: u64) -> Outcome<usize> {
    let none =
        |why: String| Failure::new(code::RT_MEMORY_ALLOCATION, format!("no {} for {len} bytes: {why}", place.name()));
    let mut map = MAP.lock();
    let taken = taken(&map, place);
    if (len as u64).checked_add(taken).is_none_or(|all| all > most) {
        return Err(none(format!("{taken} of {most} are taken")));
    }
    let allocation = Allocation::new(len, place).ok_or_else(|| none("this machine has none left".into()))?;
    let base = allocation.base;
    map.insert(base, Shared::new(allocation));
    Ok(base)
}

/// Bytes of a place that are taken.
pub(crate) fn taken_bytes(place: Place) -> u64 {
    taken(&MAP.lock(), place)
}

fn taken(map: &BTreeMap<usize, Shared<Allocation>>, place: Place) -> u64 {
    map.values().filter(|allocation| allocation.place == place).map(|allocation| allocation.len as u64).sum()
}

/// Forgets an allocation.
pub(crate) fn free(name: &str, address: usize, place: Place) -> Outcome {
    let mut map = MAP.lock();
    let wrong = |what: String| Failure::new(code::RT_PARAM_INVALID, format!("{name} is {address:#x}, {what}"));
    match find(&map, address) {
        Some(found) if found.place != place => Err(wrong(format!("which is {}", found.place.name()))),
        Some(found) if found.base != address => {
            Err(wrong(format!("{} bytes behind the start of its allocation", address - found.base)))
        }
        Some(_) => {
            let gone = map.remove(&address);
            drop(map);
            drop(gone);
            Ok(())
        }
        None => Err(wrong(format!("which is not {}, or was freed before", place.name()))),
    }
}

/// Takes all allocations of a place.
pub(crate) fn take_all(place: Place) -> Vec<Shared<Allocation>> {
    MAP.lock().extract_if(.., |_, allocation| allocation.place == place).map(|(_, allocation)| allocation).collect()
}

/// Where an address lies; `None` for memory that is not registered.
pub(crate) fn place_of(address: usize) -> Option<Place> {
    find(&MAP.lock(), address).map(|allocation| allocation.place)
}

fn find(map: &BTreeMap<usize, Shared<Allocation>>, address: usize) -> Option<&Shared<Allocation>> {
    let (_, last) = map.range(..=address).next_back()?;
    // Nothing is known of the addresses behind one of 0 bytes but its own.
    (address < last.end() || address == last.base).then_some(last)
}

/// Bytes in registered memory, and a share of it.
#[derive(Clone)]
pub(crate) struct Region {
    allocation: Shared<Allocation>,
    addresses: Range<usize>,
}

impl Region {
    /// `len` bytes of a place.
    pub(crate) fn new(name: &str, address: usize, len: usize, place: Place) -> Outcome<Self> {
        let map = MAP.lock();
        let found = find(&map, address).filter(|found| found.place == place);
        let unknown = || {
            let message = format!("{name} is {address:#x}, which is not {}, or was freed", place.name());
            Failure::new(code::RT_PARAM_INVALID, message)
        };
        let allocation = Shared::clone(found.ok_or_else(unknown)?);
        Self { allocation, addresses: address..address }.extended(name, address, len)
    }

    /// Other bytes of the same allocation.
    pub(crate) fn extended(&self, name: &str, address: usize, len: usize) -> Outcome<Self> {
        let found = &self.allocation;
        let end = address.checked_add(len).filter(|&end| address >= found.base && end <= found.end());
        let behind = || {
            let (start, left) = (address.saturating_sub(found.base), found.end().saturating_sub(address));
            let message = format!(
                "{name} is at byte {start} of an allocation of {} bytes, where {len} are needed and {left} are left",
                found.len
            );
            Failure::new(code::RT_PARAM_INVALID, message)
        };
        let end = end.ok_or_else(behind)?;
        Ok(Self { allocation: found.clone(), addresses: address..end })
    }

    fn meets(&self, other: &Self) -> bool {
        self.addresses.start < other.addresses.end && other.addresses.start < self.addresses.end
    }
}

/// Bytes to read, and bytes to write.
pub(crate) type Lent<'a> = (Vec<&'a [u8]>, Vec<&'a mut [u8]>);

/// The bytes of regions, to read and to write; `None` where one that is written meets another of them.
pub(crate) fn lend<'a>(read: &'a [Region], written: &'a mut [Region]) -> Option<Lent<'a>> {
    let alone = |(i, region): (usize, &Region)| {
        let others = written.iter().enumerate().filter(|&(j, _)| j != i).map(|(_, other)| other);
        !others.chain(read).any(|other| region.meets(other))
    };
    if !written.iter().enumerate().all(alone) {
        return None;
    }
    // SAFETY: the region lies in its allocation, which lives as long as the borrow, and whose bytes are initialised; no slice
    // of this call that is written meets another. Work on other threads that writes here races with this by the client's fault.
    let reading = |region: &'a Region| unsafe {
        std::slice::from_raw_parts(region.allocation.at(region.addresses.start).cast_const(), region.addresses.len())
    };
    // SAFETY: as above.
    let writing = |region: &'a mut Region| unsafe {
        std::slice::from_raw_parts_mut(region.allocation.at(region.addresses.start), region.addresses.len())
    };
    Some((read.iter().map(reading).collect(), written.iter_mut().map(writing).collect()))
}

/// One end of a copy: registered memory, or memory of the client's own that is there.
#[derive(Clone)]
pub(crate) struct End {
    /// The memory's owner, where this library knows it.
    _share: Option<Shared<Allocation>>,
    start: *mut u8,
}

// SAFETY: as for an allocation; the client keeps its own memory until the copy is done.
unsafe impl Send for End {}

impl End {
    /// `len` bytes at an address that must be on the device, must not be there, or may be anywhere.
    pub(crate) fn new(name: &str, address: *mut u8, len: usize, on_device: Option<bool>) -> Outcome<Self> {
        let at = address as usize;
        if address.is_null() {
            return Err(Failure::new(code::INVALID_PARAM, format!("{name} is null")));
        }
        // A copy of nothing needs no memory: it may lie behind an allocation's end.
        if len == 0 {
            return Ok(Self { _share: None, start: address });
        }
        let place = place_of(at);
        let wrong = |what: &str| Failure::new(code::RT_PARAM_INVALID, format!("{name} is {at:#x}, {what}"));
        match (place, on_device) {
            (Some(Place::Device), Some(false)) => {
                return Err(wrong("which is device memory: the kind of the copy says host"));
            }
            (Some(place), Some(false) | None) | (Some(place @ Place::Device), Some(true)) => {
                let region = Region::new(name, at, len, place)?;
                return Ok(Self { start: region.allocation.at(at), _share: Some(region.allocation) });
            }
            (_, Some(true)) => {
                return Err(wrong("which is not device memory, or was freed: the kind of the copy says device"));
            }
            (None, Some(false) | None) => {}
        }
        let end = at.checked_add(len).ok_or_else(|| wrong("from where so many bytes leave the address space"))?;
        if !client::mapped(&(at..end)) {
            return Err(wrong("where this process has no memory of that length"));
        }
        Ok(Self { _share: None, start: address })
    }

    /// Copies `len` bytes that `offset` and `from_offset` stand before; both ends have so many.
    pub(crate) fn copy(&self, offset: usize, from: &Self, from_offset: usize, len: usize) {
        // SAFETY: both ends were made for at least this range and are held or, where they are the client's, still there.
        unsafe { self.start.add(offset).copy_from(from.start.add(from_offset), len) };
    }

    /// Sets `len` bytes from the start, of which the end has so many.
    pub(crate) fn fill(&self, value: u8, len: usize) {
        // SAFETY: as for a copy.
        unsafe { self.start.write_bytes(value, len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_known_while_allocated() {
        let base = allocate(100, Place::Device, u64::MAX).unwrap();
        assert_eq!(base % 512, 0);
        assert_eq!(place_of(base + 99), Some(Place::Device));
        assert!(Region::new("x", base, 100, Place::Device).is_ok());
        assert!(Region::new("x", base + 1, 100, Place::Device).is_err());
        assert!(Region::new("x", base, 100, Place::Host).is_err());
        assert!(free("x", base + 1, Place::Device).is_err());
        assert!(free("x", base, Place::Host).is_err());
        // As long as somebody has a share, nobody else gets the address.
        let share = Region::new("x", base, 100, Place::Device).unwrap();
        free("x", base, Place::Device).unwrap();
        assert!(free("x", base, Place::Device).is_err());
        assert_eq!(place_of(base), None);
        drop(share);
    }

    /// Its pages are gone, whatever a copy says of where it is. (So many are not all somebody else's at once.)
    #[test]
    fn freed_memory_is_none_of_the_client_s() {
        let base = allocate(1 << 30, Place::Device, u64::MAX).unwrap();
        let end = |on_device| End::new("x", base as *mut u8, 8, on_device);
        assert!(end(None).is_ok() && end(Some(true)).is_ok() && end(Some(false)).is_err());
        free("x", base, Place::Device).unwrap();
        assert!([None, Some(true), Some(false)].into_iter().all(|on_device| end(on_device).is_err()));
    }

    #[test]
    fn work_keeps_freed_memory() {
        let base = allocate(8, Place::Device, u64::MAX).unwrap();
        let mut region = [Region::new("x", base, 8, Place::Device).unwrap()];
        free("x", base, Place::Device).unwrap();
        let (_, mut written) = lend(&[], &mut region).unwrap();
        written[0].fill(7);
        assert_eq!(written[0], [7; 8]);
    }

    #[test]
    fn what_is_written_meets_nothing() {
        let base = allocate(64, Place::Device, u64::MAX).unwrap();
        let part = |from: usize, len: usize| Region::new("x", base + from, len, Place::Device).unwrap();
        assert!(lend(&[part(0, 32), part(16, 16)], &mut [part(32, 32)]).is_some());
        assert!(lend(&[part(0, 33)], &mut [part(32, 32)]).is_none());
        assert!(lend(&[], &mut [part(0, 33), part(32, 32)]).is_none());
        assert!(lend(&[part(0, 0)], &mut [part(0, 64)]).is_some());
        free("x", base, Place::Device).unwrap();
    }

    #[test]
    fn an_end_of_no_bytes_may_lie_behind_an_allocation() {
        let base = allocate(512, Place::Device, u64::MAX).unwrap();
        let behind = (base + 512) as *mut u8;
        assert!(End::new("x", behind, 1, Some(true)).is_err());
        let [to, from] = [End::new("x", behind, 0, Some(true)).unwrap(), End::new("x", behind, 0, None).unwrap()];
        to.copy(0, &from, 0, 0);
        to.fill(1, 0);
        assert_eq!(End::new("x", std::ptr::null_mut(), 0, None).map(drop).unwrap_err().code, code::INVALID_PARAM);
        free("x", base, Place::Device).unwrap();
    }

    #[test]
    fn there_is_a_limit() {
        assert_eq!(allocate(1 << 40, Place::Device, 1 << 36).unwrap_err().code, code::RT_MEMORY_ALLOCATION);
        assert_eq!(allocate(usize::MAX, Place::Host, u64::MAX).unwrap_err().code, code::RT_MEMORY_ALLOCATION);
    }
}
