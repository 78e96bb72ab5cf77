//! Tile programs: their text, what they compute, and in which order.

mod examples;
mod order;
mod random;
mod text;
mod values;
mod vectors;

use ubtile_sim::exec::{Global, Halt, Run};
use ubtile_sim::product::Soc;
use ubtile_sim::program::{Program, TensorId};
use ubtile_sim::text::parse;

fn program(text: &str, soc: &str) -> Program {
    parse(text, &Soc::builtin(soc).unwrap()).unwrap_or_else(|e| panic!("{e}\n{text}")).0
}

/// Runs a program on tensor 0 with these bytes; returns tensor 1.
fn run_on(text: &str, soc: &str, input: &[u8]) -> Vec<u8> {
    let program = program(text, soc);
    let mut global = Global::new(&program).unwrap();
    global.tensor_mut(TensorId(0)).copy_from_slice(input);
    let mut run = Run::new(&program, global);
    run.finish().unwrap_or_else(|halt| panic!("{}\n{text}", halt.describe(&program)));
    run.global().tensor(TensorId(1)).to_vec()
}

fn run(text: &str, input: &[u8]) -> Vec<u8> {
    run_on(text, "Ascend910B1", input)
}

fn halt(text: &str) -> (Program, Halt) {
    let program = program(text, "Ascend910B1");
    let halt = Run::new(&program, Global::new(&program).unwrap()).finish().unwrap_err();
    (program, halt)
}

/// Between loads and what computes with them.
const LOADED: &str = "set_flag mte2 v 0\nwait_flag mte2 v 0\n";
/// Between what computes and stores.
const COMPUTED: &str = "set_flag v mte3 0\nwait_flag v mte3 0\n";
