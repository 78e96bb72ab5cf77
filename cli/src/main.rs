//! The command `ubtile`. `unsafe` is denied except in `tensors/safetensors.rs`, which maps files into memory, and
//! `fuzzing/library.rs`, which calls other people's kernels.

mod args;
mod commands;
mod compute;
mod error;
mod files;
mod fuzzing;
mod invocation;
mod lowered;
mod op_summary;
mod output;
mod place;
mod planning;
mod problem;
mod program;
mod progress;
mod results;
mod settings;
mod soc;
mod stopwatch;
mod tensors;
mod threads;

use std::io::{Write, stderr};
use std::process::ExitCode;

use clap::FromArgMatches;

use args::{Cli, Command};
use error::Error;

fn main() -> ExitCode {
    let parsed = args::command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let result = match parsed {
        Ok(cli) => run(cli),
        // Help and the version, where they were asked for, are printed as any result is.
        Err(text) if !text.use_stderr() => output::written(text.print()),
        Err(error) => error.exit(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to do when stderr is closed.
            let _ = writeln!(stderr(), "error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// Does what the command line says.
fn run(cli: Cli) -> Result<(), Error> {
    match cli.command {
        None => commands::tour::run(cli.output.as_deref(), cli.format),
        Some(_) if cli.output.is_some() => Err(Error::Usage("--output DIR stands behind the command".into())),
        Some(Command::Ops) => commands::ops::run(cli.format),
        Some(Command::Products { socs, files }) => commands::products::run(&[socs, files].concat(), cli.format),
        Some(Command::Run { operator }) => {
            let (attributes, args) = operator.split();
            commands::run::run(&attributes, &args, cli.format)
        }
        Some(Command::Plan { operator: Some(operator), .. }) => {
            let (attributes, args) = operator.split();
            commands::plan::run(&attributes, &args, cli.format)
        }
        Some(Command::Sim { operator: Some(operator), .. }) => {
            let (attributes, args) = operator.split();
            commands::sim::run_operator(&attributes, &args, cli.format)
        }
        Some(Command::Sim { operator: None, program }) => commands::sim::run(&program, cli.format),
        Some(Command::Compare(args)) => commands::compare::run(&args, cli.format),
        Some(Command::Sanitize { operator: Some(operator), .. }) => {
            let (attributes, args) = operator.split();
            commands::sanitize::run_operator(&attributes, &args, cli.format)
        }
        Some(Command::Sanitize { operator: None, program }) => commands::sanitize::run(&program, cli.format),
        Some(Command::Disasm { operator: Some(operator), .. }) => {
            let (attributes, args) = operator.split();
            commands::disasm::run_operator(&attributes, &args, cli.format)
        }
        Some(Command::Disasm { operator: None, program }) => commands::disasm::run(&program, cli.format),
        Some(Command::Plan { operator: None, calls }) => commands::plan::run_calls(&calls, cli.format),
        Some(Command::Fuzz(args)) => commands::fuzz::run(&args, cli.format),
        Some(Command::Replay(args)) => commands::replay::run(&args, cli.format),
        Some(Command::Schema { name }) => commands::schema::run(name.as_deref(), cli.format),
        Some(Command::Manual { folder }) => commands::manual::run(&folder),
        Some(Command::Completions { shell }) => commands::manual::completions(shell, cli.format),
        Some(Command::KernelWorker { library }) => fuzzing::serve(&library),
    }
}
