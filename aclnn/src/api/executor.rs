//! Executors that are used more than once.

use std::ffi::c_void;

use crate::executor::{self, Among};
use crate::failure::{Outcome, code, status};
use crate::objects::TENSORS;

#[unsafe(no_mangle)]
extern "C" fn aclSetAclOpExecutorRepeatable(executor: usize) -> i32 {
    status("aclSetAclOpExecutorRepeatable", || executor::set_repeatable(executor))
}

#[unsafe(no_mangle)]
extern "C" fn aclDestroyAclOpExecutor(executor: usize) -> i32 {
    status("aclDestroyAclOpExecutor", || executor::destroy(executor))
}

/// Lets the tensor and the executor's argument lie elsewhere.
fn set(executor: usize, among: Among, index: usize, tensor: usize, address: *mut c_void) -> Outcome {
    let tensor = TENSORS.get("tensor", tensor, code::PARAM_NULLPTR, code::PARAM_INVALID)?;
    executor::set_address(executor, among, index, address as usize)?;
    tensor.lock().address = address as usize;
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn aclSetTensorAddr(executor: usize, index: usize, tensor: usize, addr: *mut c_void) -> i32 {
    status("aclSetTensorAddr", || set(executor, Among::All, index, tensor, addr))
}

#[unsafe(no_mangle)]
extern "C" fn aclSetInputTensorAddr(executor: usize, index: usize, tensor: usize, addr: *mut c_void) -> i32 {
    status("aclSetInputTensorAddr", || set(executor, Among::Inputs, index, tensor, addr))
}

#[unsafe(no_mangle)]
extern "C" fn aclSetOutputTensorAddr(executor: usize, index: usize, tensor: usize, addr: *mut c_void) -> i32 {
    status("aclSetOutputTensorAddr", || set(executor, Among::Outputs, index, tensor, addr))
}
