//! What processors were measured to like. Times depend on it, answers do not.

use super::Cache;

/// What a kind of processor likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Habits {
    /// Where to ask for what is needed later than a level-1 cache keeps it.
    pub(crate) later: Cache,
    /// Whether max unpooling gains by asking for lines of which some will not be read.
    pub(crate) asks_most: bool,
    /// Whether the level-1 cache keeps two rows of four planes and of as many gradients, which lie a power of two apart where an image
    /// is as large: with twelve ways it does, with eight it does not.
    pub(crate) keeps_four_planes: bool,
    /// Bytes of an image, and as many of its gradient, up to which the grid sampler goes through points that lie anywhere once for both.
    pub(crate) goes_once: usize,
}

impl Habits {
    /// Of processors that nothing else is known of.
    ///
    /// They wait for few lines on their way to level 1, but for many to level 2: im2col by way of level 1 takes 1.1 to 1.8 times as
    /// long on a Xeon, on an EPYC with Zen 4 up to 3 times.
    pub(crate) const USUAL: Self =
        Self { later: Cache::Level2, asks_most: true, keeps_four_planes: false, goes_once: 1 << 20 };
}
