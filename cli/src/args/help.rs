//! Help texts of options that mean something else in one command than in those that they are shared with.

use clap::Command;
use ubtile_sim::product::Soc;
use ubtile_tiling::{Operator, Product};

/// What is done to an operator's program, by command.
const PROGRAMS: [(&str, &str); 3] = [("sim", "Simulate"), ("sanitize", "Check"), ("disasm", "Print")];

/// The command line with the help that each command needs.
pub(super) fn adapted(command: Command) -> Command {
    let command = PROGRAMS.into_iter().fold(command, |command, (name, verb)| {
        command.mut_subcommand(name, |command| {
            Operator::ALL.into_iter().fold(command, |command, operator| {
                command.mut_subcommand(operator.name(), |command| of_a_program(command, name, verb))
            })
        })
    });
    command.mut_subcommand("replay", |command| {
        let folder = "A folder, made if it is not there, for what `ubtile sim --output` writes of the program, or of the operator's problem, \
                      with the failure on top: report.html, report.json, report.txt, pipes.svg and OPPROF_*";
        command.mut_arg("folder", |arg| arg.help(folder))
    })
}

/// An operator's options where its plan becomes a program for the cores of a SoC.
fn of_a_program(command: Command, name: &str, verb: &str) -> Command {
    let soc = format!(
        "The SoC that runs it: a built-in one, or a file that ends with .toml [default: {}]",
        Soc::usual(Product::AtlasA2)
    );
    let scheme = "Whose tiling and program [default: the vendor's where there is a program of the AI Core kernel that its library would \
                  call, else native]";
    let input = match name {
        "sim" => {
            "The inputs by name, a .npz or .safetensors file: their dtypes and shapes, and with --out their values"
        }
        "sanitize" => "The inputs by name, a .npz or .safetensors file: their dtypes, shapes and values",
        _ => "The inputs by name, a .npz or .safetensors file: their dtypes and shapes",
    };
    // It is refused.
    let command = command.mut_arg("target", |arg| arg.hide(true));
    let product = "The product line: its rules, and its usual SoC unless --soc says another one";
    let product = if name == "sim" { format!("{product}; `all` compares them") } else { product.to_owned() };
    command
        .mut_arg("product", |arg| arg.help(product))
        .mut_arg("soc", |arg| arg.help(soc))
        .mut_arg("scheme", |arg| arg.help(scheme))
        .mut_arg("input", |arg| arg.help(input))
        .mut_arg("unsupported", |arg| arg.help(format!("{verb} it as well where the product does not take it")))
}

#[cfg(test)]
mod tests {
    use super::super::command;

    fn help(path: &[&str]) -> String {
        let mut command = command();
        command.build();
        let of = path.iter().fold(&mut command, |command, name| command.find_subcommand_mut(name).unwrap());
        of.render_long_help().to_string().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// What a command refuses is not in its help, and defaults are its own.
    #[test]
    fn help_is_of_the_command() {
        let sim = help(&["sim", "im2col-backward"]);
        assert!(sim.contains("[default: Ascend910B1]") && !sim.contains("--target"), "{sim}");
        assert!(sim.contains("Simulate it as well") && sim.contains("with --out their values"), "{sim}");
        let plan = help(&["plan", "im2col-backward"]);
        assert!(plan.contains("--target") && !plan.contains("Ascend910B1]"), "{plan}");
        assert!(!help(&["disasm", "im2col-backward"]).contains("all` compares"));
        let replay = help(&["replay"]);
        assert!(
            !replay.contains("--product") && !replay.contains("--vary") && replay.contains("pipes.svg"),
            "{replay}"
        );
        for command in ["sim", "compare"] {
            assert!(help(&[command]).contains("report.html"), "{command}");
        }
    }
}
