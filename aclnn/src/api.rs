//! The exported symbols. Their signatures are those of `include/`; handles are numbers, so they arrive as `usize`.
#![allow(non_snake_case, unsafe_code)]

mod base;
mod context;
mod device;
mod event;
mod executor;
mod init;
mod memory;
mod objects;
mod operators;
mod stream;

use std::time::Duration;

use crate::client::Out;
use crate::failure::{Failure, Outcome, code};

/// The place for a result of the runtime's functions.
fn out<T: Copy>(name: &str, place: *mut T) -> Outcome<Out<T>> {
    Out::new(name, place, code::INVALID_PARAM)
}

/// A timeout in milliseconds; -1 is for ever.
fn timeout(milliseconds: i32) -> Outcome<Option<Duration>> {
    match u64::try_from(milliseconds) {
        Ok(milliseconds) => Ok(Some(Duration::from_millis(milliseconds))),
        Err(_) if milliseconds == -1 => Ok(None),
        Err(_) => Err(Failure::new(
            code::RT_PARAM_INVALID,
            format!("timeout is {milliseconds}: at least 0 is required, or -1 for no limit"),
        )),
    }
}
