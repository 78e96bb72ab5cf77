//! What vector instructions cost.

use std::collections::BTreeMap;

use toml::Value;

use super::error::ProductError;
use super::graded::{Fact, Unknown};
use super::kinds::Bytes;
use super::reader::{Kind, Reader};

/// Cycles of a vector instruction: an overhead, and an amount for each repeat of 256 bytes by the size of the elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InstructionCost {
    /// Cycles of an instruction apart from its repeats.
    pub overhead_cycles: f64,
    /// Cycles of a repeat of 8-bit elements.
    pub cycles_8: Option<f64>,
    /// Cycles of a repeat of 16-bit elements.
    pub cycles_16: Option<f64>,
    /// Cycles of a repeat of 32-bit elements.
    pub cycles_32: Option<f64>,
    /// Cycles until the result is there, where registers make it differ from the interval.
    pub latency_cycles: Option<f64>,
}

impl Kind for InstructionCost {
    const EXPECTED: &'static str =
        "overhead_cycles with cycles_8, cycles_16, cycles_32 or latency_cycles, all numbers from 0";

    fn read(value: &Value) -> Option<Self> {
        let mut cost =
            Self { overhead_cycles: 0.0, cycles_8: None, cycles_16: None, cycles_32: None, latency_cycles: None };
        let record = value.as_table()?;
        cost.overhead_cycles = f64::read(record.get("overhead_cycles")?)?;
        for (key, value) in record {
            let number = Some(f64::read(value)?);
            match key.as_str() {
                "overhead_cycles" => {}
                "cycles_8" => cost.cycles_8 = number,
                "cycles_16" => cost.cycles_16 = number,
                "cycles_32" => cost.cycles_32 = number,
                "latency_cycles" => cost.latency_cycles = number,
                _ => return None,
            }
        }
        Some(cost)
    }

    fn value(&self) -> Value {
        let pairs = [
            ("overhead_cycles", Some(self.overhead_cycles)),
            ("cycles_8", self.cycles_8),
            ("cycles_16", self.cycles_16),
            ("cycles_32", self.cycles_32),
            ("latency_cycles", self.latency_cycles),
        ];
        let known = pairs.into_iter().filter_map(|(key, number)| Some((key.to_owned(), number?.value())));
        Value::Table(known.collect())
    }
}

/// The vector instructions of which a cost can be stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VectorOp {
    /// Sum of two vectors.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Larger element.
    Max,
    /// Smaller element.
    Min,
    /// Sum with a scalar.
    Adds,
    /// Product with a scalar.
    Muls,
    /// Larger of element and scalar.
    Maxs,
    /// Smaller of element and scalar.
    Mins,
    /// Absolute value.
    Abs,
    /// Larger of element and 0.
    Relu,
    /// Approximate reciprocal.
    Rec,
    /// Approximate reciprocal of the square root.
    Rsqrt,
    /// Product with a scalar, added to the destination.
    Axpy,
    /// Product, added to the destination.
    MulAddDst,
    /// Quotient.
    Div,
    /// Exponential.
    Exp,
    /// Natural logarithm.
    Ln,
    /// Square root.
    Sqrt,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise not.
    Not,
    /// Shift.
    Shift,
    /// Comparison of two vectors.
    Compare,
    /// Comparison with a scalar.
    CompareScalar,
    /// Choice by mask.
    Select,
    /// A scalar in every element.
    Dup,
    /// Copy with mask.
    Copy,
    /// Copy of blocks within the UB.
    UbToUb,
    /// Each element into a block.
    Brcb,
    /// Conversion to the same or a smaller size.
    CastNarrow,
    /// Conversion to 32 bits.
    CastWiden,
    /// Conversion from U8 to F16.
    CastU8F16,
    /// Conversion from or to 64 bits.
    Cast64,
    /// Elements from byte offsets.
    Gather,
    /// Blocks of 32 bytes from byte offsets.
    GatherBlocks,
    /// The elements of a mask, packed.
    GatherMask,
    /// Elements to byte offsets.
    Scatter,
    /// Sum of a repeat.
    ReduceRepeat,
    /// Largest or smallest of a repeat.
    ReduceMinmaxRepeat,
    /// Reduction of each block.
    ReduceBlock,
    /// Reduction of neighbours.
    ReducePair,
    /// Transposition of 16 by 16, or between blocks.
    Transpose,
    /// Sort of 32 elements.
    Sort32,
}

