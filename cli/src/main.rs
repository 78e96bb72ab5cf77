//! The command `ubtile`.
#![deny(unsafe_code)]

mod args;
mod commands;
mod compute;
mod error;
mod output;
mod planning;
mod problem;
mod progress;
mod tensors;
mod threads;

use std::io::{Write, stderr};
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        None => commands::tour::run(cli.format),
        Some(Command::Ops) => commands::ops::run(cli.format),
        Some(Command::Run { operator }) => {
            let (attributes, args) = operator.split();
            commands::run::run(&attributes, &args, cli.format)
        }
        Some(Command::Plan { operator }) => {
            let (attributes, args) = operator.split();
            commands::plan::run(&attributes, &args, cli.format)
        }
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
