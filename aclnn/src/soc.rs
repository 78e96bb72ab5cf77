//! The product that this library stands for: `UBTILE_SOC`, a built-in name or a file that ends in `.toml`.

use std::env;
use std::ffi::CString;
use std::path::Path;

use ubtile_sim::aclnn::Device;
use ubtile_sim::product::Soc;

use crate::failure::{Failure, Outcome, code};
use crate::monitor::Monitor;

/// The variable of the environment that names it.
const VARIABLE: &str = "UBTILE_SOC";

/// The product without that variable.
const USUAL: &str = "Ascend910B1";

/// A product, and what phase 1 knows of it.
pub(crate) struct Chosen {
    /// Its name for C.
    pub(crate) name: CString,
    pub(crate) soc: Soc,
    pub(crate) device: Device,
}

/// The product. The environment is read once, at the first call.
pub(crate) fn chosen() -> Outcome<&'static Chosen> {
    static CHOSEN: Monitor<Option<Result<&'static Chosen, String>>> = Monitor::new(None);
    let mut chosen = CHOSEN.lock();
    let chosen = chosen.get_or_insert_with(|| {
        let name = env::var(VARIABLE).unwrap_or_else(|_| USUAL.into());
        // It stays as long as the process.
        choose(&name).map(|chosen| &*Box::leak(Box::new(chosen)))
    });
    chosen.as_ref().copied().map_err(|why| Failure::new(code::INVALID_PARAM, format!("{VARIABLE}: {why}")))
}

fn choose(name: &str) -> Result<Chosen, String> {
    let path = Path::new(name);
    let is_file = path.extension().is_some_and(|extension| extension == "toml");
    let soc = if is_file { Soc::load(path) } else { Soc::builtin(name) }.map_err(|e| e.to_string())?;
    let device = Device::of(&soc).map_err(|e| e.to_string())?;
    let name = CString::new(soc.name()).map_err(|e| e.to_string())?;
    Ok(Chosen { name, soc, device })
}

impl Chosen {
    /// Bytes of its memory; all there can be where that is unknown.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.soc.memory.bytes.get().map_or(u64::MAX, |bytes| bytes.0)
    }
}

#[cfg(test)]
mod tests {
    use ubtile_tiling::Product;

    use super::*;

    #[test]
    fn products_can_be_chosen() {
        for product in Product::ALL {
            let name = Soc::usual(product);
            assert!(choose(name).is_ok_and(|chosen| chosen.memory_bytes() > 1 << 30), "{name}");
        }
        // Of the others some have too little known about them, and say so.
        for name in Soc::names() {
            assert!(choose(name).err().is_none_or(|why| why.contains("unknown")), "{name}");
        }
        assert!(choose("Ascend1").is_err_and(|why| why.contains("Ascend910B1")));
        assert!(choose("missing.toml").is_err());
    }
}
