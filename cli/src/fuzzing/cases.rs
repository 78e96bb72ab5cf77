//! Cases at random, from a seed.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use ubtile_kernels::Level;
use ubtile_testkit::{Description, IndexFill, Inputs, Kinds, Rng, strategies};
use ubtile_tiling::{Edition, Operator};

use super::{Case, Way};
use crate::error::Error;

/// What a case is made of.
type Parts = (Description, Kinds, u64, Way);

/// Makes cases: the same ones from the same seed.
#[derive(Debug)]
pub(crate) struct Generator {
    runner: TestRunner,
    strategy: BoxedStrategy<Parts>,
    /// Whether indices may point outside of the plane.
    bad_indices: bool,
}

/// A case that has simpler ones.
pub(crate) struct Tree {
    parts: Box<dyn ValueTree<Value = Parts>>,
    bad_indices: bool,
}

impl Generator {
    /// Of an operator. Indices that point outside are for kernels that are known to refuse them.
    pub(crate) fn new(operator: Operator, seed: u64, bad_indices: bool) -> Self {
        let mut bytes = [0; 32];
        let mut rng = Rng::new(seed);
        for chunk in bytes.as_chunks_mut::<8>().0 {
            *chunk = rng.next_u64().to_le_bytes();
        }
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let runner = TestRunner::new_with_rng(Config { failure_persistence: None, ..Config::default() }, rng);
        let parts = (strategies::legal(operator), strategies::kinds(), any::<u64>().no_shrink(), ways());
        Self { runner, strategy: parts.boxed(), bad_indices }
    }

    /// The next case.
    pub(crate) fn next(&mut self) -> Result<Tree, Error> {
        let parts = self.strategy.new_tree(&mut self.runner).map_err(|e| Error::Unusable(e.to_string()))?;
        Ok(Tree { parts, bad_indices: self.bad_indices })
    }
}

impl Tree {
    /// The case; `None` where it is none, which no strategy makes.
    pub(crate) fn case(&self) -> Option<Case> {
        let (description, mut kinds, seed, way) = self.parts.current();
        if !self.bad_indices && kinds.indices == IndexFill::OutOfRange {
            kinds.indices = IndexFill::Permutation;
        }
        let problem = description.check(None, Edition::Any).ok()?;
        let inputs = Inputs::random(&problem, kinds, &mut Rng::new(seed));
        Some(Case { description, problem, inputs, way })
    }

    /// Makes it simpler; whether it could.
    pub(super) fn simplify(&mut self) -> bool {
        self.parts.simplify()
    }

    /// Takes back a part of the last simplification; whether it could.
    pub(super) fn complicate(&mut self) -> bool {
        self.parts.complicate()
    }
}

/// Plans and schedules, the plainest first.
fn ways() -> impl Strategy<Value = Way> {
    let levels: Vec<_> = Level::available().collect();
    (select(levels), strategies::plans()).prop_map(|(level, (cores, order, options))| Way {
        level,
        cores,
        order,
        options,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_cases() {
        let cases = |seed| {
            let mut generator = Generator::new(Operator::MaxUnpool2dBackward, seed, true);
            let next = |_| format!("{:?}", generator.next().unwrap().case().unwrap().description);
            (0..20).map(next).collect::<Vec<_>>()
        };
        assert_eq!(cases(1), cases(1));
        assert_ne!(cases(1), cases(2));
    }
}
