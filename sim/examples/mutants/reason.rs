//! Why a mutant that nobody finds is equivalent.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use ubtile_sim::exec::{Global, Progress, Run};
use ubtile_sim::program::{Action, LocalAt, Pipe, PlaceAt, Program};

/// What each pipe of each core does, in its order, as a number.
#[derive(PartialEq, Eq)]
struct Work(Vec<u64>);

/// Of the actions that `map` leaves over.
fn work(program: &Program, inputs: &Global, map: impl Fn(Action) -> Option<Action>) -> Work {
    let mut run = Run::new(program, inputs.clone());
    let cores = program.source().cores;
    let mut hashes = vec![DefaultHasher::new(); cores as usize * 4];
    let mut note = |core: u32, action: Action| {
        let hash = &mut hashes[core as usize * 4 + action.pipe() as usize];
        if let Some(action) = map(action) {
            format!("{action:?}").hash(hash);
        }
    };
    let mut moved = true;
    while moved {
        moved = false;
        for core in 0..cores {
            for pipe in [Pipe::Mte2, Pipe::V, Pipe::Mte3, Pipe::S] {
                while run.ready(core, pipe) {
                    moved = true;
                    if let Ok(Progress::Done(step)) = run.advance(core, pipe) {
                        note(core, step.action);
                    }
                    // What is queued comes before what is not yet handed out.
                    if pipe == Pipe::S {
                        break;
                    }
                }
            }
        }
    }
    Work(hashes.iter().map(DefaultHasher::finish).collect())
}

/// Addresses of the UB as counted from their slots.
fn within_slots(program: &Program, mut action: Action) -> Action {
    let fix = |at: &mut LocalAt| at.address -= program.slot(at.buffer, at.slot).start;
    let place = |at: &mut PlaceAt| {
        if let PlaceAt::Local(at) = at {
            fix(at);
        }
    };
    match &mut action {
        Action::Transfer(step) => fix(&mut step.local),
        Action::Move(step) => [&mut step.to, &mut step.from].into_iter().for_each(fix),
        Action::Vector(step) => {
            let count = step.op.parts().len();
            step.operands[..count].iter_mut().for_each(|operand| fix(&mut operand.at));
        }
        Action::Transpose(step) => [&mut step.to.at, &mut step.from.at].into_iter().for_each(fix),
        Action::Read(step) => place(&mut step.from),
        Action::Write(step) => place(&mut step.to),
        _ => {}
    }
    action
}

const fn is_order(action: &Action) -> bool {
    matches!(action, Action::SetFlag(_) | Action::WaitFlag(_) | Action::Barrier(_) | Action::SyncAll(_))
}

/// The reason, where there is one that holds in every order: the mutant is clean, so that whatever touches the same bytes is ordered.
pub(crate) fn reason(original: &Program, mutant: &Program, inputs: &Global) -> Option<&'static str> {
    if work(original, inputs, Some) == work(mutant, inputs, Some) {
        return Some("each pipe gets the same instructions in the same order");
    }
    let without_order = |action: Action| (!is_order(&action)).then_some(action);
    if work(original, inputs, without_order) == work(mutant, inputs, without_order) {
        return Some("each pipe does the same work, and other flags order all that touch the same bytes");
    }
    let renamed = |program, action: Action| (!is_order(&action)).then(|| within_slots(program, action));
    if work(original, inputs, |action| renamed(original, action))
        == work(mutant, inputs, |action| renamed(mutant, action))
    {
        return Some("slots lie elsewhere, and each is used as before");
    }
    None
}
