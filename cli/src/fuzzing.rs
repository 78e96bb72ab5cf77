//! Finding out where a kernel is wrong: cases at random, a verdict on each, the smallest case that fails, and a file of it.

mod bits;
mod case;
mod cases;
mod document;
mod library;
mod own;
mod repro;
mod shrink;
mod tile;
mod worker;

use std::fmt;
use std::panic::{set_hook, take_hook};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ubtile_testkit::problems::POISON;
use ubtile_testkit::reference::{Cell, Expected};
use ubtile_testkit::{Data, canonical_nan, compare, component};
use ubtile_tiling::{Dtype, Tensor};

pub(crate) use case::{Case, Way};
pub(crate) use cases::Generator;
pub(crate) use document::attributes;
pub(crate) use library::serve;
pub(crate) use repro::{AnyRepro, Found, Repro};
pub(crate) use shrink::smallest;
pub(crate) use tile::{Pair, Tested, TileCase, TileRepro, smallest_tile};
pub(crate) use worker::Worker;

/// Whose kernels are tried.
#[derive(Debug)]
pub(crate) enum Subject {
    /// This project's.
    Own,
    /// Those of a shared library, in a process of their own.
    Library(Worker),
}

/// What became of a case.
#[derive(Debug)]
pub(crate) enum Verdict {
    Fine,
    /// The kernel does not compute such problems.
    Skipped,
    Wrong(Finding),
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Finding {
    pub(crate) kind: Kind,
    pub(crate) message: String,
}

/// How a kernel can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// The process ended.
    Crash,
    /// It did not come back.
    Hang,
    /// It panicked.
    Panic,
    /// It reports a failure, or not the one it should.
    Error,
    /// It wrote to what is not its output.
    Outside,
    /// The result is not what the reference expects.
    Mismatch,
    /// The result depends on how it is run.
    Bits,
    /// A tile program has something that the sanitizer finds.
    Sanitizer,
    /// It cannot be carried out.
    Halt,
    /// Its result depends on the order of steps that nothing orders.
    Order,
    /// Its result is not that of the program that it is compared with.
    Differ,
}

impl Subject {
    /// Tries a case.
    pub(crate) fn attempt(&mut self, case: &Case) -> Verdict {
        match self {
            Self::Own => own::attempt(case),
            Self::Library(worker) => worker.attempt(case),
        }
    }
}

impl Finding {
    fn new(kind: Kind, message: impl fmt::Display) -> Self {
        Self { kind, message: message.to_string() }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Crash => "crash",
            Self::Hang => "hang",
            Self::Panic => "panic",
            Self::Error => "error",
            Self::Outside => "outside",
            Self::Mismatch => "mismatch",
            Self::Bits => "bits",
            Self::Sanitizer => "sanitizer",
            Self::Halt => "halt",
            Self::Order => "order",
            Self::Differ => "differ",
        })
    }
}

/// Does something whose panics are findings, not to be shown.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> T {
    let hook = take_hook();
    set_hook(Box::new(|_| ()));
    let result = work();
    set_hook(hook);
    result
}

/// Holds results against the reference; outputs were full of [`POISON`] before.
fn judge(outputs: &[(Tensor, Data)], expected: &[(Tensor, Expected)]) -> Option<Finding> {
    for (tensor, got) in outputs {
        if !got.gaps_hold(POISON) {
            return Some(Finding::new(Kind::Outside, format_args!("{tensor} is written to between its elements")));
        }
        let Some((_, want)) = expected.iter().find(|(name, _)| name == tensor) else { continue };
        if let Err(mismatch) = compare(got, want) {
            return Some(Finding::new(Kind::Mismatch, format_args!("{tensor}: {mismatch}")));
        }
    }
    None
}

/// Gives every NaN that arithmetic made the bits that this project's kernels give it: which ones a processor makes is not an
/// error of somebody else's kernel.
fn with_canonical_nans(data: &mut Data, expected: &Expected) {
    let dtype = component(data.dtype()).0;
    if !matches!(dtype, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64) {
        return;
    }
    let nan = canonical_nan(dtype);
    for (offset, cell) in data.offsets().zip(&expected.cells) {
        let made = matches!(*cell, Cell::Sum(_)) || *cell == Cell::Bits(nan);
        if made && data.number(offset).is_nan() {
            data.set_bits(offset, nan);
        }
    }
}
