//! Sessions with the C library for CANN's clients: steps in any order, right and wrong ones, on one thread or several. Each has
//! the status that is documented for it; right calls give the kernels' bits.
#![no_main]

use std::thread;

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use ubtile_fuzz::aclnn::session::Session;
use ubtile_fuzz::aclnn::step::Step;

fuzz_target!(|case: Case| {
    let mut session = Session::alone();
    if case.prepared {
        [Step::Init, Step::SetDevice(0), Step::CreateStream].iter().for_each(|step| session.perform(step));
    }
    for step in &case.steps {
        session.perform(step);
    }
    if !case.threads.is_empty() {
        session.end();
        session = Session::alone();
        session.perform(&Step::Init);
        thread::scope(|scope| {
            for steps in &case.threads {
                scope.spawn(|| {
                    let mut session = Session::thread();
                    steps.iter().for_each(|step| session.perform(step));
                    session.end();
                });
            }
        });
    }
    session.end();
});

/// What the clients do.
#[derive(Debug)]
struct Case {
    /// Whether the library is started first, as it should be.
    prepared: bool,
    steps: Vec<Step>,
    /// Of further clients, each on a thread, when the first one is done.
    threads: Vec<Vec<Step>>,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let steps = |u: &mut Unstructured<'a>| (0..u.int_in_range(1..=12)?).map(|_| u.arbitrary()).collect();
        let threads = if u.ratio(1, 4)? { 2 } else { 0 };
        Ok(Self {
            prepared: u.ratio(7, 8)?,
            steps: steps(u)?,
            threads: (0..threads).map(|_| steps(u)).collect::<Result<_>>()?,
        })
    }
}
