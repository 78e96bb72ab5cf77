//! `ubtile` alone: all four operators on this machine, timed and checked against the naive reference.

use std::time::Instant;

use serde::Serialize;
use ubtile_kernels::Level;
use ubtile_testkit::problems::{self, GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_testkit::reference::{self, Expected};
use ubtile_testkit::{Coordinates, Data, Fill, IndexFill, Rng, compare};
use ubtile_tiling::{Operator, PlanOptions, Problem, TargetSpec, Tensor, TensorSlot};

use crate::commands::plan::count_tiles;
use crate::compute::compute;
use crate::error::Error;
use crate::output::{self, Format, Report, sizes};
use crate::progress::Progress;
use crate::threads::Threads;

/// Calls of which the fastest counts.
const CALLS: usize = 5;

#[derive(Serialize)]
struct Tour {
    level: &'static str,
    threads: usize,
    operators: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    operator: &'static str,
    problem: String,
    /// The fastest of five calls.
    time_ms: f64,
    /// Of the inputs and outputs, each counted once.
    bytes: usize,
    gb_per_s: f64,
    workspace_bytes: usize,
    tiles: Option<usize>,
    agrees: bool,
    agreement: String,
}

/// A problem with its inputs and what must come out.
struct Case {
    problem: Problem,
    inputs: Vec<(Tensor, Data)>,
    expected: Vec<(Tensor, Expected)>,
}

/// Computes, checks, prints.
pub(crate) fn run(format: Format) -> Result<(), Error> {
    let (level, threads) = (Level::detect(), Threads::available());
    let mut operators = Vec::new();
    for operator in Operator::ALL {
        let _progress = Progress::new(format!("checking {operator}"));
        operators.push(row(&case(operator)?, level, threads)?);
    }
    let wrong: Vec<_> = operators.iter().filter(|row| !row.agrees).map(|row| row.operator).collect();
    let wrong = (!wrong.is_empty()).then(|| wrong.join(", "));
    output::print(format, &Tour { level: level.name(), threads: threads.0.get(), operators })?;
    match wrong {
        Some(wrong) => Err(Error::Check(format!("{wrong}: the result disagrees with the reference"))),
        None => Ok(()),
    }
}

fn row(case: &Case, level: Level, threads: Threads) -> Result<Row, Error> {
    let Case { problem, inputs, expected } = case;
    let plan = ubtile_tiling::plan(problem, &TargetSpec::host(threads.0.get()), &PlanOptions::default())
        .map_err(|e| Error::Unusable(e.to_string()))?;
    let slots: Vec<_> = problem.tensors().collect();
    let mut results: Vec<(TensorSlot, Data)> =
        slots.iter().filter(|slot| slot.output).map(|slot| (*slot, problems::output(Some(*slot)))).collect();
    let workspace_bytes = plan.workspace_bytes();
    let mut workspace = vec![0; workspace_bytes];

    let inputs: Vec<_> = slots
        .iter()
        .filter_map(|slot| Some((*slot, inputs.iter().find(|(tensor, _)| *tensor == slot.tensor)?.1.bytes())))
        .collect();
    let mut outputs: Vec<_> = results.iter_mut().map(|(slot, data)| (*slot, data.bytes_mut())).collect();
    let mut time_ms = f64::INFINITY;
    for _ in 0..CALLS {
        let start = Instant::now();
        compute(&plan, level, &threads, &inputs, &mut outputs, &mut workspace)?;
        time_ms = time_ms.min(start.elapsed().as_secs_f64() * 1e3);
    }
    let bytes = slots.iter().map(|slot| slot.span.saturating_mul(slot.dtype.size())).sum();

    let (mut agrees, mut agreement) = (true, Vec::new());
    for (tensor, expected) in expected {
        let Some((_, result)) = results.iter().find(|(slot, _)| slot.tensor == *tensor) else { continue };
        let verdict = match compare(result, expected) {
            Ok(report) if report.relative + report.small == 0 => format!("{tensor} equal in bits"),
            Ok(report) => {
                let error = report.worst.map_or(0.0, |worst| worst.error);
                format!("{tensor} max error {error:.1e}")
            }
            Err(mismatch) => {
                agrees = false;
                format!("{tensor} DISAGREES: {mismatch}")
            }
        };
        agreement.push(verdict);
    }
    Ok(Row {
        operator: problem.operator().name(),
        problem: describe(problem),
        time_ms,
        bytes,
        gb_per_s: bytes as f64 / time_ms / 1e6,
        workspace_bytes,
        tiles: count_tiles(&plan),
        agrees,
        agreement: agreement.join(", "),
    })
}

/// An embedded problem: random, but always the same.
fn case(operator: Operator) -> Result<Case, Error> {
    let rng = &mut Rng::new(1);
    Ok(match operator {
        Operator::GridSampler2dBackward => {
            let problem = GridSampler { n: 2, c: 32, hi: 96, wi: 96, ho: 64, wo: 64, ..Default::default() }.problem();
            let inputs = problems::grid_sampler_inputs(&problem, Fill::Uniform, Coordinates::Smooth, rng);
            let expected = reference::grid_sampler_2d_backward::run(&problem, &inputs);
            let expected = [(Tensor::InputGrad, expected.input_grad), (Tensor::GridGrad, expected.grid_grad)];
            Case {
                problem: Problem::GridSampler2dBackward(problem),
                inputs: vec![
                    (Tensor::GradOutput, inputs.grad_output),
                    (Tensor::Input, inputs.input),
                    (Tensor::Grid, inputs.grid),
                ],
                expected: expected.into_iter().filter_map(|(tensor, want)| Some((tensor, want?))).collect(),
            }
        }
        Operator::MaxUnpool2dBackward => {
            let problem =
                MaxUnpool { n: 4, c: 32, h: 56, w: 56, out_h: 112, out_w: 112, ..Default::default() }.problem();
            let inputs = problems::max_unpool_inputs(&problem, Fill::Uniform, IndexFill::Permutation, rng);
            let expected = reference::max_unpool2d_backward::run(&problem, &inputs)
                .map_err(|bad| Error::Check(format!("the embedded indices are wrong: {bad:?}")))?;
            Case {
                problem: Problem::MaxUnpool2dBackward(problem),
                inputs: vec![(Tensor::GradOutput, inputs.grad_output), (Tensor::Indices, inputs.indices)],
                expected: vec![(Tensor::Out, expected)],
            }
        }
        Operator::ReplicationPad2dBackward => {
            let problem =
                ReplicationPad { n: 4, c: 32, h: 56, w: 56, padding: [2, 2, 2, 2], ..Default::default() }.problem();
            let grad_output = problems::replication_pad_inputs(&problem, Fill::Uniform, rng);
            let expected = reference::replication_pad2d_backward::run(&problem, &grad_output);
            Case {
                problem: Problem::ReplicationPad2dBackward(problem),
                inputs: vec![(Tensor::GradOutput, grad_output)],
                expected: vec![(Tensor::GradInput, expected)],
            }
        }
        Operator::Im2colBackward => {
            let shape = Im2col { n: 2, c: 32, h: 56, w: 56, kernel: [3, 3], padding: [1, 1], ..Default::default() };
            let problem = shape.problem();
            let grad_output = problems::im2col_inputs(&problem, Fill::Uniform, rng);
            let expected = reference::im2col_backward::run(&problem, &grad_output);
            Case {
                problem: Problem::Im2colBackward(problem),
                inputs: vec![(Tensor::GradOutput, grad_output)],
                expected: vec![(Tensor::Out, expected)],
            }
        }
    })
}

/// Dtype and shapes: `f32 grad_output 2x32x64x64 -> out 2x3x4x5`.
fn describe(problem: &Problem) -> String {
    let slots: Vec<_> = problem.tensors().collect();
    let list = |output: bool| {
        let of = slots.iter().filter(|slot| slot.output == output);
        of.map(|slot| format!("{} {}", slot.tensor, sizes(slot.shape.as_slice()))).collect::<Vec<_>>().join(", ")
    };
    format!("{} -> {}", list(false), list(true))
}

impl Report for Tour {
    const SCHEMA: &'static str = "ubtile.tour.v1";

    fn text(&self) -> String {
        let rows = self.operators.iter().map(|row| {
            vec![
                row.operator.to_owned(),
                format!("{:.3}", row.time_ms),
                format!("{:.1}", row.bytes as f64 / 1e6),
                format!("{:.1}", row.gb_per_s),
                row.workspace_bytes.to_string(),
                row.tiles.map_or("-".into(), |n| n.to_string()),
                row.agreement.clone(),
            ]
        });
        let header = ["operator", "ms", "MB", "GB/s", "workspace", "tiles", "against the reference"];
        let mut text =
            format!("The four operators in f32 on this machine: level {}, threads {}.\n\n", self.level, self.threads);
        text += &output::table(header, rows);
        text += "\nms is the fastest of 5 calls, MB the inputs and outputs once (they fit a cache), errors are relative. The problems:\n\n";
        for row in &self.operators {
            text += &format!("- {}: {}\n", row.operator, row.problem);
        }
        text += "\nNext: ubtile ops, ubtile plan OP --help, ubtile run OP --help.\n";
        text
    }
}
