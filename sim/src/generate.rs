//! Programs at random: for tests and fuzzers, of this model and of whatever else reads, changes or runs tile programs.
//!
//! One generator serves everybody, because all of it decides by [`Choices`], which are bytes or a seed: libFuzzer and `arbitrary` have
//! bytes, proptest draws (and shrinks) bytes or a seed, and a loop counts seeds. Simple bytes make simple programs.
//!
//! * [`Programs::legal`]: right by construction. The sanitizer finds nothing, not even warnings, and the values are the same in any
//!   order that flags allow: whatever says otherwise is wrong.
//! * [`Programs::any`]: legal ones with something changed, and ones of anything at all. They may be refused or go wrong in any way but
//!   one: nothing may panic. What they do is little: loops are short and tensors small.
//! * [`mutants`]: a program with one change each: flags dropped, moved and renamed, buffers grown, addresses shifted.
//! * [`inputs`]: values for what a program reads, within what it assumes of them.
//! * [`delays`]: steps that wait in a run of a program, which shows what its flags do not order.
//!
//! ```
//! use proptest::prelude::*;
//! use proptest::test_runner::TestRunner;
//! use ubtile_sim::generate::{Choices, Programs, Values, inputs};
//! use ubtile_sim::product::Soc;
//! use ubtile_sim::program::Program;
//! use ubtile_sim::sanitize::sanitize;
//! use ubtile_sim::text;
//!
//! let soc = Soc::builtin("Ascend910B1")?;
//! let programs = Programs::new(&soc)?;
//! // From a seed:
//! let program = Program::new(programs.legal(&mut Choices::of_seed(1)), &soc)?;
//! assert_eq!(sanitize(&program, None).unwrap(), []);
//! assert_eq!(sanitize(&program, inputs(&program, Values::Whole, &mut Choices::of_seed(2))).unwrap(), []);
//! // With proptest, which shrinks what fails:
//! let bytes = proptest::collection::vec(any::<u8>(), 0..2000);
//! TestRunner::deterministic().run(&bytes, |bytes| {
//!     let source = programs.any(&mut Choices::of_bytes(&bytes));
//!     prop_assert_eq!(text::parse_source(&text::print(&source)).unwrap().0, source);
//!     Ok(())
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod any;
mod builder;
mod choices;
mod damage;
mod delays;
mod has;
mod inputs;
mod legal;
mod mutants;
mod order;
mod pieces;
mod scalars;

use crate::product::{Soc, Unknown};
use crate::program::Source;

pub use choices::Choices;
pub use delays::delays;
pub use inputs::{Values, inputs};
pub use mutants::{Change, Mutant, mutants};

/// Programs for a product.
#[derive(Clone, Debug)]
pub struct Programs(has::Has);

impl Programs {
    /// For a SoC.
    ///
    /// # Errors
    /// A number that every program needs is unknown.
    pub fn new(soc: &Soc) -> Result<Self, Unknown> {
        has::Has::new(soc).map(Self)
    }

    /// A program that is right: the product takes it, the sanitizer finds nothing, with data of [`inputs`] or without, and it computes
    /// the same in any order.
    #[must_use]
    pub fn legal(&self, choices: &mut Choices<'_>) -> Source {
        legal::legal(&self.0, choices)
    }

    /// A program that may be anything, and has a text. It ends soon, whatever it does: loops have constant bounds, tensors are small.
    #[must_use]
    pub fn any(&self, choices: &mut Choices<'_>) -> Source {
        if choices.one_in(3) {
            return any::source(choices);
        }
        let mut source = legal::legal(&self.0, choices);
        damage::damage(&mut source, choices);
        source
    }
}
