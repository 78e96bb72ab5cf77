//! Types, half precision, data buffers and attributes of the library.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use half::f16;

use super::out;
use crate::failure::{Failure, code, status};
use crate::registry::Registry;
use crate::{datatype, soc};

#[unsafe(no_mangle)]
extern "C" fn aclDataTypeSize(dataType: i32) -> usize {
    datatype::size(dataType).unwrap_or(0)
}

#[unsafe(no_mangle)]
extern "C" fn aclFloat16ToFloat(value: u16) -> f32 {
    f16::from_bits(value).to_f32()
}

/// Rounds to nearest even.
#[unsafe(no_mangle)]
extern "C" fn aclFloatToFloat16(value: f32) -> u16 {
    f16::from_f32(value).to_bits()
}

/// An address and a size.
struct DataBuffer {
    address: AtomicUsize,
    size: AtomicUsize,
}

static BUFFERS: Registry<DataBuffer> = Registry::new("aclDataBuffer");

#[unsafe(no_mangle)]
extern "C" fn aclCreateDataBuffer(data: *mut c_void, size: usize) -> usize {
    BUFFERS.insert(DataBuffer { address: (data as usize).into(), size: size.into() })
}

#[unsafe(no_mangle)]
extern "C" fn aclDestroyDataBuffer(dataBuffer: usize) -> i32 {
    status("aclDestroyDataBuffer", || {
        if dataBuffer == 0 {
            return Err(Failure::new(code::INVALID_PARAM, "dataBuffer is null"));
        }
        BUFFERS.remove("dataBuffer", dataBuffer, code::INVALID_PARAM).map(drop)
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclUpdateDataBuffer(dataBuffer: usize, data: *mut c_void, size: usize) -> i32 {
    status("aclUpdateDataBuffer", || {
        let buffer = BUFFERS.get("dataBuffer", dataBuffer, code::INVALID_PARAM, code::INVALID_PARAM)?;
        buffer.address.store(data as usize, Ordering::Relaxed);
        buffer.size.store(size, Ordering::Relaxed);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclGetDataBufferAddr(dataBuffer: usize) -> *mut c_void {
    let buffer = BUFFERS.get("dataBuffer", dataBuffer, 0, 0);
    buffer.map_or(ptr::null_mut(), |buffer| buffer.address.load(Ordering::Relaxed) as *mut c_void)
}

#[unsafe(no_mangle)]
extern "C" fn aclGetDataBufferSizeV2(dataBuffer: usize) -> usize {
    BUFFERS.get("dataBuffer", dataBuffer, 0, 0).map_or(0, |buffer| buffer.size.load(Ordering::Relaxed))
}

#[unsafe(no_mangle)]
extern "C" fn aclGetDataBufferSize(dataBuffer: usize) -> u32 {
    u32::try_from(aclGetDataBufferSizeV2(dataBuffer)).unwrap_or(u32::MAX)
}

/// `ACL_CANN_ATTR_INF_NAN`, `ACL_CANN_ATTR_BF16`, `ACL_CANN_ATTR_JIT_COMPILE`
static ATTRIBUTES: [i32; 3] = [0, 1, 2];

#[unsafe(no_mangle)]
extern "C" fn aclGetCannAttributeList(cannAttrList: *mut *const i32, num: *mut usize) -> i32 {
    status("aclGetCannAttributeList", || {
        let (list, num) = (out("cannAttrList", cannAttrList)?, out("num", num)?);
        list.set(ATTRIBUTES.as_ptr());
        num.set(ATTRIBUTES.len());
        Ok(())
    })
}

/// Whether the product has infinities and NaN, and BF16: since A2. Nothing is compiled at run time.
#[unsafe(no_mangle)]
extern "C" fn aclGetCannAttribute(cannAttr: i32, value: *mut i32) -> i32 {
    status("aclGetCannAttribute", || {
        let place = out("value", value)?;
        let has = match cannAttr {
            0 | 1 => soc::chosen()?.soc.target_spec().is_ok_and(|target| target.capabilities.bf16),
            2 => false,
            _ => return Err(Failure::new(code::INVALID_PARAM, format!("cannAttr is {cannAttr}, which is none"))),
        };
        place.set(has.into());
        Ok(())
    })
}
