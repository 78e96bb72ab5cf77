//! The command line.

mod attributes;
mod examples;
mod fuzz;
mod help;
mod place;
mod program;
mod save;
mod values;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use ubtile_kernels::Level;
use ubtile_tiling::{Edition, Product};

pub(crate) use attributes::{Attributes, GridSampler, Im2col, MaxUnpool, OnOperator, ReplicationPad};
pub(crate) use examples::command;
use fuzz::{FUZZ_EXAMPLES, FUZZ_USAGE, REPLAY_EXAMPLES};
pub(crate) use fuzz::{FuzzArgs, KERNEL_WORKER, ReplayArgs};
pub(crate) use place::{PlaceArgs, Products, Scheme};
pub(crate) use program::{CompareArgs, DisasmArgs, LoweredArgs, ProgramArgs, SanitizeArgs, SimArgs, SimOperatorArgs};
pub(crate) use save::SaveArgs;
pub(crate) use values::{DtypeOf, List, Named, Range};
use values::{levels, of_names};

use crate::commands::schema;
use crate::output::Format;

/// Compute and plan four Ascend backward operators without an Ascend.
///
/// Without a command: a tour that computes all four on this machine, checks them against a naive reference, and simulates them on
/// every product.
#[derive(Debug, Parser)]
#[command(name = "ubtile", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// How results are printed on stdout
    #[arg(long, global = true, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Without a command: also write report.json and its page, report.html, to that folder
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  ubtile
  ubtile ops
  ubtile run replication-pad2d-backward --in in.npz --out out.npz --padding 1,1,1,1
  ubtile plan max-unpool2d-backward --shape self=8,64,56,56 --output-size 112,112
  ubtile sim --program sim/examples/add.tile

Exit codes: 0 fine, 2 usage, 3 an input, a tiling or a file is not usable, 4 a check failed, 5 slower than before.";

/// A command.
#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one, and it is read once")]
pub(crate) enum Command {
    /// Show which dtypes of which operator each product takes, and where the editions disagree
    #[command(after_help = OPS_EXAMPLES)]
    Ops,
    /// Show what the products are and how well each number is founded: all in short, one in full, or several side by side
    #[command(after_help = PRODUCTS_EXAMPLES)]
    Products {
        /// Built-in SoCs, or files that end with .toml
        #[arg(value_name = "SOC")]
        socs: Vec<String>,
        /// The same, as other commands take it
        #[arg(long = "soc", value_name = "SOC|FILE.toml")]
        files: Vec<String>,
    },
    /// Compute an operator on this machine
    #[command(after_help = RUN_EXAMPLES)]
    Run {
        #[command(subcommand)]
        operator: OnOperator<RunArgs>,
    },
    /// Show an operator's tiling and workspace, and why they are what they are
    #[command(after_help = PLAN_EXAMPLES, args_conflicts_with_subcommands = true, arg_required_else_help = true)]
    Plan {
        #[command(subcommand)]
        operator: Option<OnOperator<PlanArgs>>,
        #[command(flatten)]
        calls: CallsArgs,
    },
    /// Run an operator or a tile program on a model of an AI Core: how long it takes, or what it computes
    #[command(after_help = program::SIM_EXAMPLES, args_conflicts_with_subcommands = true, arg_required_else_help = true)]
    Sim {
        #[command(subcommand)]
        operator: Option<OnOperator<SimOperatorArgs>>,
        #[command(flatten)]
        program: SimArgs,
    },
    /// Compare two results of `sim`, or one with a profile of a device; fail when the second takes longer
    #[command(after_help = program::COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Look for what is wrong with a tile program: bounds, alignment, capacity, undefined bytes, races, flags, deadlock
    #[command(after_help = program::SANITIZE_EXAMPLES, args_conflicts_with_subcommands = true, arg_required_else_help = true)]
    Sanitize {
        #[command(subcommand)]
        operator: Option<OnOperator<LoweredArgs>>,
        #[command(flatten)]
        program: SanitizeArgs,
    },
    /// Print the tile program of an operator; or check one of a file and print it in full: constants replaced, addresses stated
    #[command(after_help = program::DISASM_EXAMPLES, args_conflicts_with_subcommands = true, arg_required_else_help = true)]
    Disasm {
        #[command(subcommand)]
        operator: Option<OnOperator<LoweredArgs>>,
        #[command(flatten)]
        program: DisasmArgs,
    },
    /// Search for a case that a kernel gets wrong: random problems, data, plans and orders of work, held against the reference
    #[command(after_help = FUZZ_EXAMPLES, override_usage = FUZZ_USAGE)]
    Fuzz(FuzzArgs),
    /// Run a failure again that `fuzz` found
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay(ReplayArgs),
    /// Print the JSON Schema of what a command prints or saves as JSON; without a name, which there are
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema {
        /// The document
        #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(schema::names()))]
        name: Option<String>,
    },
    /// Write the manual to a folder: a man page for each command
    #[command(after_help = MANUAL_EXAMPLES)]
    Manual {
        /// The folder, made if it is not there
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Print what a shell needs to complete command lines
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
    /// Run the kernel of a shared library on cases that come in on stdin
    #[command(name = KERNEL_WORKER, hide = true)]
    KernelWorker {
        /// The shared library
        library: PathBuf,
    },
}

const OPS_EXAMPLES: &str = "\
Examples:
  ubtile ops
  ubtile ops --format json";

const SCHEMA_EXAMPLES: &str = "\
Examples:
  ubtile schema
  ubtile schema sim > sim.schema.json";

const MANUAL_EXAMPLES: &str = "\
Example:
  ubtile manual /usr/local/share/man/man1";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  ubtile completions bash > /etc/bash_completion.d/ubtile
  ubtile completions fish > ubtile.fish";

const PRODUCTS_EXAMPLES: &str = "\
Examples:
  ubtile products
  ubtile products Ascend910B1
  ubtile products Ascend910B1 Ascend310P3 --soc mine.toml

A file needs no more than what differs, such as:
  inherits = \"Ascend910B4\"
  [clock]
  core_mhz = { value = 1650, grade = \"cited\", source = \"npu-smi\" }";

const RUN_EXAMPLES: &str = "\
Examples:
  ubtile run grid-sampler-2d-backward --in in.npz --out out.npz --padding-mode border
  ubtile run max-unpool2d-backward --in in.safetensors --out out.safetensors --threads 1
  ubtile run replication-pad2d-backward --in in.npz --padding 1,1,1,1 --time 20";

const PLAN_EXAMPLES: &str = "\
Examples:
  ubtile plan replication-pad2d-backward --shape grad_output=8,64,58,58 --padding 1,1,1,1
  ubtile plan max-unpool2d-backward --in in.npz --target cortex-m4 --workspace-limit 0
  ubtile plan im2col-backward --shape grad_output=8,576,3136 --dtype f16 \\
    --input-size 56,56 --kernel-size 3,3 --padding 1,1 --product atlas-a2
  ubtile plan grid-sampler-2d-backward --shape input=2,3,16,16 --shape grid=2,8,8,2 \\
    --soc Ascend910B1
  ubtile plan grid-sampler-2d-backward --shape input=2,3,16,16 --shape grid=2,8,8,2 \\
    --product all
  ubtile plan --calls op_summary.csv --soc Ascend910B4";

/// Options of `run`.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// The inputs by name, a .npz or .safetensors file
    #[arg(long = "in", value_name = "FILE")]
    pub(crate) input: PathBuf,
    /// Where the results go, a .npz or .safetensors file
    #[arg(long = "out", value_name = "FILE", required_unless_present = "time")]
    pub(crate) output: Option<PathBuf>,
    /// Threads [default: as many as this machine offers]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Instruction set, of those that this machine has
    #[arg(long, default_value = "auto", value_parser = levels())]
    pub(crate) level: Level,
    /// Time N calls of the kernel alone after a tenth of a second of untimed ones
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) time: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) contract: ContractArgs,
    #[command(flatten)]
    pub(crate) planning: PlanningArgs,
}

