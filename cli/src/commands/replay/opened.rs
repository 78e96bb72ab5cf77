//! The page and the trace of a failure of an operator: its problem as `ubtile sim` simulates it.

use clap::Parser;
use ubtile_sim::report::Failure;
use ubtile_tiling::Tensor;

use crate::args::{Cli, Command, SaveArgs};
use crate::commands::sim;
use crate::error::Error;
use crate::fuzzing::{Case, attributes};

/// The command that simulates the problem of a case, also where the product does not take it. Tensors without gaps take the place
/// of others.
pub(super) fn command(case: &Case, soc: Option<&str>) -> Vec<String> {
    let description = &case.description;
    let mut words = vec!["ubtile".to_owned(), "sim".into(), description.operator.name().into()];
    for (tensor, desc) in &description.tensors {
        if !matches!(tensor, Tensor::InputGrad | Tensor::GridGrad | Tensor::GradInput | Tensor::Out) {
            let sizes: Vec<_> = desc.shape.as_slice().iter().map(usize::to_string).collect();
            for (option, value) in [("--shape", sizes.join(",")), ("--dtype", desc.dtype.to_string())] {
                words.extend([option.to_owned(), format!("{}={value}", tensor.name())]);
            }
        }
    }
    for (name, values) in attributes(description) {
        let names: &[&str] = match name.as_str() {
            "interpolation" => &["bilinear", "nearest", "bicubic"],
            "padding-mode" => &["zeros", "border", "reflection"],
            "align-corners" | "output-mask" => &["false", "true"],
            _ => &[],
        };
        let word = |value: &i64| {
            let named = usize::try_from(*value).ok().and_then(|value| names.get(value));
            named.map_or_else(|| value.to_string(), |name| (*name).to_owned())
        };
        words.extend([format!("--{name}"), values.iter().map(word).collect::<Vec<_>>().join(",")]);
    }
    let dtype = |wanted: Tensor| {
        let found = description.tensors.iter().find(|(tensor, _)| *tensor == wanted);
        found.map(|(_, desc)| desc.dtype)
    };
    if let Some(out) = dtype(Tensor::Out).filter(|out| dtype(Tensor::GradOutput) != Some(*out)) {
        words.extend(["--out-dtype".to_owned(), out.to_string()]);
    }
    words.extend(soc.into_iter().flat_map(|soc| ["--soc".to_owned(), soc.to_owned()]));
    // What the host takes, not every product does.
    words.push("--unsupported".into());
    words
}

/// Writes what the command would have written with `--output`, and the failure.
pub(super) fn save(words: &[String], save: &SaveArgs, failure: Failure) -> Result<(), Error> {
    let unknown = |problem: String| Error::Unusable(format!("this case cannot be simulated: {problem}"));
    let cli = Cli::try_parse_from(words).map_err(|e| unknown(e.to_string()))?;
    let Some(Command::Sim { operator: Some(operator), .. }) = cli.command else {
        return Err(unknown("it is no problem of an operator".into()));
    };
    let (attributes, mut args) = operator.split();
    args.save = save.clone();
    sim::save_operator(&attributes, &args, failure)
}

#[cfg(test)]
mod tests {
    use ubtile_tiling::{Edition, Operator};

    use super::*;
    use crate::args::ContractArgs;
    use crate::fuzzing::Generator;
    use crate::problem::{Known, problem};

    /// The command says the problem of the case, whatever it is.
    #[test]
    fn a_command_says_the_same_problem() {
        for operator in Operator::ALL {
            let mut generator = Generator::new(operator, 3, true);
            for _ in 0..200 {
                let case = generator.next().unwrap().case().unwrap();
                let words = command(&case, Some("Ascend310P3"));
                let cli = Cli::try_parse_from(&words).unwrap_or_else(|e| panic!("{words:?}: {e}"));
                let Some(Command::Sim { operator: Some(on), .. }) = cli.command else { panic!("{words:?}") };
                let (attributes, args) = on.split();
                assert_eq!(args.lowered.place.soc.as_deref(), Some("Ascend310P3"));
                let known = Known::new(operator, &args.lowered.inputs).unwrap();
                let contract = ContractArgs { product: None, edition: Edition::Any };
                let described = problem(&attributes, &known, &contract).unwrap_or_else(|e| panic!("{words:?}: {e}"));
                let tensors = |problem: &ubtile_tiling::Problem| {
                    problem.tensors().map(|slot| (slot.tensor, slot.dtype, slot.shape, slot.output)).collect::<Vec<_>>()
                };
                assert_eq!(tensors(&described.problem), tensors(&case.problem), "{words:?}");
            }
        }
    }
}
