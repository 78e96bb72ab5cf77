//! What the machine model charges.

use toml::Value;

use super::error::ProductError;
use super::graded::Fact;
use super::kinds::{Bytes, Rate};
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

/// Instructions of which a cost can be stated.
pub const INSTRUCTIONS_WITH_COST: [&str; 43] = [
    "add", "sub", "mul", "max", "min", "adds", "muls", "maxs", "mins", "abs", "relu", "rec", "rsqrt", "axpy",
    "muladddst", "div", "exp", "ln", "sqrt", "and", "or", "not", "shift", "compare", "compare_scalar", "select", "dup",
    "copy", "ub_to_ub", "brcb", "cast_narrow", "cast_widen", "cast_u8_f16", "cast_64", "gather", "gather_blocks",
    "gather_mask", "scatter", "reduce_repeat", "reduce_minmax_repeat", "reduce_block", "reduce_pair", "transpose",
];
