//! Any tile program on any product: nothing panics; what the sanitizer finds clean computes the same in any order; times keep their
//! bounds; the text is the program. Programs that are right by construction are found clean.
#![no_main]

use std::sync::LazyLock;

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use ubtile_fuzz::programs::{round_trip, time, values};
use ubtile_sim::clock::{ClockError, Start};
use ubtile_sim::exec::Run;
use ubtile_sim::generate::{Choices, Programs, Values, delays, inputs};
use ubtile_sim::product::Soc;
use ubtile_sim::program::Program;
use ubtile_sim::sanitize::sanitize;
use ubtile_sim::text;

/// One of each family, and what makes programs for it.
static PRODUCTS: LazyLock<Vec<(Soc, Programs)>> = LazyLock::new(|| {
    let made = |name| {
        let soc = Soc::builtin(name).expect("a product of this model");
        let programs = Programs::new(&soc).expect("a product of which enough is known");
        (soc, programs)
    };
    ["Ascend910B1", "Ascend310P3", "Ascend910A", "Ascend310B1", "Ascend910_95"].map(made).into()
});

fuzz_target!(|case: Case| {
    let (soc, programs) = &PRODUCTS[case.product % PRODUCTS.len()];
    let mut choices = Choices::of_bytes(&case.bytes);
    let source = if case.legal { programs.legal(&mut choices) } else { programs.any(&mut choices) };
    let printed = text::print(&source);
    let (read, _) = text::parse_source(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    assert_eq!(read, source, "{printed}");
    match Program::new(source, soc) {
        Ok(program) => check(&program, soc, &case),
        Err(error) => assert!(!case.legal && !error.to_string().is_empty(), "{error}\n{printed}"),
    }
});

/// A program, its data, and the orders that it runs in.
#[derive(Debug)]
struct Case {
    product: usize,
    legal: bool,
    values: Values,
    start: Start,
    seed: u64,
    bytes: Vec<u8>,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self {
            product: usize::from(u.arbitrary::<u8>()?),
            legal: u.arbitrary()?,
            values: *u.choose(&Values::ALL)?,
            start: u.choose(&Start::ALL)?.0,
            seed: u64::from(u.arbitrary::<u16>()?),
            bytes: u.bytes(u.len())?.to_vec(),
        })
    }
}

fn check(program: &Program, soc: &Soc, case: &Case) {
    round_trip(program, soc);
    let mut choices = Choices::of_seed(case.seed);
    let Some(global) = inputs(program, case.values, &mut choices) else {
        assert!(!case.legal, "more memory than there is");
        return;
    };
    let bare = sanitize(program, None);
    let found = sanitize(program, Some(global.clone()));
    let clean = found.as_ref().is_ok_and(Vec::is_empty);
    assert!(!case.legal || clean && bare.as_ref().is_ok_and(Vec::is_empty), "{bare:?} {found:?}");
    let plain = Run::new(program, global.clone()).finish_with(&[]);
    // Cores that add to the same place do so in any order, which only whole numbers do not notice.
    if clean && (case.legal || case.values == Values::Whole) {
        let steps = plain.unwrap_or_else(|halt| panic!("clean, but {}", halt.describe(program)));
        let expected = values(program, global.clone(), 0).expect("it has run before");
        for seed in [1 + case.seed, !case.seed] {
            let got = values(program, global.clone(), seed);
            assert_eq!(got.expect("the same steps"), expected, "in another order the values are others");
        }
        let mut delayed = Run::new(program, global);
        let order = delays(&steps, &mut choices);
        let taken = delayed.finish_with(&order).unwrap_or_else(|halt| panic!("{}", halt.describe(program)));
        assert_eq!(taken.taken, steps.taken, "with delays there are other steps");
    } else if let Ok(steps) = plain {
        let _ = Run::new(program, global).finish_with(&delays(&steps, &mut choices));
    }
    match time(program, soc, case.seed % 9, case.start) {
        Ok(_) | Err(ClockError::Unknown(_)) => {}
        Err(error) => assert!(!case.legal && !error.describe(program).is_empty(), "{}", error.describe(program)),
    }
}
