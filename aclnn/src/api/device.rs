//! The device: which, how large, and what it can do.

use std::ffi::c_char;
use std::ptr;

use ubtile_sim::product::Unknown;

use super::{out, timeout};
use crate::context;
use crate::device;
use crate::failure::{Failure, Outcome, code, status};
use crate::memory::{Place, taken_bytes};
use crate::soc;

#[unsafe(no_mangle)]
extern "C" fn aclrtSetDevice(deviceId: i32) -> i32 {
    status("aclrtSetDevice", || device::set(deviceId))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtResetDevice(deviceId: i32) -> i32 {
    status("aclrtResetDevice", || device::reset(deviceId, false))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtResetDeviceForce(deviceId: i32) -> i32 {
    status("aclrtResetDeviceForce", || device::reset(deviceId, true))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtGetDevice(deviceId: *mut i32) -> i32 {
    status("aclrtGetDevice", || {
        let place = out("deviceId", deviceId)?;
        context::current()?;
        place.set(device::DEVICE);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtGetDeviceCount(count: *mut u32) -> i32 {
    status("aclrtGetDeviceCount", || {
        out("count", count)?.set(1);
        Ok(())
    })
}

/// The program runs on the host: `ACL_HOST`.
#[unsafe(no_mangle)]
extern "C" fn aclrtGetRunMode(runMode: *mut i32) -> i32 {
    status("aclrtGetRunMode", || {
        out("runMode", runMode)?.set(1);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtSynchronizeDevice() -> i32 {
    status("aclrtSynchronizeDevice", || context::synchronize(None))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtSynchronizeDeviceWithTimeout(milliseconds: i32) -> i32 {
    status("aclrtSynchronizeDeviceWithTimeout", || context::synchronize(timeout(milliseconds)?))
}

/// `ACL_RT_DEVICE_STATUS_NORMAL`, always.
#[unsafe(no_mangle)]
extern "C" fn aclrtQueryDeviceStatus(deviceId: i32, deviceStatus: *mut i32) -> i32 {
    status("aclrtQueryDeviceStatus", || {
        device::check_id(deviceId)?;
        out("deviceStatus", deviceStatus)?.set(0);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtGetPrimaryCtxState(deviceId: i32, flags: *mut u32, active: *mut i32) -> i32 {
    status("aclrtGetPrimaryCtxState", || {
        device::check_id(deviceId)?;
        let active = out("active", active)?;
        if !flags.is_null() {
            out("flags", flags)?.set(0);
        }
        active.set(device::is_active().into());
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtGetSocName() -> *const c_char {
    soc::chosen().map_or(ptr::null(), |chosen| chosen.name.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn aclrtGetMemInfo(_attr: i32, free: *mut usize, total: *mut usize) -> i32 {
    status("aclrtGetMemInfo", || {
        let (free, total) = (out("free", free)?, out("total", total)?);
        context::current()?;
        let bytes = soc::chosen()?.memory_bytes().map_err(unknown)?;
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        total.set(size(bytes));
        free.set(size(bytes.saturating_sub(taken_bytes(Place::Device))));
        Ok(())
    })
}

/// A number of the product that `attr` names, an `aclrtDevAttr`.
#[unsafe(no_mangle)]
extern "C" fn aclrtGetDeviceInfo(deviceId: u32, attr: i32, value: *mut i64) -> i32 {
    status("aclrtGetDeviceInfo", || number(deviceId, ("attr", attr), Some(attr), value))
}

/// Cores and L2 as the older `aclDeviceInfo` names them.
#[unsafe(no_mangle)]
extern "C" fn aclGetDeviceCapability(deviceId: u32, deviceInfo: i32, value: *mut i64) -> i32 {
    let attribute = match deviceInfo {
        0 => Some(101),
        1 => Some(201),
        2 => Some(302),
        _ => None,
    };
    status("aclGetDeviceCapability", || number(deviceId, ("deviceInfo", deviceInfo), attribute, value))
}

/// Gives the client the number of an `aclrtDevAttr`, which the argument stands for.
fn number(device: u32, (name, argument): (&str, i32), attribute: Option<i32>, value: *mut i64) -> Outcome {
    check_unsigned(device)?;
    let chosen = soc::chosen()?;
    let soc = &chosen.soc;
    let number = match attribute {
        Some(1) => soc.cores.ai_cpu.get().map(|n| i64::from(*n)),
        Some(101 | 102) => soc.cores.ai.get().map(|n| n.get().into()),
        Some(201) => soc.cores.vector.get().map(|n| i64::from(*n)),
        Some(204) => soc.ub.bytes.get().map(|bytes| signed(bytes.0)),
        Some(301) => chosen.memory_bytes().map(signed),
        Some(302) => soc.memory.l2_bytes.get().map(|bytes| signed(bytes.0)),
        Some(601) => soc.version.npu_arch.get().map(|n| i64::from(*n)),
        _ => return Err(Failure::new(code::RT_FEATURE_NOT_SUPPORT, format!("{name} is {argument}: not known here"))),
    };
    let known = number.map_err(unknown)?;
    out("value", value)?.set(known);
    Ok(())
}

/// The failure where a number of the product is asked for that is unknown.
fn unknown(number: Unknown) -> Failure {
    Failure::new(code::RT_FEATURE_NOT_SUPPORT, number.to_string())
}

fn check_unsigned(id: u32) -> Outcome {
    device::check_id(i32::try_from(id).unwrap_or(i32::MAX))
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// There is no other device to reach.
#[unsafe(no_mangle)]
extern "C" fn aclrtDeviceCanAccessPeer(canAccessPeer: *mut i32, deviceId: i32, peerDeviceId: i32) -> i32 {
    status("aclrtDeviceCanAccessPeer", || {
        let place = out("canAccessPeer", canAccessPeer)?;
        device::check_id(deviceId)?;
        device::check_id(peerDeviceId)?;
        place.set(0);
        Ok(())
    })
}

/// All streams are equal: both are 0.
#[unsafe(no_mangle)]
extern "C" fn aclrtDeviceGetStreamPriorityRange(leastPriority: *mut i32, greatestPriority: *mut i32) -> i32 {
    status("aclrtDeviceGetStreamPriorityRange", || {
        let (least, greatest) = (out("leastPriority", leastPriority)?, out("greatestPriority", greatestPriority)?);
        least.set(0);
        greatest.set(0);
        Ok(())
    })
}

/// Kernels have no time limit here; accepted so that clients can set one.
#[unsafe(no_mangle)]
extern "C" fn aclrtSetOpExecuteTimeOut(_timeout: u32) -> i32 {
    0
}

/// Waits of streams have no time limit here; accepted so that clients can set one.
#[unsafe(no_mangle)]
extern "C" fn aclrtSetOpWaitTimeout(_timeout: u32) -> i32 {
    0
}
