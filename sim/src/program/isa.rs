//! Which instructions and which values of their fields a product has.

use crate::product::{Bytes, Element, Rounding, Soc, Unknown};

use super::instruction::{Granularity, Instruction, Load, Store};
use super::operation::{BinaryOp, ReduceOp, ScalarOp, UnaryOp, VectorOp, is_float, size_of};
use super::scalar::Relation;
use super::vector::{BLOCK, REPEAT};

/// The values that a field of an instruction can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The field in the text form.
    pub name: &'static str,
    /// The smallest value.
    pub min: i64,
    /// The largest value.
    pub max: i64,
    /// What values are multiples of.
    pub multiple: i64,
}

impl Field {
    const fn new(name: &'static str, min: i64, max: i64, multiple: i64) -> Self {
        Self { name, min, max, multiple }
    }

    /// Whether the field can take the value.
    #[inline]
    #[must_use]
    pub const fn allows(&self, value: i64) -> bool {
        value >= self.min && value <= self.max && (self.multiple == 1 || value % self.multiple == 0)
    }
}

const BLOCKS: i64 = BLOCK as i64;
/// Elements in counter mode: a 32-bit register.
pub(super) const COUNT: Field = Field::new("count", 0, u32::MAX as i64, 1);
/// Blocks of a copy: a 12-bit field (DataCopyPad and DataCopy of the vendor's API reference).
pub(super) const BURST_BLOCKS: Field = Field::new("blocks", 0, 4095, 1);
/// Repeat stride of lanes, in blocks: an 8-bit field.
pub(super) const REPEAT_STRIDE: Field = Field::new("repeat stride", 0, 255, 1);

/// Length of a block of a copy. DataCopy counts blocks in 16 bits, DataCopyPad bytes in 21.
pub(super) const fn burst_bytes(granularity: Granularity) -> Field {
    match granularity {
        Granularity::Blocks => Field::new("bytes", BLOCKS, 65535 * BLOCKS, BLOCKS),
        Granularity::Bytes => Field::new("bytes", 1, 2_097_151, 1),
    }
}

/// Gap of a copy in the UB: 16 bits that count blocks.
pub(super) const fn local_gap(name: &'static str) -> Field {
    Field::new(name, 0, 65535 * BLOCKS, BLOCKS)
}

/// Gap of a copy in global memory: as in the UB, or 32 bits that count bytes.
pub(super) const fn global_gap(name: &'static str, granularity: Granularity) -> Field {
    match granularity {
        Granularity::Blocks => local_gap(name),
        Granularity::Bytes => Field::new(name, 0, u32::MAX as i64, 1),
    }
}

/// Padding of a block, in bytes of whole elements.
pub(super) const fn padding(name: &'static str, element: Element) -> Field {
    Field::new(name, 0, BLOCKS, size_of(element) as i64)
}

/// Lanes of a mask.
pub(super) fn mask_lanes(op: VectorOp) -> Field {
    Field::new("lanes", 1, op.lanes().into(), 1)
}

/// Numbers of a product that instructions depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most repeats of a vector instruction.
    pub max_repeats: u32,
    /// Flags from one pipe to another.
    pub event_ids: u32,
    /// What addresses of copies in global memory are multiples of.
    pub copy_granule: u32,
    /// Bytes of UB that there are.
    pub ub_bytes: u32,
    /// Cores that run vector programs.
    pub cores: u32,
    /// Instructions that wait in front of a pipe before the scalar unit has to.
    pub queue_depth: u32,
}

impl Limits {
    /// Those of a SoC.
    ///
    /// # Errors
    /// One is unknown.
    pub fn of(soc: &Soc) -> Result<Self, Unknown> {
        let Bytes(ub) = *soc.ub.physical_bytes.get()?;
        Ok(Self {
            max_repeats: *soc.vector.max_repeats.get()?,
            event_ids: soc.sync.event_ids.get()?.get(),
            copy_granule: soc.capabilities.copy_granule_bytes.get()?.get(),
            ub_bytes: u32::try_from(ub).unwrap_or(u32::MAX),
            cores: soc.cores.vector_units.get()?.get(),
            queue_depth: soc.sync.queue_depth.get()?.get(),
        })
    }

