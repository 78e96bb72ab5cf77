//! Planes with one side of at most 64: strips of all rows, or of all columns, or the whole plane at once.

use super::tile::Tile;
use super::{EDGE, Planes};
use crate::lower::LowerError;
use crate::lower::builder::{Builder, int};
use crate::program::{Content, Expr, Relation};

/// Most rows of a tile that is turned: repeats of an instruction reach no further.
const MOST_ROWS: usize = 240;
/// Columns of the window at the right end, of which the last ones are folded.
const WINDOW: usize = 2 * EDGE;

/// Lowers it.
pub(super) fn lower(b: &mut Builder, of: &Planes) -> Result<(), LowerError> {
    let [height, width] = of.padded.map(|size| size.next_multiple_of(EDGE));
    let (high, wide) = (of.padded[0] > 64, of.padded[1] > 64);
    let strip = (of.factor / EDGE * EDGE).max(2 * EDGE);
    let (shape, turned) = match (high, wide) {
        (true, _) => ([strip.min(MOST_ROWS).min(height), width], width),
        (_, true) => ([height, strip.min(width)], WINDOW),
        _ => ([height, width], width),
    };
    let bytes = Tile::bytes(of.compute, shape, turned);
    if bytes > of.budget {
        return Err(LowerError::LocalBytes { got: of.budget, want: bytes });
    }
    let tile = Tile::new(b, of.compute, shape, turned);
    tile.begin(b);
    of.each(b, "plane", |b, plane| {
        if wide {
            strips(b, of.padded[1], shape[1], |b, at| columns(b, of, &tile, &plane, at));
        } else {
            strips(b, of.padded[0], shape[0], |b, at| rows(b, of, &tile, &plane, at));
        }
    });
    tile.end(b);
    Ok(())
}

/// A strip: where it begins, how long it is, and what is left from its start on; it is the last one if `rest` is no more than `most`.
struct At {
    first: Expr,
    length: Expr,
    rest: Expr,
    most: usize,
}

/// Strips of at most so many; the last one has more than 16, so that all that is folded into one place lies in one strip.
fn strips(b: &mut Builder, size: usize, most: usize, body: impl FnOnce(&mut Builder, &At)) {
    if size <= most {
        return body(b, &At { first: 0.into(), length: int(size).into(), rest: int(size).into(), most });
    }
    let step = most - EDGE;
    let length = b.register("length", Content::Int);
    b.repeat("strip", (0, int(size - EDGE), step), Some("ubFactorElement"), |b, first| {
        let rest = Expr::from(int(size)) - first.clone();
        b.either(
            rest.clone(),
            Relation::Le,
            int(most),
            |b| b.assign(length, rest.clone()),
            |b| b.assign(length, int(step)),
        );
        body(b, &At { first, length: length.into(), rest, most });
    });
}

impl At {
    fn when_first(&self, b: &mut Builder, body: impl FnOnce(&mut Builder)) {
        b.when(self.first.clone(), Relation::Eq, 0, body);
    }

    fn when_last(&self, b: &mut Builder, body: impl FnOnce(&mut Builder)) {
        b.when(self.rest.clone(), Relation::Le, int(self.most), body);
    }

    /// What is left of it at the front and at the back, where so much of it is folded there: the first, and how many.
    fn kept(&self, b: &mut Builder, front: usize, back: usize) -> (Expr, Expr) {
        if self.rest == self.length {
            return (int(front).into(), self.length.clone() - int(front + back));
        }
        let [from, count] = ["from", "count"].map(|name| b.register(name, Content::Int));
        b.assign(from, 0);
        b.assign(count, self.length.clone());
        self.when_first(b, |b| {
            b.assign(from, int(front));
            b.assign(count, self.length.clone() - int(front));
        });
        self.when_last(b, |b| b.assign(count, Expr::from(count) - int(back)));
        (from.into(), count.into())
    }
}

/// Some rows with all columns.
fn rows(b: &mut Builder, of: &Planes, tile: &Tile, plane: &Expr, at: &At) {
    let ([height, width], [from_pitch, to_pitch]) = (of.padded, of.pitches());
    b.tile("rows", |b| {
        let columns = int(width).into();
        tile.load(b, of.from(plane, at.first.clone(), 0), [&at.length, &columns], from_pitch);
        at.when_first(b, |b| tile.fold_rows(b, int(of.top), (0, of.top), &columns));
        at.when_last(b, |b| {
            let edge = Expr::from(int(height - 1 - of.bottom)) - at.first.clone();
            tile.fold_rows(b, edge.clone(), (edge + 1, of.bottom), &columns);
        });
        tile.turn(b, 0, width.next_multiple_of(EDGE), &at.length);
        tile.fold_columns(b, int(of.left), (0, of.left));
        let edge = width - 1 - of.right;
        tile.fold_columns(b, int(edge), (int(edge + 1), of.right));
        tile.turn_back(b, of.left, 0, of.size[1].next_multiple_of(EDGE));
        tile.ready(b, &at.length);
        let (from, count) = at.kept(b, of.top, of.bottom);
        let to = of.to(plane, at.first.clone() + from.clone() - int(of.top), 0);
        tile.store(b, to, (from, 0.into()), [count, int(of.size[1]).into()], to_pitch);
        tile.leave(b);
    });
}

/// Some columns with all rows.
fn columns(b: &mut Builder, of: &Planes, tile: &Tile, plane: &Expr, at: &At) {
    let ([height, _], [from_pitch, to_pitch]) = (of.padded, of.pitches());
    b.tile("columns", |b| {
        let rows: Expr = int(height).into();
        tile.load(b, of.from(plane, 0, at.first.clone()), [&rows, &at.length], from_pitch);
        tile.fold_rows(b, int(of.top), (0, of.top), &at.length);
        let edge = height - 1 - of.bottom;
        tile.fold_rows(b, int(edge), (int(edge + 1), of.bottom), &at.length);
        at.when_first(b, |b| {
            tile.turn(b, 0, EDGE, &rows);
            tile.fold_columns(b, int(of.left), (0, of.left));
            // What was folded comes first; from the sixteenth column on, everything stays where it is.
            tile.turn_back(b, of.left, 0, EDGE);
        });
        at.when_last(b, |b| {
            let window = b.round_up("window", at.length.clone(), EDGE) - int(WINDOW);
            tile.turn(b, window.clone(), WINDOW, &rows);
            let edge = at.length.clone() - int(1 + of.right) - window.clone();
            tile.fold_columns(b, edge.clone(), (edge + 1, of.right));
            tile.turn_back(b, 0, window, WINDOW);
        });
        tile.ready(b, &rows);
        let out_rows: Expr = int(of.size[0]).into();
        let row: Expr = int(of.top).into();
        let (from, count) = at.kept(b, EDGE, of.right);
        at.when_first(b, |b| {
            let shape = [out_rows.clone(), int(EDGE - of.left).into()];
            tile.store(b, of.to(plane, 0, 0), (row.clone(), 0.into()), shape, to_pitch);
        });
        let to = of.to(plane, 0, at.first.clone() + from.clone() - int(of.left));
        b.when(count.clone(), Relation::Gt, 0, |b| tile.store(b, to, (row, from), [out_rows, count], to_pitch));
        tile.leave(b);
    });
}
