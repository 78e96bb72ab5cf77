//! Options of commands that take a tile program.

use std::path::{Path, PathBuf};

use clap::Args;
use ubtile_sim::product::Soc;
use ubtile_tiling::Product;

use super::values::{Named, Range};
use super::{InputArgs, PlaceArgs, SaveArgs};

/// A tile program and the SoC that it is for.
#[derive(Args, Debug)]
pub(crate) struct ProgramArgs {
    /// The tile program, a text file
    #[arg(long = "program", value_name = "FILE", required = true)]
    path: Option<PathBuf>,
    /// The SoC that runs it: a built-in one, or a file that ends with .toml
    #[arg(long, value_name = "SOC|FILE.toml", default_value = Soc::usual(Product::AtlasA2))]
    pub(crate) soc: String,
    /// Change a number: a constant of the program; cores; clock (MHz), bandwidth (of main memory, 1e9 bytes/s), ub and l2 (bytes)
    /// or any key that `ubtile products` lists; where it is timed also start=cold, when nothing is in L2
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<Named<String>>,
}

impl ProgramArgs {
    /// The file; there always is one where there is no operator.
    pub(crate) fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new(""))
    }
}

/// Options of commands that lower an operator's plan.
#[derive(Args, Debug)]
pub(crate) struct LoweredArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

/// Options of `sim` of an operator.
#[derive(Args, Debug)]
pub(crate) struct SimOperatorArgs {
    #[command(flatten)]
    pub(crate) lowered: LoweredArgs,
    /// Run it on the tensors of --in: where the results go, a .npz or .safetensors file. Without it, the program is timed
    #[arg(long = "out", value_name = "FILE", requires = "input", conflicts_with_all = ["folder", "trace_cores", "trace_window", "trace_format"])]
    pub(crate) output: Option<PathBuf>,
    /// Decides how latencies vary, and what reads find that `assume` something
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "output", allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// A run for each value of cores or of a number that --set changes: all of a..b, both included, or every STEP-th of a..b:STEP
    #[arg(long, value_name = "NAME=a..b[:STEP]", conflicts_with_all = ["output", "trace_cores", "trace_window", "trace_format"])]
    pub(crate) vary: Option<Named<Range>>,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
}

/// Options of `sim`.
#[derive(Args, Debug)]
pub(crate) struct SimArgs {
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    /// The tensors that the program reads, by name, a .npz or .safetensors file; not needed where it reads none
    #[arg(long = "in", value_name = "FILE", requires = "output")]
    pub(crate) input: Option<PathBuf>,
    /// Run it on tensors: where those go that it writes, a .npz or .safetensors file. Without it, the program is timed
    #[arg(long = "out", value_name = "FILE", conflicts_with_all = ["folder", "trace_cores", "trace_window", "trace_format"])]
    pub(crate) output: Option<PathBuf>,
    /// Decides how latencies vary, and what reads find that `assume` something
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "output", allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// A run for each value of such a number: all of a..b, both included, or every STEP-th of a..b:STEP
    #[arg(long, value_name = "NAME=a..b[:STEP]", conflicts_with_all = ["output", "trace_cores", "trace_window", "trace_format"])]
    pub(crate) vary: Option<Named<Range>>,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
}

/// Options of `sanitize`.
#[derive(Args, Debug)]
pub(crate) struct SanitizeArgs {
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
    /// The tensors that the program reads, by name, a .npz or .safetensors file; without it, what the program assumes
    #[arg(long = "in", value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
}

/// Options of `disasm`.
#[derive(Args, Debug)]
pub(crate) struct DisasmArgs {
    #[command(flatten)]
    pub(crate) program: ProgramArgs,
}

pub(super) const SIM_EXAMPLES: &str = "\
Examples:
  ubtile sim --program sim/examples/add.tile
  ubtile sim --program sim/examples/add.tile --soc Ascend910B4 --set clock=1650 --set start=cold --format json
  ubtile sim --program sim/examples/add.tile --vary TILE=2048..16384:2048
  ubtile sim --program sim/examples/add.tile --output out --trace-cores 0,1 --trace-window 0..20
  ubtile sim --program sim/examples/add.tile --in in.npz --out out.npz
  ubtile sim replication-pad2d-backward --shape grad_output=8,64,58,58 --padding 1,1,1,1
  ubtile sim replication-pad2d-backward --shape grad_output=8,64,58,58 --padding 1,1,1,1 --product all
  ubtile sim replication-pad2d-backward --shape grad_output=8,64,58,58 --padding 1,1,1,1 --scheme native --set clock=1650 \\
    --vary tile_rows=8..56:8
  ubtile sim max-unpool2d-backward --shape self=8,64,56,56 --output-size 112,112 --output out --trace-format perfetto
  ubtile sim im2col-backward --in in.npz --out out.npz --input-size 56,56 --kernel-size 3,3 --cores 8";

/// Options of `compare`.
#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    /// The result to compare with: JSON of `sim`, a folder of `sim --output`, or a profiler's folder OPPROF_*
    #[arg(value_name = "A")]
    pub(crate) before: PathBuf,
    /// The result to judge
    #[arg(value_name = "B")]
    pub(crate) after: PathBuf,
    /// How much longer than A, in percent, B may take
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, allow_negative_numbers = true)]
    pub(crate) threshold: f64,
    /// Also write report.json, report.txt and their page, report.html, to that folder
    #[arg(long = "output", value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

pub(super) const COMPARE_EXAMPLES: &str = "\
Examples:
  ubtile sim --program sim/examples/add_serial.tile --format json > old.json
  ubtile sim --program sim/examples/add_double_buffer.tile --format json > new.json
  ubtile compare old.json new.json
  ubtile compare before after --output diff
  ubtile compare OPPROF_20260801_ABC new.json --threshold 15 --output diff

Exit code 5 when B takes longer than A by more than the threshold.";

pub(super) const SANITIZE_EXAMPLES: &str = "\
Examples:
  ubtile sanitize --program sim/examples/add.tile
  ubtile sanitize --program sim/examples/add.tile --in in.npz --format json
  ubtile sanitize grid-sampler-2d-backward --shape input=2,3,16,16 --shape grid=2,8,8,2";

pub(super) const DISASM_EXAMPLES: &str = "\
Examples:
  ubtile disasm --program sim/examples/add.tile
  ubtile disasm --program sim/examples/add.tile --soc Ascend910A
  ubtile disasm max-unpool2d-backward --shape self=8,64,56,56 --output-size 112,112 > unpool.tile";
