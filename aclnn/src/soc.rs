//! The product that this library stands for: `UBTILE_SOC`, a built-in name or a file that ends in `.toml`.

use std::env;
use std::ffi::{CString, OsString};
use std::path::Path;

use ubtile_sim::aclnn::Device;
use ubtile_sim::product::{Soc, Unknown};
use ubtile_tiling::{Edition, Product};

use crate::failure::{Failure, Outcome, code};
use crate::monitor::Monitor;

/// The variable of the environment that names it.
const VARIABLE: &str = "UBTILE_SOC";

/// The product without that variable.
const USUAL: &str = "Ascend910B1";

/// A product.
pub(crate) struct Chosen {
    /// Its name for C.
    pub(crate) name: CString,
    pub(crate) soc: Soc,
    pub(crate) known: Known,
}

/// What phase 1 of an operator knows of a product.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    /// The product line, whose rules hold.
    pub(crate) product: Product,
    pub(crate) edition: Edition,
    /// As the model of the vendor's first phase takes it; `None` where something that the model needs is unknown.
    pub(crate) device: Option<Device>,
}

/// The product. The environment is read once, at the first call.
pub(crate) fn chosen() -> Outcome<&'static Chosen> {
    static CHOSEN: Monitor<Option<Result<&'static Chosen, String>>> = Monitor::new(None);
    let mut chosen = CHOSEN.lock();
    let chosen = chosen.get_or_insert_with(|| {
        // It stays as long as the process.
        choose(&named(env::var_os(VARIABLE))).map(|chosen| &*Box::leak(Box::new(chosen)))
    });
    chosen.as_ref().copied().map_err(|why| Failure::new(code::INVALID_PARAM, format!("{VARIABLE}: {why}")))
}

/// The name in the variable, which may be empty as if it were not there.
fn named(variable: Option<OsString>) -> String {
    let variable = variable.filter(|name| !name.is_empty());
    variable.map_or_else(|| USUAL.into(), |name| name.to_string_lossy().into_owned())
}

fn choose(name: &str) -> Result<Chosen, String> {
    let path = Path::new(name);
    let is_file = path.extension().is_some_and(|extension| extension == "toml");
    let soc = if is_file { Soc::load(path) } else { Soc::builtin(name) }.map_err(|e| e.to_string())?;
    let lines = &soc.version.products;
    let product = lines.get().map_err(|e| e.to_string())?.first().copied();
    let product = product.ok_or_else(|| format!("{} is empty", lines.key()))?;
    let name = CString::new(soc.name()).map_err(|e| e.to_string())?;
    let known = Known { product, edition: Edition::Any, device: Device::of(&soc).ok() };
    Ok(Chosen { name, soc, known })
}

impl Chosen {
    /// Bytes of its memory.
    pub(crate) fn memory_bytes(&self) -> Result<u64, Unknown> {
        self.soc.memory.bytes.get().map(|bytes| bytes.0)
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
            let chosen = choose(name).unwrap();
            let device = chosen.known.device.map(|device| (device.product, device.edition));
            assert_eq!(device, Some((chosen.known.product, chosen.known.edition)), "{name}");
            // What is unknown says so.
            assert!(chosen.memory_bytes().map_or_else(|e| e.to_string().contains("memory.bytes"), |n| n > 1 << 30));
        }
        for name in Soc::names() {
            assert!(choose(name).is_ok(), "{name}");
        }
        assert!(choose("Ascend1").is_err_and(|why| why.contains("Ascend910B1")));
        assert!(choose("missing.toml").is_err());
    }

    #[test]
    fn an_empty_variable_is_none() {
        assert_eq!(named(None), USUAL);
        assert_eq!(named(Some("".into())), USUAL);
        assert_eq!(named(Some("Ascend310P3".into())), "Ascend310P3");
    }
}
