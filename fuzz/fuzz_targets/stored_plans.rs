//! Stored plans: they come back whole; damaged ones, and any other bytes, are refused or are what a plan would be stored as.
#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use ubtile_fuzz::c_abi::{
    grid_sampler_2d_backward, im2col_backward, max_unpool2d_backward, replication_pad2d_backward, stored,
};
use ubtile_fuzz::generate::{Scale, sensible, spoil};
use ubtile_fuzz::plan;
use ubtile_testkit::Description;
use ubtile_tiling::{Operator, PlanOptions, TargetSpec};

fuzz_target!(|case: Case| match case {
    Case::Bytes(operator, bytes) => match operator {
        Operator::GridSampler2dBackward => stored::check_bytes(&grid_sampler_2d_backward::API, &bytes),
        Operator::MaxUnpool2dBackward => stored::check_bytes(&max_unpool2d_backward::API, &bytes),
        Operator::ReplicationPad2dBackward => stored::check_bytes(&replication_pad2d_backward::API, &bytes),
        Operator::Im2colBackward => stored::check_bytes(&im2col_backward::API, &bytes),
    },
    Case::Plan { description: d, target: t, options: o, damages } => match d.operator {
        Operator::GridSampler2dBackward => stored::check(&grid_sampler_2d_backward::API, &d, &t, &o, &damages),
        Operator::MaxUnpool2dBackward => stored::check(&max_unpool2d_backward::API, &d, &t, &o, &damages),
        Operator::ReplicationPad2dBackward => stored::check(&replication_pad2d_backward::API, &d, &t, &o, &damages),
        Operator::Im2colBackward => stored::check(&im2col_backward::API, &d, &t, &o, &damages),
    },
});

/// Something to load.
#[derive(Debug)]
enum Case {
    /// As it is.
    Bytes(Operator, Vec<u8>),
    /// A plan that is stored first.
    Plan { description: Description, target: TargetSpec, options: PlanOptions, damages: Vec<(u16, u8)> },
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let operator = *u.choose(&Operator::ALL)?;
        if u.ratio(1, 4)? {
            return Ok(Self::Bytes(operator, u.bytes(u.len())?.to_vec()));
        }
        let (target, options) = (plan::target(u)?, plan::options(u)?);
        let damages = (0..u.int_in_range(0..=3)?).map(|_| u.arbitrary()).collect::<Result<_>>()?;
        let mut description = sensible(u, operator, Scale::Any)?;
        if u.ratio(1, 4)? {
            spoil(u, &mut description)?;
        }
        Ok(Self::Plan { description, target, options, damages })
    }
}
