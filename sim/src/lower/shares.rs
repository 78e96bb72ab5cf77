//! Which part of the output each core makes.

use std::ops::Range;

use super::builder::{Builder, int};
use crate::program::Expr;

/// Planes of the output, in items (rows or elements) of which a share owns a run: `body` gets the plane and, in it, the first of
/// the share's items and one past the last.
pub(super) fn planes(
    b: &mut Builder,
    shares: &[Range<usize>],
    items: usize,
    body: impl FnOnce(&mut Builder, &Expr, &Expr, &Expr),
) {
    let number = |of: &dyn Fn(&Range<usize>) -> usize| shares.iter().map(|share| int(of(share))).collect();
    let whole = shares.iter().all(|s| s.start.is_multiple_of(items) && s.end.is_multiple_of(items));
    let first = b.per_core("first_plane", number(&|share| share.start / items));
    let last = b.per_core("last_plane", number(&|share| share.end.div_ceil(items)));
    let run = (!whole).then(|| {
        let first = b.per_core("first_item", number(&|share| share.start));
        (first, b.per_core("last_item", number(&|share| share.end)))
    });
    b.repeat("plane", (first, last, 1), Some("block_dim"), |b, plane| {
        let (from, to) = match run {
            None => (Expr::from(0), int(items).into()),
            Some((first, last)) => {
                let begin = plane.clone() * int(items);
                (b.max("from", 0, first - begin.clone()), b.min("to", int(items), last - begin))
            }
        };
        body(b, &plane, &from, &to);
    });
}
