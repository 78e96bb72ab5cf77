//! What holds of every tile program.

use ubtile_sim::clock::{ClockError, Options, Start, Timing, simulate};
use ubtile_sim::exec::{Global, Halt, Run};
use ubtile_sim::product::Soc;
use ubtile_sim::program::{Pipe, Program};
use ubtile_sim::text;
use ubtile_testkit::Rng;

/// What a program leaves in the tensors that are its results, when its pipes get on at random as far as flags allow; in program order
/// for the seed 0.
///
/// # Errors
/// An instruction that cannot be carried out, or a deadlock.
pub fn values(program: &Program, global: Global, seed: u64) -> Result<Vec<Vec<u8>>, Halt> {
    let mut run = Run::new(program, global);
    let mut rng = Rng::new(seed);
    // Random steps, then the rest: a program that cannot go on ends here, too.
    for _ in 0..if seed == 0 { 0 } else { 4000 } {
        // The further a pipe gets at once, the more of what others still need it overwrites.
        let (core, burst) = (rng.below(program.source().cores as usize) as u32, 1 + rng.below(60));
        let (pipe, _) = rng.pick(&Pipe::ALL);
        for _ in 0..burst {
            if !run.ready(core, pipe) {
                break;
            }
            run.advance(core, pipe)?;
        }
        if run.ended() {
            break;
        }
    }
    run.finish()?;
    Ok(run.global().results(program).map(|(_, bytes)| bytes.to_vec()).collect())
}

/// The time of a program: nothing is faster than its parts, the same again takes as long, and leaving out what repeats changes nothing.
///
/// # Errors
/// The program cannot go on.
///
/// # Panics
/// If something of that does not hold.
pub fn time(program: &Program, soc: &Soc, seed: u64, start: Start) -> Result<Timing, ClockError> {
    let options = Options { seed, start, ..Options::default() };
    let timing = simulate(program, soc, &options);
    let walked = simulate(program, soc, &Options { walk_all: true, ..options });
    let t = match (timing, walked) {
        (Ok(timing), Ok(walked)) => {
            assert_eq!(Timing { skipped_ratio: 0.0, ..timing.clone() }, walked, "with and without leaving out");
            timing
        }
        (Err(error), walked) => {
            assert_eq!(walked.as_ref(), Err(&error), "without leaving anything out");
            return Err(error);
        }
        (Ok(_), Err(error)) => panic!("only without leaving anything out: {}", error.describe(program)),
    };
    for (name, pipe) in [("v", t.pipes.vector), ("s", t.pipes.scalar), ("mte2", t.pipes.mte2), ("mte3", t.pipes.mte3)] {
        let busy = pipe.busy_cycles <= t.cycles as f64 + 1e-6 && (0.0..=1.0 + 1e-9).contains(&pipe.ratio);
        assert!(busy, "{name} is busy for longer than the program takes: {pipe:?} of {}", t.cycles);
    }
    // Bytes over bandwidth.
    assert!(t.hbm.ratio <= 1.0001 && t.l2.ratio <= 1.0001, "faster than memory: {:?} {:?}", t.hbm, t.l2);
    assert!(t.roofline.ratio <= 1.0001, "faster than the busiest resource: {:?}", t.roofline);
    assert!(
        (0.0..=1.0 + 1e-9).contains(&t.balance) && t.bank_conflict_ratio < 1.0,
        "{} {}",
        t.balance,
        t.bank_conflict_ratio
    );
    assert!(t.cores_used <= program.source().cores && t.task_us > 0.0);
    Ok(t)
}

/// The text of a program is that program.
///
/// # Panics
/// If it is not.
pub fn round_trip(program: &Program, soc: &Soc) {
    let text = text::print(program.source());
    let (again, _) = text::parse(&text, soc).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(again.source(), program.source(), "{text}");
    assert_eq!(text::print(again.source()), text);
}
