//! What the vendor calls cores and pipes.

use crate::product::Soc;
use crate::program::Pipe;

/// How the cores of a product are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// Vector cores beside each cube core; `None` where vectors and cubes are one core.
    vectors: Option<u32>,
}

impl Lanes {
    /// Of a product; of one that does not say whether its vector cores are separate, as if they were.
    #[must_use]
    pub fn of(soc: &Soc) -> Self {
        let separate = soc.cores.separate.get().copied().unwrap_or(true);
        let ai = soc.cores.ai.get().map_or(1, |ai| ai.get());
        let vector = soc.cores.vector.get().copied().unwrap_or(1);
        Self { vectors: separate.then_some((vector / ai).max(1)) }
    }

    /// Whether vector cores are cores of their own.
    #[must_use]
    pub const fn are_separate(self) -> bool {
        self.vectors.is_some()
    }

    /// Cube core and vector core of a core that runs a program.
    #[must_use]
    pub fn place(self, core: u32) -> (u32, u32) {
        let vectors = self.vectors.unwrap_or(1);
        (core / vectors, core % vectors)
    }

    /// The name of a core's folder and lane.
    #[must_use]
    pub fn core(self, core: u32) -> String {
        let (core, vector) = self.place(core);
        format!("core{core}.veccore{vector}")
    }

    /// The name of a pipe's lane.
    #[must_use]
    pub const fn pipe(pipe: Pipe) -> &'static str {
        match pipe {
            Pipe::S => "SCALAR",
            Pipe::V => "VECTOR",
            Pipe::Mte2 => "MTE2",
            Pipe::Mte3 => "MTE3",
        }
    }
}
