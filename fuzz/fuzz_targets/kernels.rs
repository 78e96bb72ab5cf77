//! Any small problem and data, any level, threads, tile and workspace: the bits of the plain run, and what the reference says.
#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use ubtile_fuzz::generate::{Scale, sensible};
use ubtile_fuzz::run::{
    Setup, grid_sampler_2d_backward, im2col_backward, max_unpool2d_backward, replication_pad2d_backward,
};
use ubtile_testkit::{Coordinates, Description, IndexFill};
use ubtile_tiling::{Edition, Operator, Problem};

fuzz_target!(|case: Case| {
    let Case { description, setup, coordinates, indices } = case;
    let Ok(problem) = description.check(None, Edition::Any) else { return };
    match &problem {
        Problem::GridSampler2dBackward(p) => grid_sampler_2d_backward::check(p, &setup, coordinates),
        Problem::MaxUnpool2dBackward(p) => max_unpool2d_backward::check(p, &setup, indices),
        Problem::ReplicationPad2dBackward(p) => replication_pad2d_backward::check(p, &setup),
        Problem::Im2colBackward(p) => im2col_backward::check(p, &setup),
    }
});

/// Something to compute.
#[derive(Debug)]
struct Case {
    description: Description,
    setup: Setup,
    /// Of a grid.
    coordinates: Coordinates,
    /// Of an unpooling.
    indices: IndexFill,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let operator = *u.choose(&Operator::ALL)?;
        let setup = Setup::new(u)?;
        let coordinates = *u.choose(&Coordinates::ALL)?;
        let indices = *u.choose(&[IndexFill::Permutation, IndexFill::Duplicates, IndexFill::OutOfRange])?;
        Ok(Self { description: sensible(u, operator, Scale::Small)?, setup, coordinates, indices })
    }
}
