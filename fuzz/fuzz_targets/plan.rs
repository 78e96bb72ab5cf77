//! Any problem, target and options: a plan covers the outputs, fits the memory and keeps its intermediates apart.
#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::{Corpus, fuzz_target};
use ubtile_fuzz::generate::{Scale, sensible};
use ubtile_fuzz::plan::{self, im2col_backward, replication_pad2d_backward};
use ubtile_tiling::{Edition, Operator, Problem};

fuzz_target!(|data: &[u8]| -> Corpus {
    match examine(&mut Unstructured::new(data)) {
        Ok(()) => Corpus::Keep,
        Err(_) => Corpus::Reject,
    }
});

fn examine(u: &mut Unstructured<'_>) -> Result<()> {
    let operator = *u.choose(&Operator::ALL)?;
    let small = u.ratio(3, 4)?;
    let (target, options) = (plan::target(u)?, plan::options(u)?);
    let scale = if small { Scale::Small } else { Scale::Any };
    let Ok(problem) = sensible(u, operator, scale)?.check(None, Edition::Any) else { return Ok(()) };
    match &problem {
        Problem::GridSampler2dBackward(_) | Problem::MaxUnpool2dBackward(_) => (),
        Problem::ReplicationPad2dBackward(p) => replication_pad2d_backward::check(p, &target, &options, small),
        Problem::Im2colBackward(p) => im2col_backward::check(p, &target, &options, small),
    }
    Ok(())
}
