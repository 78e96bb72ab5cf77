//! The C library, called as C calls it: any description, small data in buffers that end where they end, one mistake now and then.
//! The statuses are those of the contract, the bits those of Rust.
#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use ubtile_fuzz::c_abi::buffers::{self, Call};
use ubtile_fuzz::c_abi::{
    self, Api, grid_sampler_2d_backward, im2col_backward, max_unpool2d_backward, replication_pad2d_backward,
};
use ubtile_fuzz::generate::{Scale, sensible, spoil};
use ubtile_fuzz::run::{self, Setup};
use ubtile_testkit::{Coordinates, Description, IndexFill, Inputs, Kinds, Rng};
use ubtile_tiling::Operator;

fuzz_target!(|case: Case| match case.description.operator {
    Operator::GridSampler2dBackward => check(&grid_sampler_2d_backward::API, &case),
    Operator::MaxUnpool2dBackward => check(&max_unpool2d_backward::API, &case),
    Operator::ReplicationPad2dBackward => check(&replication_pad2d_backward::API, &case),
    Operator::Im2colBackward => check(&im2col_backward::API, &case),
});

/// Something to call.
#[derive(Debug)]
struct Case {
    description: Description,
    setup: Setup,
    kinds: Kinds,
    call: Call,
    small: bool,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let operator = *u.choose(&Operator::ALL)?;
        let (setup, call) = (Setup::new(u)?, Call::new(u)?);
        let coordinates = *u.choose(&Coordinates::ALL)?;
        let indices = *u.choose(&[IndexFill::Permutation, IndexFill::Duplicates, IndexFill::OutOfRange])?;
        let small = u.ratio(7, 8)?;
        let mut description = sensible(u, operator, if small { Scale::Small } else { Scale::Any })?;
        if !small {
            spoil(u, &mut description)?;
        }
        let kinds = Kinds { values: setup.fill, coordinates, indices };
        Ok(Self { description, setup, kinds, call, small })
    }
}

fn check<D: Copy, T: Copy + std::fmt::Debug, B>(api: &Api<D, T, B>, case: &Case) {
    let Some(desc) = (api.desc)(&case.description) else { return };
    let ((target, spec), options) = (c_abi::target(&case.setup.target), c_abi::options(&case.setup.options));
    let (tiling, plan) =
        match (api.planned(&desc, &target, &options), c_abi::expected(&case.description, &spec, &options)) {
            (Ok((tiling, workspace_bytes)), Ok(plan)) => {
                api.is_plan(&tiling, workspace_bytes, &plan);
                (tiling, plan)
            }
            (got, want) => return assert_eq!(got.err(), want.err()),
        };
    if !case.small {
        return;
    }
    let inputs = Inputs::random(&plan.problem(), case.kinds, &mut Rng::new(case.setup.seed));
    let wanted = run::plainly(&plan.problem(), &case.setup, &inputs);
    buffers::check(api, &tiling, &plan, &inputs, &wanted, &case.call);
}
