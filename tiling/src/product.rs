//! Product lines and editions of the vendor's documents.

use core::fmt;

/// A product line, as the vendor's support tables name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Product {
    /// Atlas inference series: Ascend310P.
    AtlasInference,
    /// Atlas training series: Ascend910(A).
    AtlasTraining,
    /// Atlas A2 training series: Ascend910B1..B4.
    AtlasA2,
    /// Atlas 800I A2 inference: an A2 machine.
    Atlas800iA2,
    /// A200I A2 Box: an A2 machine.
    A200iA2Box,
    /// Atlas A3: Ascend910_93xx.
    AtlasA3,
    /// Atlas 200I/500 A2: Ascend310B; supports none of the four operators.
    Atlas200iA2,
    /// Ascend 950PR/DT.
    Ascend950,
}

impl Product {
    /// Every product line.
    pub const ALL: [Self; 8] = [
        Self::AtlasInference,
        Self::AtlasTraining,
        Self::AtlasA2,
        Self::Atlas800iA2,
        Self::A200iA2Box,
        Self::AtlasA3,
        Self::Atlas200iA2,
        Self::Ascend950,
    ];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AtlasInference => "atlas-inference",
            Self::AtlasTraining => "atlas-training",
            Self::AtlasA2 => "atlas-a2",
            Self::Atlas800iA2 => "atlas-800i-a2",
            Self::A200iA2Box => "a200i-a2-box",
            Self::AtlasA3 => "atlas-a3",
            Self::Atlas200iA2 => "atlas-200i-a2",
            Self::Ascend950 => "ascend-950",
        }
    }

    /// The product of that command-line name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.name() == name)
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An edition of the vendor's documents. `Any` accepts what one of them accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Edition {
    /// CANN 8.0.
    V8_0,
    /// CANN 8.3 (GridSampler2DBackward only; the other operators fall back to 8.0).
    V8_3,
    /// CANN of August 2026.
    Master,
    /// What any of them accepts.
    #[default]
    Any,
}

impl Edition {
    /// Every edition.
    pub const ALL: [Self; 4] = [Self::V8_0, Self::V8_3, Self::Master, Self::Any];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V8_0 => "8.0",
            Self::V8_3 => "8.3",
            Self::Master => "master",
            Self::Any => "any",
        }
    }

    /// The edition of that command-line name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|e| e.name() == name)
    }
}

impl fmt::Display for Edition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A set of editions of the vendor's documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Editions(u8);

impl Editions {
    /// No edition.
    pub const NONE: Self = Self(0);
    /// 8.0 and 8.3. Of the operators that have no page in 8.3, 8.0 stands for it.
    pub const OLD: Self = Self(bits(Edition::V8_0) | bits(Edition::V8_3));
    /// 8.3 and master.
    pub const SINCE_8_3: Self = Self(bits(Edition::V8_3) | bits(Edition::Master));
    /// 8.0 and master.
    pub const NOT_8_3: Self = Self(bits(Edition::V8_0) | bits(Edition::Master));
    /// Master alone.
    pub const MASTER: Self = Self(bits(Edition::Master));
    /// 8.0, 8.3 and master.
    pub const ALL: Self = Self(bits(Edition::Any));

    /// Whether the edition is in the set; of [`Edition::Any`], whether any edition is.
    #[must_use]
    pub const fn contains(self, edition: Edition) -> bool {
        self.0 & bits(edition) != 0
    }
}

/// `Any` is all of them, so that a set with any edition contains it.
const fn bits(edition: Edition) -> u8 {
    match edition {
        Edition::V8_0 => 1,
        Edition::V8_3 => 2,
        Edition::Master => 4,
        Edition::Any => 7,
    }
}

impl fmt::Display for Editions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let single = [Edition::V8_0, Edition::V8_3, Edition::Master].into_iter().filter(|e| self.contains(*e));
        for (i, edition) in single.enumerate() {
            write!(f, "{}{edition}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
