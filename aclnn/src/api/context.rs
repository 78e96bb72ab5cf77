//! Contexts and options.

use super::out;
use crate::context;
use crate::device;
use crate::failure::status;

#[unsafe(no_mangle)]
extern "C" fn aclrtCreateContext(context: *mut usize, deviceId: i32) -> i32 {
    status("aclrtCreateContext", || {
        let place = out("context", context)?;
        place.set(device::create_context(deviceId)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtDestroyContext(context: usize) -> i32 {
    status("aclrtDestroyContext", || device::destroy_context(context))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtSetCurrentContext(context: usize) -> i32 {
    status("aclrtSetCurrentContext", || context::set(context))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtGetCurrentContext(context: *mut usize) -> i32 {
    status("aclrtGetCurrentContext", || {
        let place = out("context", context)?;
        place.set(context::current()?.0);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtCtxGetCurrentDefaultStream(stream: *mut usize) -> i32 {
    status("aclrtCtxGetCurrentDefaultStream", || {
        let place = out("stream", stream)?;
        place.set(context::current_default_stream()?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtCtxSetSysParamOpt(opt: i32, value: i64) -> i32 {
    status("aclrtCtxSetSysParamOpt", || context::set_option(opt, value))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtCtxGetSysParamOpt(opt: i32, value: *mut i64) -> i32 {
    status("aclrtCtxGetSysParamOpt", || {
        let place = out("value", value)?;
        place.set(context::option(opt)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclrtSetSysParamOpt(opt: i32, value: i64) -> i32 {
    status("aclrtSetSysParamOpt", || device::set_process_option(opt, value))
}

#[unsafe(no_mangle)]
extern "C" fn aclrtGetSysParamOpt(opt: i32, value: *mut i64) -> i32 {
    status("aclrtGetSysParamOpt", || {
        let place = out("value", value)?;
        place.set(device::process_option(opt)?);
        Ok(())
    })
}