    pub(super) fn repeats(&self) -> Field {
        Field::new("repeat", 0, self.max_repeats.into(), 1)
    }

    pub(super) fn flag(&self) -> Field {
        Field::new("flag", 0, i64::from(self.event_ids) - 1, 1)
    }
}

/// Something that a program asks for and the product does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It has it for these types only.
    Elements(Vec<Element>),
    /// It has it with these roundings only.
    Roundings(Vec<Rounding>),
    /// It does not have it at all.
    Instruction,
    /// Nobody knows.
    Unknown(Unknown),
    /// This model does not have it.
    Model(&'static str),
}

impl From<Unknown> for Missing {
    fn from(unknown: Unknown) -> Self {
        Self::Unknown(unknown)
    }
}

fn among(elements: &[Element], element: Element) -> Result<(), Missing> {
    match elements {
        [] => Err(Missing::Instruction),
        _ if elements.contains(&element) => Ok(()),
        _ => Err(Missing::Elements(elements.into())),
    }
}

fn flag(has: bool) -> Result<(), Missing> {
    if has { Ok(()) } else { Err(Missing::Instruction) }
}

/// Whether the product has a vector instruction.
pub(super) fn vector(soc: &Soc, op: VectorOp) -> Result<(), Missing> {
    let instruction = |name, element| among(soc.instructions.elements(name)?, element);
    modelled(op)?;
    match op {
        VectorOp::Binary(op, element) => instruction(key(&BinaryOp::ALL, op), element),
        VectorOp::Unary(op, element) => instruction(key(&UnaryOp::ALL, op), element),
        VectorOp::WithScalar(op, element) => instruction(key(&ScalarOp::ALL, op), element),
        VectorOp::Duplicate(element) => {
            use Element::{Bf16, F16, F32, I16, I32, U16, U32};
            // Not in the product files; the API reference lists these for every product, and bf16 where it converts.
            let mut elements = vec![F16, F32, I16, U16, I32, U32];
            if !soc.conversions.modes(Bf16, F32)?.is_empty() {
                elements.push(Bf16);
            }
            among(&elements, element)
        }
        VectorOp::Index(element) => instruction("vci", element),
        VectorOp::Cast { to, from, rounding } => match soc.conversions.modes(from, to)? {
            [] => Err(Missing::Instruction),
            modes if modes.contains(&rounding) => Ok(()),
            modes => Err(Missing::Roundings(modes.into())),
        },
        VectorOp::Compare(Relation::Eq, element) => instruction("vcmpv_eq", element),
        VectorOp::Compare(_, element) => instruction("vcmpv", element),
        VectorOp::CompareScalar(Relation::Eq, element) => instruction("vcmpvs_eq", element),
        VectorOp::CompareScalar(_, element) => instruction("vcmpvs", element),
        VectorOp::Select(element) | VectorOp::SelectScalar(element) => instruction("vsel", element),
        VectorOp::Reduce(op, element) => {
            instruction(ReduceOp::ALL.iter().find(|(o, ..)| *o == op).map_or("", |(_, _, key, _)| key), element)
        }
        VectorOp::ReduceBlock(op, element) => {
            instruction(ReduceOp::ALL.iter().find(|(o, ..)| *o == op).map_or("", |(_, _, _, key)| key), element)
        }
        VectorOp::ReducePair(element) => instruction("vcpadd", element),
        VectorOp::GatherMask(element, _) | VectorOp::GatherBits(element) => instruction("vreducev2", element),
        VectorOp::Broadcast(element) => instruction("vbrcb", element),
        VectorOp::Gather(element) => {
            flag(*soc.capabilities.gather.get()?)?;
            instruction("vgather", element)
        }
        VectorOp::GatherBlocks(element) => {
            flag(*soc.capabilities.gather_blocks.get()?)?;
            instruction("vgatherb", element)
        }
        VectorOp::Scatter(element) => {
            flag(*soc.capabilities.scatter.get()?)?;
            instruction("vscatter", element)
        }
    }
}

