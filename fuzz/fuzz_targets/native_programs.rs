//! Any small problem on any product: its program is clean and leaves the kernels' bits, in whatever order its pipes get on.
#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use ubtile_fuzz::generate::{Scale, sensible};
use ubtile_fuzz::native::{Place, check, contiguous};
use ubtile_fuzz::run::Setup;
use ubtile_testkit::{Coordinates, Description, IndexFill, Kinds};
use ubtile_tiling::Operator;

fuzz_target!(|case: Case| check(&case.description, &case.place, case.kinds, &case.setup));

/// Something to lower.
#[derive(Debug)]
struct Case {
    description: Description,
    place: Place,
    kinds: Kinds,
    setup: Setup,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let operator = *u.choose(&Operator::ALL)?;
        let (place, setup) = (Place::new(u)?, Setup::new(u)?);
        let coordinates = *u.choose(&Coordinates::ALL)?;
        let indices = *u.choose(&[IndexFill::Permutation, IndexFill::Duplicates])?;
        let kinds = Kinds { values: setup.fill, coordinates, indices };
        Ok(Self { description: contiguous(sensible(u, operator, Scale::Small)?), place, kinds, setup })
    }
}
