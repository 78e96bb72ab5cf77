//! Which element types the vector instructions take.

use std::collections::BTreeMap;

use toml::Value;

use super::error::ProductError;
use super::graded::{Fact, Unknown};
use super::kinds::Element;
use super::reader::{Kind, Reader};

/// The vendor's names of the instructions of which product files list the element types.
#[rustfmt::skip]
pub const INSTRUCTIONS: [&str; 67] = [
    "vadd", "vsub", "vmul", "vdiv", "vmax", "vmin", "vadds", "vmuls", "vmaxs", "vmins", "vabs", "vrelu", "vlrelu",
    "vrec", "vrsqrt", "vsqrt", "vexp", "vln", "vaxpy", "vaxpy_to_f32", "vmla", "vmla_to_f32", "vmadd", "vmaddrelu",
    "vaddrelu", "vsubrelu", "vand", "vor", "vnot", "vshl", "vshr", "vcmp", "vcmpv", "vcmpv_eq", "vcmpvs",
    "vcmpvs_eq", "vsel", "vcadd", "vcmax", "vcmin", "vcgadd", "vcgmax", "vcgmin", "vcpadd", "vgather", "vgatherb",
    "vscatter", "vreduce", "vreducev2", "vbrcb", "vcopy", "vci", "vtranspose", "vnchwconv", "vbi", "vbitsort",
    "vbitsort32", "vmrgsort4", "vmrgsort4v2", "data_move_pad", "vectorized_vadd", "vectorized_vmul",
    "vectorized_vdiv", "vectorized_vexp", "vectorized_vgather2", "vectorized_vgatherb", "vectorized_vscatter",
];

/// Element types of each instruction.
#[derive(Clone, Debug)]
pub struct Instructions(BTreeMap<&'static str, Fact<Vec<Element>>>);

impl Instructions {
    /// Element types of an instruction of [`INSTRUCTIONS`]; empty when the product does not have it.
    ///
    /// # Errors
    /// [`Unknown`] where nobody knows, or for another name.
    pub fn elements(&self, instruction: &str) -> Result<&[Element], Unknown> {
        let unknown = || Unknown { key: format!("instructions.{instruction}").into() };
        Ok(self.0.get(instruction).ok_or_else(unknown)?.get()?)
    }

    pub(super) fn read(reader: &mut Reader) -> Result<Self, ProductError> {
        let mut table = reader.table("instructions");
        let facts = INSTRUCTIONS.into_iter().map(|key| Ok((key, table.fact(key)?)));
        let instructions = Self(facts.collect::<Result<_, _>>()?);
        table.finish(instructions)
    }
}

/// How a conversion rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rounding {
    /// The conversion without a named mode: exact, or by the mode register.
    Plain,
    /// To nearest, ties to even.
    Even,
    /// Down.
    Floor,
    /// Up.
    Ceil,
    /// To nearest, ties away from zero.
    Away,
    /// Towards zero.
    Zero,
    /// To odd.
    Odd,
}

impl Rounding {
    /// Every mode with its letter in product files.
    pub const ALL: [(Self, char); 7] = [
        (Self::Plain, '-'),
        (Self::Even, 'r'),
        (Self::Floor, 'f'),
        (Self::Ceil, 'c'),
        (Self::Away, 'a'),
        (Self::Zero, 'z'),
        (Self::Odd, 'o'),
    ];
}

/// Targets of a source type with their rounding modes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Targets(BTreeMap<Element, Vec<Rounding>>);

impl Kind for Targets {
    const EXPECTED: &'static str = "a table of types, each with rounding modes of the letters - r f c a z o";

    fn read(value: &Value) -> Option<Self> {
        let mode = |letter| Some(Rounding::ALL.into_iter().find(|(_, known)| *known == letter)?.0);
        let target = |(name, modes): (&String, &Value)| {
            Some((Element::from_name(name)?, modes.as_str()?.chars().map(mode).collect::<Option<_>>()?))
        };
        value.as_table()?.iter().map(target).collect::<Option<_>>().map(Self)
    }

    fn value(&self) -> Value {
        let letter =
            |mode: &Rounding| Rounding::ALL.into_iter().find(|(known, _)| known == mode).map(|(_, letter)| letter);
        let target = |(element, modes): (&Element, &Vec<Rounding>)| {
            (element.name().to_owned(), Value::String(modes.iter().filter_map(letter).collect()))
        };
        Value::Table(self.0.iter().map(target).collect())
    }
}

/// What can be converted to what.
#[derive(Clone, Debug)]
pub struct Conversions(BTreeMap<Element, Fact<Targets>>);

impl Conversions {
    /// Rounding modes of a conversion; none when the product does not have it.
    ///
    /// # Errors
    /// [`Unknown`] where nobody knows.
    pub fn modes(&self, from: Element, to: Element) -> Result<&[Rounding], Unknown> {
        match self.0.get(&from) {
            Some(targets) => Ok(targets.get()?.0.get(&to).map_or(&[], Vec::as_slice)),
            None => Ok(&[]),
        }
    }

    pub(super) fn read(reader: &mut Reader) -> Result<Self, ProductError> {
        use Element::{Bf16, F16, F32, I8, I16, I32, I64, U8};
        let mut table = reader.table("conversions");
        let sources = [F16, Bf16, F32, I8, U8, I16, I32, I64].into_iter();
        let conversions = Self(sources.map(|from| Ok((from, table.fact(from.name())?))).collect::<Result<_, _>>()?);
        table.finish(conversions)
    }
}
