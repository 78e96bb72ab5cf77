//! Rows of channels, from pixels with their channels side by side.

use super::sizes::{Sizes, TURNED};
use super::{Lowering, Window, stride};
use crate::lower::builder::{Builder, int};
use crate::lower::shape::{BLOCK_BYTES, MOST_STRIDE, PER_BLOCK, cast};
use crate::product::Element;
use crate::program::{Burst, Expr, Rows, Transpose};

impl Lowering {
    /// Brings some rows of some channels in order, and stores them.
    pub(super) fn put_in_order(&self, b: &mut Builder, image: &Expr, channels: (&Expr, &Expr), window: &Window) {
        let (Sizes { compute, .. }, rows) = (self.sizes, (&window.row, &window.rows));
        let (pitch, pixel, high) = (self.sizes.pitch(), self.sizes.pixel_bytes(), self.sizes.ordered_rows());
        let margin = self.sizes.margin();
        let column = stride(high * pitch * 4);
        b.repeat("group", (0, channels.1.clone(), PER_BLOCK), Some("tile_channels"), |b, group| {
            let n = b.min("n", int(PER_BLOCK), channels.1.clone() - group.clone());
            b.repeat("part", (0, rows.1.clone(), high), None, |b, part| {
                let some = b.min("some", int(high), rows.1.clone() - part.clone());
                self.ordered.enter(b);
                let to = self.ordered_wide.map_or_else(|| self.ordered.at(0), |wide| wide.at(0));
                let first = (part.clone() + int(margin)) * int(pitch) + int(margin);
                let from = self.sums.at(first * int(pixel) + group.clone() * int(BLOCK_BYTES / PER_BLOCK));
                let all = high * pitch / TURNED;
                for done in (0..all).step_by(MOST_STRIDE) {
                    b.transpose(Transpose {
                        element: Element::F32,
                        to: Rows { at: to.further(int(done * TURNED * 4)), row: 1, pair: column, repeat: 2 },
                        from: Rows {
                            at: from.further(int(done * TURNED * pixel)),
                            row: stride(pixel),
                            pair: 2 * stride(pixel),
                            repeat: stride(TURNED * pixel),
                        },
                        repeats: int((all - done).min(MOST_STRIDE)).into(),
                        to_high: false,
                        from_high: false,
                    });
                }
                if let Some(wide) = self.ordered_wide {
                    let lanes = int(PER_BLOCK * high * pitch);
                    cast(b, (self.ordered.at(0), compute.element), (wide.at(0), Element::F32), lanes);
                }
                self.ordered.pass(b, 0);
                b.repeat("k", (0, n, 1), None, |b, k| {
                    let [c, hi, wi] = self.image;
                    let plane = image.clone() * int(c) + channels.0.clone() + group + k.clone();
                    let row = plane * int(hi) + rows.0.clone() + part;
                    let to = self.output.at((row * int(wi) + window.column.clone()) * int(compute.size));
                    let bytes = window.columns.clone() * int(compute.size);
                    let whole = b.round_up("blocks", bytes.clone(), BLOCK_BYTES);
                    let from_gap = Expr::from(int(pitch * compute.size)) - whole;
                    let to_gap = Expr::from(int(wi * compute.size)) - bytes.clone();
                    let burst = Burst { blocks: some, bytes, from_gap, to_gap };
                    b.store(to, self.ordered.at(k * int(high * pitch * compute.size)), burst);
                });
                self.ordered.leave(b);
            });
        });
    }
}
