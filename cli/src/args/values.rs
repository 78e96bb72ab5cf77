//! Values of options.

use std::fmt::Display;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use ubtile_kernels::Level;
use ubtile_tiling::Dtype;

/// A value of a closed set, by name.
pub(super) fn of_names<T: Clone + Send + Sync + 'static>(
    names: impl IntoIterator<Item = &'static str>,
    value: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).try_map(move |name| value(&name).ok_or("unknown name"))
}

pub(super) fn dtypes() -> impl TypedValueParser<Value = Dtype> {
    of_names(Dtype::ALL.map(Dtype::name), Dtype::from_name)
}

/// The levels of this machine, and `auto` for the fastest.
pub(super) fn levels() -> impl TypedValueParser<Value = Level> {
    let names = std::iter::once("auto").chain(Level::available().map(Level::name));
    of_names(names, |name| if name == "auto" { Some(Level::detect()) } else { Level::from_name(name) })
}

/// An enumeration as aclnn numbers it: the position of the name.
pub(super) fn position_in<const N: usize>(names: [&'static str; N]) -> impl TypedValueParser<Value = i64> {
    PossibleValuesParser::new(names).map(move |name| names.iter().take_while(|n| **n != name).count() as i64)
}

/// Values separated by commas. The contract says how many there must be.
#[derive(Clone, Debug)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T: FromStr<Err: Display>> FromStr for List<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one =
            |part: &str| part.trim().parse().map_err(|e| format!("'{part}': {e} (values are separated by commas)"));
        text.split(',').map(one).collect::<Result<_, _>>().map(Self)
    }
}

/// `NAME=VALUE`.
#[derive(Clone, Debug)]
pub(crate) struct Named<T> {
    pub(crate) name: String,
    pub(crate) value: T,
}

impl<T: FromStr<Err: Display>> FromStr for Named<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("NAME=VALUE is required")?;
        let value = value.parse().map_err(|e| format!("{e}"))?;
        Ok(Self { name: name.into(), value })
    }
}

/// `DTYPE` for all tensors or `NAME=DTYPE` for one.
#[derive(Clone, Debug)]
pub(crate) struct DtypeOf {
    pub(crate) name: Option<String>,
    pub(crate) dtype: Dtype,
}

impl FromStr for DtypeOf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, dtype) = match text.split_once('=') {
            Some((name, dtype)) => (Some(name.into()), dtype),
            None => (None, text),
        };
        let known = || format!("'{dtype}' is none of {}", Dtype::ALL.map(Dtype::name).join(" "));
        Ok(Self { name, dtype: Dtype::from_name(dtype).ok_or_else(known)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        assert_eq!("1, -2,3".parse::<List<i64>>().unwrap().0, [1, -2, 3]);
        assert!("1,,2".parse::<List<i64>>().is_err());
        let named: Named<List<usize>> = "grid=1,2".parse().unwrap();
        assert_eq!((named.name.as_str(), named.value.0), ("grid", vec![1, 2]));
        assert!("1,2".parse::<Named<List<usize>>>().is_err());
        let dtype: DtypeOf = "indices=i32".parse().unwrap();
        assert_eq!((dtype.name.as_deref(), dtype.dtype), (Some("indices"), Dtype::I32));
        assert!("f8".parse::<DtypeOf>().unwrap_err().contains("f16 bf16"));
    }
}
