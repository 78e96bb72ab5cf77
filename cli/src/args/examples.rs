//! Examples in the help of operators, which every command that takes them has.

use clap::{Command, CommandFactory};
use ubtile_tiling::Operator;

use super::Cli;
use super::help::adapted;

/// The command line, as people are told about it.
pub(crate) fn command() -> Command {
    Operator::ALL.into_iter().fold(adapted(Cli::command()), |command, operator| {
        let names: Vec<String> = command
            .get_subcommands()
            .filter(|command| command.find_subcommand(operator.name()).is_some())
            .map(|command| command.get_name().to_owned())
            .collect();
        names.into_iter().fold(command, |command, name| {
            let example = format!("Example:\n  {}", example(&name, operator));
            command.mut_subcommand(name, |command| {
                command.mut_subcommand(operator.name(), |command| command.after_help(example))
            })
        })
    })
}

fn example(command: &str, operator: Operator) -> String {
    let (shape, attributes) = match operator {
        Operator::GridSampler2dBackward => {
            ("--shape input=2,3,16,16 --shape grid=2,8,8,2", " --padding-mode border --align-corners true")
        }
        Operator::MaxUnpool2dBackward => ("--shape self=8,64,56,56", " --output-size 112,112"),
        Operator::ReplicationPad2dBackward => ("--shape grad_output=8,64,58,58", " --padding 1,1,1,1"),
        Operator::Im2colBackward => {
            ("--shape grad_output=8,576,3136", " --input-size 56,56 --kernel-size 3,3 --padding 1,1")
        }
    };
    // What is computed needs data.
    let inputs = if command == "run" { "--in in.npz --out out.npz" } else { shape };
    format!("ubtile {command} {operator} {inputs}{attributes}")
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches};

    use super::*;

    /// All examples of a command and of those below it.
    fn examples(command: &Command, into: &mut Vec<String>) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default().replace("\\\n", "");
        let lines = help.lines().map(str::trim).filter(|line| line.starts_with("ubtile"));
        into.extend(lines.map(|line| line.split(" >").next().unwrap_or_default().to_owned()));
        if !command.is_hide_set() {
            assert!(help.contains("Example"), "{} has no example", command.get_name());
        }
        command.get_subcommands().for_each(|command| examples(command, into));
    }

    #[test]
    fn examples_are_command_lines() {
        let mut all = Vec::new();
        examples(&command(), &mut all);
        assert!(all.len() > 40);
        for example in all {
            let matches = command().try_get_matches_from(example.split_whitespace());
            let parsed = matches.and_then(|matches| Cli::from_arg_matches(&matches));
            assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
        }
    }
}
