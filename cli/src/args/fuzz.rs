//! Options of `fuzz` and `replay`.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::Args;
use ubtile_tiling::Operator;

use super::SaveArgs;
use super::values::of_names;

/// The hidden command that runs a shared library's kernel in a process of its own.
pub(crate) const KERNEL_WORKER: &str = "kernel-worker";

/// One of the two is needed.
pub(super) const FUZZ_USAGE: &str = "ubtile fuzz [OPTIONS] <OP>\n       ubtile fuzz [OPTIONS] --program <FILE>";

pub(super) const FUZZ_EXAMPLES: &str = "\
Examples:
  ubtile fuzz im2col-backward --time 60s --seed 1
  ubtile fuzz grid-sampler-2d-backward --kernel ./mine.so --output findings
  ubtile fuzz --program sim/examples/add.tile --time 10s
  ubtile fuzz --program sim/examples/add_double_buffer.tile --against sim/examples/add_serial.tile --output findings
  ubtile replay findings/grid-sampler-2d-backward-mismatch-1.repro.json";

/// Options of `fuzz`.
#[derive(Args, Debug)]
pub(crate) struct FuzzArgs {
    /// The operator
    #[arg(value_name = "OP", value_parser = of_names(Operator::ALL.map(Operator::name), Operator::from_name), required_unless_present = "program")]
    pub(crate) operator: Option<Operator>,
    /// A shared library with a kernel of your own, see ubtile_kernel.h
    #[arg(long, value_name = "LIBRARY")]
    pub(crate) kernel: Option<PathBuf>,
    /// Instead of an operator: a tile program, tried on values and in orders of its steps
    #[arg(long, value_name = "FILE", conflicts_with_all = ["operator", "kernel"])]
    pub(crate) program: Option<PathBuf>,
    /// Another tile program of the same tensors, which must have the same results bit by bit; a NaN is as good as another
    #[arg(long, value_name = "FILE", requires = "program", conflicts_with = "operator")]
    pub(crate) against: Option<PathBuf>,
    /// Tensors of the program that keep these values, a .npz or .safetensors file; those that it does not have are drawn
    #[arg(long = "in", value_name = "FILE", requires = "program", conflicts_with = "operator")]
    pub(crate) input: Option<PathBuf>,
    /// The SoC that runs the program: a built-in one, or a file that ends with .toml [default: Ascend910B1]
    #[arg(long, value_name = "SOC|FILE.toml", requires = "program", conflicts_with = "operator")]
    pub(crate) soc: Option<String>,
    /// How long to search, such as 90s or 10m [default: 60s, or as long as it takes with --cases]
    #[arg(long, value_name = "TIME")]
    pub(crate) time: Option<humantime::Duration>,
    /// How many cases to try, whatever the machine's speed
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) cases: Option<NonZeroU64>,
    /// What the cases are drawn from: the same seed, the same cases
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// Where the file of a failure goes
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) output: PathBuf,
}

/// Options of `replay`.
#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    /// A file that `fuzz` wrote
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Another shared library than the one that failed
    #[arg(long, value_name = "LIBRARY")]
    pub(crate) kernel: Option<PathBuf>,
    /// Another tile program than the one that failed, for instance without the mistake
    #[arg(long, value_name = "FILE", conflicts_with = "kernel")]
    pub(crate) program: Option<PathBuf>,
    /// Another SoC than the one that ran the program; of an operator, the one that --output simulates it on [default: Ascend910B1]
    #[arg(long, value_name = "SOC|FILE.toml")]
    pub(crate) soc: Option<String>,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
}

pub(super) const REPLAY_EXAMPLES: &str = "\
Examples:
  ubtile replay im2col-backward-mismatch-1.repro.json
  ubtile replay im2col-backward-mismatch-1.repro.json --kernel libmine.so
  ubtile replay im2col-backward-mismatch-1.repro.json --output out --soc Ascend310P3
  ubtile replay add-sanitizer-1.repro.json --output out --trace-format perfetto
  ubtile replay add-sanitizer-1.repro.json --program fixed.tile";
