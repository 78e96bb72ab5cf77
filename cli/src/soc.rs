//! Which SoC a word on the command line means.

use std::io::{Write, stderr};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ubtile_sim::product::Soc;

use crate::error::{Error, put_line};

/// What was said already: a command may need its SoC more than once.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A built-in SoC by its name, or the one that a file describes whose name ends in `.toml`. Says on stderr, once, what whoever names it
/// should know.
pub(crate) fn soc(text: &str) -> Result<Soc, Error> {
    let path = Path::new(text);
    let soc = if path.extension().is_some_and(|extension| extension == "toml") {
        Soc::load(path).map_err(|e| Error::Unusable(e.to_string()))?
    } else {
        Soc::builtin(text).map_err(|e| Error::Usage(e.to_string()))?
    };
    if let Some(warning) = soc.warning() {
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        if !said.iter().any(|text| text == warning) {
            said.push(warning.into());
            let mut line = String::new();
            // A string takes all, and nothing is left to do when stderr is closed.
            let _ = put_line(&mut line, warning);
            let _ = writeln!(stderr(), "warning: {line}");
        }
    }
    Ok(soc)
}
