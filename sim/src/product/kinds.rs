//! The types of values in product files.

use std::fmt;
use std::num::NonZeroU32;

use toml::Value;
use ubtile_tiling::{Dtype, Product};

use super::reader::Kind;

/// A size in bytes; files may write it as `"192 KiB"` or `"24 GB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

const UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("GB", 1_000_000_000), ("MiB", 1 << 20), ("KiB", 1 << 10)];

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.iter().find(|(_, unit)| self.0 >= *unit && self.0.is_multiple_of(*unit)) {
            Some((name, unit)) => write!(f, "{} {name}", self.0 / unit),
            None => write!(f, "{}", self.0),
        }
    }
}

impl Kind for Bytes {
    const EXPECTED: &'static str = "a number of bytes, or a text such as \"192 KiB\"";

    fn read(value: &Value) -> Option<Self> {
        let Some(text) = value.as_str() else {
            return value.as_integer()?.try_into().ok().map(Self);
        };
        let (number, name) = text.split_once(' ')?;
        let (_, unit) = UNITS.iter().find(|(known, _)| *known == name)?;
        number.parse::<u64>().ok()?.checked_mul(*unit).filter(|&bytes| i64::try_from(bytes).is_ok()).map(Self)
    }

    fn value(&self) -> Value {
        // What was read fits.
        Value::Integer(self.0.cast_signed())
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

/// A factor or an amount per time: above 0 and finite.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// What changes nothing.
    pub const ONE: Self = Self(1.0);

    /// The number.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }

    pub(super) fn new(number: f64) -> Option<Self> {
        (number > 0.0 && number.is_finite()).then_some(Self(number))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Beyond, neither the time of a byte nor that of a gigabyte could be told.
impl Kind for Rate {
    const EXPECTED: &'static str = "a number from 0.001 to 1000000000";

    fn read(value: &Value) -> Option<Self> {
        number(value).filter(|number| (1e-3..=1e9).contains(number)).map(Self)
    }

    fn value(&self) -> Value {
        Value::Float(self.0)
    }
}

/// A duration or another number that can be 0. Millions of cycles or microseconds are no product's, and sums of them would not fit.
impl Kind for f64 {
    const EXPECTED: &'static str = "a number from 0 to 1000000";

    fn read(value: &Value) -> Option<Self> {
        number(value).filter(|number| (0.0..=1e6).contains(number))
    }

    fn value(&self) -> Value {
        Value::Float(*self)
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of products are small")]
fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

impl Kind for u32 {
    const EXPECTED: &'static str = "a whole number from 0";

    fn read(value: &Value) -> Option<Self> {
        value.as_integer()?.try_into().ok()
    }

    fn value(&self) -> Value {
        Value::Integer((*self).into())
    }
}

impl Kind for NonZeroU32 {
    const EXPECTED: &'static str = "a whole number from 1";

    fn read(value: &Value) -> Option<Self> {
        Self::new(u32::read(value)?)
    }

    fn value(&self) -> Value {
        Value::Integer(self.get().into())
    }
}

impl Kind for bool {
    const EXPECTED: &'static str = "true or false";

    fn read(value: &Value) -> Option<Self> {
        value.as_bool()
    }

    fn value(&self) -> Value {
        Value::Boolean(*self)
    }
}

impl Kind for String {
    const EXPECTED: &'static str = "a text";

    fn read(value: &Value) -> Option<Self> {
        value.as_str().map(Self::from)
    }

    fn value(&self) -> Value {
        Value::String(self.clone())
    }
}

/// The type of a vector's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "they are their names")]
pub enum Element {
    F16,
    Bf16,
    F32,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
}

impl Element {
    /// Every type with its name in product files.
    pub const ALL: [(Self, &'static str); 10] = [
        (Self::F16, "f16"),
        (Self::Bf16, "bf16"),
        (Self::F32, "f32"),
        (Self::I8, "i8"),
        (Self::U8, "u8"),
        (Self::I16, "i16"),
        (Self::U16, "u16"),
        (Self::I32, "i32"),
        (Self::U32, "u32"),
        (Self::I64, "i64"),
    ];

    /// The name in product files.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(element, _)| *element == self).map_or("", |(_, name)| name)
    }

    /// The type of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known)| *known == name).map(|(element, _)| element)
    }

    /// The dtype of a tensor with such elements; none has U16 or U32.
    #[must_use]
    pub fn dtype(self) -> Option<Dtype> {
        Dtype::from_name(self.name())
    }
}

/// A list of names.
fn list<T>(value: &Value, one: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    value.as_array()?.iter().map(|item| one(item.as_str()?)).collect()
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> Value {
    Value::Array(names.map(|name| Value::String(name.into())).collect())
}

impl Kind for Vec<Element> {
    const EXPECTED: &'static str = "a list of f16, bf16, f32, i8, u8, i16, u16, i32, u32, i64";

    fn read(value: &Value) -> Option<Self> {
        list(value, Element::from_name)
    }

    fn value(&self) -> Value {
        names(self.iter().map(|element| element.name()))
    }
}

impl Kind for Vec<Product> {
    const EXPECTED: &'static str = "a list of product lines as --product takes them";

    fn read(value: &Value) -> Option<Self> {
        list(value, Product::from_name)
    }

    fn value(&self) -> Value {
        names(self.iter().map(|product| product.name()))
    }
}

impl Kind for Vec<String> {
    const EXPECTED: &'static str = "a list of texts";

    fn read(value: &Value) -> Option<Self> {
        list(value, |text| Some(text.into()))
    }

    fn value(&self) -> Value {
        names(self.iter().map(String::as_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_they_are_read() {
        let read = |text: &str| Bytes::read(&Value::String(text.into()));
        for (text, bytes) in [("192 KiB", 196_608), ("1 MiB", 1 << 20), ("24 GB", 24_000_000_000), ("64 GiB", 64 << 30)]
        {
            assert_eq!(read(text), Some(Bytes(bytes)), "{text}");
            assert_eq!(Bytes(bytes).to_string(), text);
            assert_eq!(Bytes::read(&Bytes(bytes).value()), Some(Bytes(bytes)), "{text}");
        }
        assert_eq!(
            (Bytes(0).to_string(), Bytes(1023).to_string(), Bytes(1025).to_string()),
            ("0".into(), "1023".into(), "1025".into())
        );
        for text in ["", "KiB", "1", "1KiB", "1 kB", "-1 KiB", "1.5 KiB", "99999999999 GiB"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn elements_are_dtypes_where_tensors_have_them() {
        for (element, name) in Element::ALL {
            assert_eq!((element.name(), Element::from_name(name)), (name, Some(element)));
            assert_eq!(element.dtype().is_none(), matches!(element, Element::U16 | Element::U32));
        }
    }
}