/// What is known of a problem's inputs.
#[derive(Args, Debug)]
pub(crate) struct InputArgs {
    /// Dtypes and shapes of the inputs by name, a .npz or .safetensors file
    #[arg(long = "in", value_name = "FILE", conflicts_with_all = ["shape", "dtype"])]
    pub(crate) input: Option<PathBuf>,
    /// Shape of an input; what follows from the rest may be left out
    #[arg(long, value_name = "NAME=DIMS", required_unless_present = "input")]
    pub(crate) shape: Vec<Named<List<usize>>>,
    /// Dtype of all inputs, or of one as indices=i32 [default: f32, indices i64]
    #[arg(long, value_name = "[NAME=]DTYPE")]
    pub(crate) dtype: Vec<DtypeOf>,
}

/// Options of `plan`.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Also write plan.json, plan.txt, a page (report.html) and charts of the workspace to that folder
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

/// Options of `plan` for a list of calls.
#[derive(Args, Debug)]
pub(crate) struct CallsArgs {
    /// Plan every call of the four operators in a profiler's list (op_summary_*.csv: Op Name, OP Type, Input Shapes, Input Data
    /// Types, optionally Output Shapes and Attributes)
    #[arg(long, value_name = "FILE.csv", required = true)]
    pub(crate) calls: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Also write plan.json and plan.txt to that folder
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

/// Whose rules apply.
#[derive(Args, Debug)]
pub(crate) struct ContractArgs {
    /// Apply the rules of that product instead of the host's
    #[arg(long, value_parser = of_names(Product::ALL.map(Product::name), Product::from_name))]
    pub(crate) product: Option<Product>,
    /// Edition of the vendor's documents; `any` takes what one of them takes
    #[arg(long, default_value = "any", value_parser = of_names(Edition::ALL.map(Edition::name), Edition::from_name))]
    pub(crate) edition: Edition,
}

/// What a plan is for.
#[derive(Args, Debug)]
pub(crate) struct PlanningArgs {
    /// The machine that the tiling is for
    #[arg(long, value_name = "NAME", default_value = HOST, value_parser = PossibleValuesParser::new(place::targets()))]
    pub(crate) target: String,
    /// Cores that the tiling may use [default: the target's]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) cores: Option<NonZeroUsize>,
    /// The most workspace that the tiling may ask for
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true)]
    pub(crate) workspace_limit: Option<usize>,
    /// Change a number of the target: local_bytes, the memory that a tile fits
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<Named<String>>,
}

/// The name of the machine that the command runs on.
pub(crate) const HOST: &str = "host";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }
}
