//! Values of options.

use std::fmt::Display;
use std::num::NonZeroU64;
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

/// `a..b` or `a..b:STEP`, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    first: u64,
    last: u64,
    step: NonZeroU64,
}

impl Range {
    /// Most values of a series.
    const MOST: u64 = 10_000;

    /// Its values.
    pub(crate) fn values(&self) -> impl Iterator<Item = u64> + use<> {
        let (first, step) = (self.first, self.step.get());
        (0..=(self.last - self.first) / step).map(move |i| first + i * step)
    }
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("'{text}': expected a..b or a..b:STEP, such as 1..8 or 1024..8192:1024");
        let (ends, step) = text.split_once(':').unwrap_or((text, "1"));
        let (first, last) = ends.split_once("..").ok_or_else(expected)?;
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| expected());
        let step = NonZeroU64::new(number(step)?).ok_or_else(expected)?;
        let range = Self { first: number(first)?, last: number(last)?, step };
        match range.last.checked_sub(range.first) {
            None => Err(expected()),
            Some(length) if length / step >= Self::MOST => Err(format!("'{text}': more than {} values", Self::MOST)),
            Some(_) => Ok(range),
        }
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
        let values = |text: &str| text.parse::<Range>().map(|range| range.values().collect::<Vec<_>>());
        assert_eq!(values("2..5").unwrap(), [2, 3, 4, 5]);
        assert_eq!(values("2..5:2").unwrap(), [2, 4]);
        for wrong in ["", "5", "5..4", "1..2:0", "a..b", "0..1000000"] {
            assert!(values(wrong).is_err(), "{wrong}");
        }
        let dtype: DtypeOf = "indices=i32".parse().unwrap();
        assert_eq!((dtype.name.as_deref(), dtype.dtype), (Some("indices"), Dtype::I32));
        assert!("f8".parse::<DtypeOf>().unwrap_err().contains("f16 bf16"));
    }
}
