//! How the padding's plans cut planes: as many whole ones as fit, else rows, columns, and sums in parts.

mod plan_boxes;

use plan_boxes::{largest, length, pad_bytes};
use proptest::prelude::*;
use proptest::sample::select;
use ubtile_testkit::problems::ReplicationPad;
use ubtile_testkit::strategies;
use ubtile_tiling::{Dtype, PlanError, PlanOptions, TargetSpec, replication_pad2d_backward as replication_pad};

/// Planes, rows and columns of a tile, of its sources, and whether it goes on with sums and ends them.
type Boxes = ([[usize; 2]; 5], [bool; 2]);

fn boxes_of(tile: &replication_pad::Tile) -> Boxes {
    let boxes = [tile.planes, tile.rows, tile.columns, tile.source_rows, tile.source_columns];
    (boxes, [tile.accumulates, tile.last])
}

/// How a plane is cut: whole rows, then columns, and sums in parts rather than less than eight blocks of a row.
fn cut_plane(plan: &replication_pad::Plan, plane: usize) -> Vec<Boxes> {
    let (target, p) = (*plan.target(), plan.problem());
    let fits = |bytes: usize| bytes <= target.local_bytes;
    let few = 8 * target.block_bytes / p.dtype.size();
    let source = |rows, columns| [plan.rows().sources_of(rows), plan.columns().sources_of(columns)];
    let bytes = |rows: [usize; 2], columns: [usize; 2]| {
        pad_bytes(plan, 1, source(rows, columns).map(length), [length(rows), length(columns)], false)
    };
    let part = |source: [usize; 2], columns: usize| fits(pad_bytes(plan, 1, source, [1, columns], true));
    let (mut boxes, mut row, mut column) = (Vec::new(), 0, 0);
    while row < p.h {
        let rows = if column > 0 { 0 } else { largest(p.h - row, |n| fits(bytes([row, row + n], [0, p.w]))) };
        let left = p.w - column;
        let width = |n: usize| length(plan.columns().sources_of([column, column + n]));
        let uncut = largest(left, |n| fits(bytes([row, row + 1], [column, column + n])));
        let cut = largest(left, |n| part([1, width(n)], n));
        let whole = rows > 0 || uncut > 0 && (uncut >= cut || uncut >= few);
        let columns = match (rows, whole, cut) {
            (1.., ..) => p.w,
            (_, true, _) => uncut,
            (_, _, 0) => 1,
            _ => cut,
        };
        let (rows, columns) = ([row, row + rows.max(1)], [column, column + columns]);
        let [[top, bottom], [first, last]] = source(rows, columns);
        // Rows of a part and columns of a part; only of a single cell are these less than all.
        let wide = if whole || cut > 0 { last - first } else { largest(last - first, |n| part([1, n], 1)) };
        let high = match (whole, cut) {
            (true, _) => bottom - top,
            (_, 0) => 1,
            _ => largest(bottom - top, |n| part([n, wide], length(columns))),
        };
        let steps = |from: usize, end: usize, by: usize| {
            let starts = (from..end).step_by(by.max(1)).map(move |at| [at, (at + by).min(end)]);
            if from < end { starts.collect() } else { vec![[from, end]] }
        };
        let mut parts = Vec::new();
        for source_columns in steps(first, last, wide) {
            parts.extend(steps(top, bottom, high).into_iter().map(|source_rows| (source_rows, source_columns)));
        }
        let count = parts.len();
        boxes.extend(parts.into_iter().enumerate().map(|(i, (source_rows, source_columns))| {
            ([[plane, plane + 1], rows, columns, source_rows, source_columns], [i > 0, i + 1 == count])
        }));
        (row, column) = if columns[1] == p.w { (rows[1], 0) } else { (row, columns[1]) };
    }
    boxes
}

/// Rows of some width with much padding, in little memory.
fn folded_rows() -> impl Strategy<Value = (ReplicationPad, TargetSpec)> {
    let pads = || prop_oneof![1 => Just(0i64), 2 => 0..30i64];
    let sizes = (1..3usize, 1..5usize, 1..60usize, [pads(), pads(), pads(), pads()]);
    let machine = (prop_oneof![20..400usize, 400..6000usize], select(&[1usize, 4, 32]), any::<bool>());
    let dtypes = select(&[Dtype::F16, Dtype::F32, Dtype::F64, Dtype::C128]);
    (dtypes, sizes, machine).prop_map(|(dtype, (c, h, w, padding), (local_bytes, block_bytes, unaligned_copy))| {
        let mut target = TargetSpec { local_bytes, block_bytes, ..TargetSpec::host(1) };
        target.capabilities.unaligned_copy = unaligned_copy;
        (ReplicationPad { dtype, n: 1, c, h, w, padding, ..Default::default() }, target)
    })
}

proptest! {
    #![proptest_config(strategies::cases(1500))]

    /// Whole planes as many as fit, else what fits of each.
    #[test]
    fn planes_rows_columns_parts((spec, target) in folded_rows()) {
        let with = |local_bytes| {
            replication_pad::plan(&spec.problem(), &target, &PlanOptions { workspace_limit: None, local_bytes })
        };
        let plan = match with(None) {
            Err(PlanError::LocalBytes { want, .. }) => with(Some(want)),
            plan => plan,
        };
        let plan = plan.expect("the smallest tile fits");
        let local = plan.target().local_bytes;
        let p = plan.problem();
        let of_planes = |n| pad_bytes(&plan, n, [p.padded_h, p.padded_w], [p.h, p.w], false) <= local;
        let planes = largest(p.n * p.c, of_planes);
        let tiles: Vec<_> = plan.tiles(0, 0).collect();
        if planes > 0 {
            prop_assert_eq!(plan.choices().last().map(|c| (c.name, c.value)), Some(("tile_planes", planes)));
            prop_assert_eq!(tiles[0].planes, [0, planes]);
            return Ok(());
        }
        let wanted = (0..p.n * p.c).flat_map(|plane| cut_plane(&plan, plane)).collect::<Vec<_>>();
        prop_assert_eq!(tiles.iter().map(boxes_of).collect::<Vec<_>>(), wanted);
        let rows = largest(p.h, |n| pad_bytes(&plan, 1, [n, p.w], [n, p.w], false) <= local);
        let columns = largest(p.w, |n| pad_bytes(&plan, 1, [1, n], [1, n], false) <= local);
        let inside = if rows > 0 { ("tile_rows", rows) } else { ("tile_columns", columns.max(1)) };
        prop_assert_eq!(plan.choices().last().map(|c| (c.name, c.value)), Some(inside));
    }
}
