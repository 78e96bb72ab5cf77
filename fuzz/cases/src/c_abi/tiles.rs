//! Tiles on boxes of exact length, called as C calls them.

use std::fmt::Debug;
use std::ptr::{null, null_mut};

use ubtile_capi::{Input, Level, Output, UBTILE_ERROR_PARAM_INVALID, UBTILE_ERROR_PARAM_NULLPTR, UBTILE_SUCCESS};
use ubtile_testkit::Data;

use super::buffers::Memory;
use super::{input, output};
use crate::run::{At, Boxes};

/// The functions that know the tiles of an operator; `T`, `I` and `B` are its plan, what it says of a tile, and a tile's boxes.
#[derive(Debug)]
pub struct TileApi<T, I, B> {
    /// `ubtile_..._tile`.
    pub tile: unsafe extern "C" fn(*const T, usize, usize, usize, *mut I) -> i32,
    /// `ubtile_..._run_tile`.
    pub run_tile: unsafe extern "C" fn(*const T, *const Level, usize, usize, usize, *const B) -> i32,
    /// The boxes in C: inputs and outputs in the order of Rust's.
    pub boxes: fn(&[Input], &[Output]) -> B,
}

impl<T, I: Default + Debug, B> TileApi<T, I, B> {
    /// What is said of a tile is what Rust says. NULL is refused.
    pub fn says(&self, tiling: &T, [phase, share, number]: At, expected: &I) {
        let mut info = I::default();
        // SAFETY: each pointer is NULL or to what it says.
        unsafe {
            assert_eq!((self.tile)(tiling, phase, share, number, null_mut()), UBTILE_ERROR_PARAM_NULLPTR);
            assert_eq!((self.tile)(null(), phase, share, number, &mut info), UBTILE_ERROR_PARAM_NULLPTR);
            assert_eq!((self.tile)(tiling, phase, share, usize::MAX, &mut info), UBTILE_ERROR_PARAM_INVALID);
            assert_eq!((self.tile)(tiling, phase, share, number, &mut info), UBTILE_SUCCESS);
        }
        assert_eq!(format!("{info:?}"), format!("{expected:?}"));
    }

    /// Runs a tile on copies of its boxes that end where they end. Refused calls before it leave the boxes as they are.
    ///
    /// # Errors
    /// The status, unless it is success.
    pub fn run<const INPUTS: usize, const OUTPUTS: usize>(
        &self,
        tiling: &T,
        level: Option<&Level>,
        [phase, share, number]: At,
        Boxes { inputs, outputs }: Boxes<'_, INPUTS, OUTPUTS>,
    ) -> Result<(), i32> {
        let level = level.map_or_else(null, std::ptr::from_ref);
        let (read, written) =
            (inputs.map(|data| Memory::of(data, 0)), outputs.each_ref().map(|data| Memory::of(data, 0)));
        let mut inputs_in_c: Vec<Input> =
            read.iter().zip(inputs).map(|(memory, data)| input(memory.first(), data.bytes().len())).collect();
        let outputs_in_c: Vec<Output> =
            written.iter().zip(&outputs).map(|(memory, data)| output(memory.first(), data.bytes().len())).collect();
        let boxes = (self.boxes)(&inputs_in_c, &outputs_in_c);
        // SAFETY: each pointer is NULL or to what it says.
        unsafe {
            let of = |tiling, boxes| (self.run_tile)(tiling, level, phase, share, number, boxes);
            assert_eq!(of(null(), &boxes), UBTILE_ERROR_PARAM_NULLPTR);
            assert_eq!(of(tiling, null()), UBTILE_ERROR_PARAM_NULLPTR);
            if let Some(bytes) = inputs[0].bytes().len().checked_sub(1) {
                inputs_in_c[0].bytes = bytes;
                assert_eq!(of(tiling, &(self.boxes)(&inputs_in_c, &outputs_in_c)), UBTILE_ERROR_PARAM_INVALID);
            }
            let beyond = (self.run_tile)(tiling, level, phase, share, usize::MAX, &boxes);
            assert_eq!(beyond, UBTILE_ERROR_PARAM_INVALID);
            for (memory, data) in written.iter().zip(&outputs) {
                let mut copy = Data::clone(data);
                memory.fill(&mut copy);
                assert_eq!(copy.bytes(), data.bytes(), "a refused tile has written");
            }
            let status = of(tiling, &boxes);
            for (memory, data) in written.iter().zip(outputs) {
                memory.fill(data);
            }
            if status == UBTILE_SUCCESS { Ok(()) } else { Err(status) }
        }
    }
}