impl VectorOp {
    /// Every instruction with its name in product files.
    pub const ALL: [(Self, &'static str); 44] = [
        (Self::Add, "add"),
        (Self::Sub, "sub"),
        (Self::Mul, "mul"),
        (Self::Max, "max"),
        (Self::Min, "min"),
        (Self::Adds, "adds"),
        (Self::Muls, "muls"),
        (Self::Maxs, "maxs"),
        (Self::Mins, "mins"),
        (Self::Abs, "abs"),
        (Self::Relu, "relu"),
        (Self::Rec, "rec"),
        (Self::Rsqrt, "rsqrt"),
        (Self::Axpy, "axpy"),
        (Self::MulAddDst, "muladddst"),
        (Self::Div, "div"),
        (Self::Exp, "exp"),
        (Self::Ln, "ln"),
        (Self::Sqrt, "sqrt"),
        (Self::And, "and"),
        (Self::Or, "or"),
        (Self::Not, "not"),
        (Self::Shift, "shift"),
        (Self::Compare, "compare"),
        (Self::CompareScalar, "compare_scalar"),
        (Self::Select, "select"),
        (Self::Dup, "dup"),
        (Self::Copy, "copy"),
        (Self::UbToUb, "ub_to_ub"),
        (Self::Brcb, "brcb"),
        (Self::CastNarrow, "cast_narrow"),
        (Self::CastWiden, "cast_widen"),
        (Self::CastU8F16, "cast_u8_f16"),
        (Self::Cast64, "cast_64"),
        (Self::Gather, "gather"),
        (Self::GatherBlocks, "gather_blocks"),
        (Self::GatherMask, "gather_mask"),
        (Self::Scatter, "scatter"),
        (Self::ReduceRepeat, "reduce_repeat"),
        (Self::ReduceMinmaxRepeat, "reduce_minmax_repeat"),
        (Self::ReduceBlock, "reduce_block"),
        (Self::ReducePair, "reduce_pair"),
        (Self::Transpose, "transpose"),
        (Self::Sort32, "sort32"),
    ];
}

/// Costs of the vector pipe, in cycles of the core.
#[derive(Clone, Debug)]
pub struct Vector {
    /// Bytes that a repeat takes.
    pub repeat_bytes: Fact<Bytes>,
    /// Most repeats of an instruction.
    pub max_repeats: Fact<u32>,
    /// Extra cycles in counter mode.
    pub counter_mode_cycles: Fact<f64>,
    /// Cycles of the scalar unit to issue an instruction.
    pub issue_cycles: Fact<f64>,
    /// Extra cycles when the instruction before wrote an operand.
    pub dependent_cycles: Fact<f64>,
    /// Extra cycles of a barrier in the vector pipe.
    pub barrier_cycles: Fact<f64>,
    costs: BTreeMap<VectorOp, Fact<InstructionCost>>,
}

impl Vector {
    /// What an instruction costs.
    ///
    /// # Errors
    /// [`Unknown`] where nobody knows, also because the product has no such instruction.
    pub fn cost(&self, op: VectorOp) -> Result<InstructionCost, Unknown> {
        let unknown = || Unknown { key: format!("vector.{op:?}").into() };
        self.costs.get(&op).ok_or_else(unknown)?.get().copied()
    }

    /// The same with its evidence.
    #[must_use]
    pub fn fact(&self, op: VectorOp) -> Option<&Fact<InstructionCost>> {
        self.costs.get(&op)
    }

    pub(super) fn read(reader: &mut Reader) -> Result<Self, ProductError> {
        let mut table = reader.table("vector");
        let vector = Self {
            repeat_bytes: table.fact("repeat_bytes")?,
            max_repeats: table.fact("max_repeats")?,
            counter_mode_cycles: table.fact("counter_mode_cycles")?,
            issue_cycles: table.fact("issue_cycles")?,
            dependent_cycles: table.fact("dependent_cycles")?,
            barrier_cycles: table.fact("barrier_cycles")?,
            costs: VectorOp::ALL.into_iter().map(|(op, key)| Ok((op, table.fact(key)?))).collect::<Result<_, _>>()?,
        };
        table.finish(vector)
    }
}