/// Product files can list types for which this model has no arithmetic.
fn modelled(op: VectorOp) -> Result<(), Missing> {
    let (element, cast) = (op.element(), matches!(op, VectorOp::Cast { .. }));
    match (size_of(element), op) {
        (1, _) => Err(Missing::Model("arithmetic on 8-bit lanes is not modelled")),
        (8, _) if !cast => Err(Missing::Model("64-bit lanes are only cast")),
        (_, VectorOp::Binary(BinaryOp::And | BinaryOp::Or, _))
        | (_, VectorOp::Unary(UnaryOp::Not, _))
        | (_, VectorOp::WithScalar(ScalarOp::Shl | ScalarOp::Shr, _))
            if is_float(element) =>
        {
            Err(Missing::Model("bits of floating-point lanes are not modelled"))
        }
        (_, VectorOp::Reduce(..) | VectorOp::ReduceBlock(..) | VectorOp::ReducePair(_))
        | (_, VectorOp::Unary(UnaryOp::Rec | UnaryOp::Rsqrt | UnaryOp::Sqrt | UnaryOp::Exp | UnaryOp::Ln, _))
            if !is_float(element) =>
        {
            Err(Missing::Model("it is modelled of floating-point lanes"))
        }
        _ => Ok(()),
    }
}

fn key<T: Copy + PartialEq>(all: &[(T, &str, &'static str)], op: T) -> &'static str {
    all.iter().find(|(known, ..)| *known == op).map_or("", |(_, _, key)| key)
}

/// Whether a copy, vector instruction or transposition is none of the product's.
pub(crate) fn lacks(soc: &Soc, instruction: &Instruction) -> bool {
    match instruction {
        Instruction::Load(Load { granularity, .. }) | Instruction::Store(Store { granularity, .. }) => {
            copy(soc, *granularity).is_err()
        }
        Instruction::Vector(of) => vector(soc, of.op).is_err(),
        Instruction::Transpose(of) => lacks_transpose(soc, of.element),
        _ => false,
    }
}

/// Whether the product's vector unit lacks an operation.
pub(crate) fn lacks_vector(soc: &Soc, op: VectorOp) -> bool {
    vector(soc, op).is_err()
}

/// Whether the product lacks transpositions of such elements.
pub(crate) fn lacks_transpose(soc: &Soc, element: Element) -> bool {
    transpose(soc, element).is_err()
}

/// Whether the product transposes such elements.
pub(super) fn transpose(soc: &Soc, element: Element) -> Result<(), Missing> {
    among(soc.instructions.elements("vnchwconv")?, element)
}

/// Whether the product copies single bytes.
pub(super) fn copy(soc: &Soc, granularity: Granularity) -> Result<(), Missing> {
    match granularity {
        Granularity::Blocks => Ok(()),
        Granularity::Bytes => flag(*soc.capabilities.data_copy_pad.get()?),
    }
}

/// Whether the product pads with such elements.
pub(super) fn pad(soc: &Soc, element: Element) -> Result<(), Missing> {
    among(soc.instructions.elements("data_move_pad")?, element)
}

/// Whether the product adds such elements in global memory.
pub(super) fn atomic_add(soc: &Soc, element: Element) -> Result<(), Missing> {
    among(soc.capabilities.atomic_add.get()?, element)
}

/// Whether the product has a barrier of all cores.
pub(super) fn sync_all(soc: &Soc, hard: bool) -> Result<(), Missing> {
    flag(*if hard { soc.sync.sync_all_hard.get()? } else { soc.sync.sync_all_soft.get()? })
}

// Repeats of the model are those of every product; a product file that says otherwise is refused.
pub(super) fn geometry(soc: &Soc) -> Result<(), Missing> {
    let (Bytes(block), Bytes(repeat)) = (*soc.ub.block_bytes.get()?, *soc.vector.repeat_bytes.get()?);
    if block == u64::from(BLOCK) && repeat == u64::from(REPEAT) {
        Ok(())
    } else {
        Err(Missing::Model("blocks are of 32 bytes and repeats of 256"))
    }
}
