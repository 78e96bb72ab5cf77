//! Start and end of the library, and what went wrong.

use std::ffi::c_char;
use std::fs;
use std::io::{Write, stderr};

use super::out;
use crate::failure::{Failure, Outcome, code, last_status, recent, status};
use crate::{client, device, soc};

#[unsafe(no_mangle)]
extern "C" fn aclInit(configPath: *const c_char) -> i32 {
    status("aclInit", || {
        configuration(configPath)?;
        device::initialise()?;
        if let Some(warning) = soc::chosen()?.soc.warning() {
            // Nothing is left to do when stderr is closed.
            let _ = writeln!(stderr(), "warning: {warning}");
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclFinalize() -> i32 {
    status("aclFinalize", device::finalise)
}

#[unsafe(no_mangle)]
extern "C" fn aclnnInit(configPath: *const c_char) -> i32 {
    status("aclnnInit", || {
        configuration(configPath)?;
        device::initialise_operators()
    })
}

#[unsafe(no_mangle)]
extern "C" fn aclnnFinalize() -> i32 {
    status("aclnnFinalize", device::finalise_operators)
}

/// Reads the configuration, if there is one.
fn configuration(path: *const c_char) -> Outcome {
    client::string(path).filter(|path| !path.is_empty()).map_or(Ok(()), |path| read(&path))
}

/// A configuration must be a JSON object. None of what it may say (dumps, profiling) concerns a host.
fn read(path: &str) -> Outcome {
    let unreadable = |e| Failure::new(code::INVALID_FILE, format!("configPath is {path}: {e}"));
    let text = fs::read(path).map_err(unreadable)?;
    let malformed = |what| Failure::new(code::PARSE_FILE, format!("configPath is {path}: {what}"));
    match serde_json::from_slice::<serde_json::Value>(&text) {
        Ok(value) if value.is_object() => Ok(()),
        Ok(_) => Err(malformed("a JSON object is required".to_string())),
        Err(e) => Err(malformed(e.to_string())),
    }
}

#[unsafe(no_mangle)]
extern "C" fn aclGetRecentErrMsg() -> *const c_char {
    recent()
}

#[unsafe(no_mangle)]
extern "C" fn aclrtPeekAtLastError(_level: i32) -> i32 {
    last_status(false)
}

#[unsafe(no_mangle)]
extern "C" fn aclrtGetLastError(_level: i32) -> i32 {
    last_status(true)
}

/// The version of the API as the headers have it.
#[unsafe(no_mangle)]
extern "C" fn aclrtGetVersion(majorVersion: *mut i32, minorVersion: *mut i32, patchVersion: *mut i32) -> i32 {
    status("aclrtGetVersion", || {
        let places = [out("majorVersion", majorVersion)?, out("minorVersion", minorVersion)?];
        let patch = out("patchVersion", patchVersion)?;
        places.into_iter().zip([1, 0]).for_each(|(place, number)| place.set(number));
        patch.set(0);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::{env, process};

    use super::*;

    #[test]
    fn configurations() {
        let path = env::temp_dir().join(format!("ubtile-aclnn-{}.json", process::id()));
        let outcome = |text: &str| {
            fs::write(&path, text).unwrap();
            read(&path.display().to_string()).map_err(|failure| failure.code)
        };
        assert_eq!(outcome("{\"dump\": {\"dump_path\": \"/tmp\"}}"), Ok(()));
        assert_eq!(outcome("{}"), Ok(()));
        assert_eq!(outcome(""), Err(code::PARSE_FILE));
        assert_eq!(outcome("[1]"), Err(code::PARSE_FILE));
        fs::remove_file(&path).unwrap();
        assert_eq!(read(&path.display().to_string()).map_err(|failure| failure.code), Err(code::INVALID_FILE));
    }
}
