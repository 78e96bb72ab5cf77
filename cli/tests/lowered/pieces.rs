//! How large pieces are: what is said to fit does, what is said not to does not, and what a caller asks for is kept.

use ubtile_sim::lower::{LowerError, Lowered, native, native_in};
use ubtile_sim::product::Soc;
use ubtile_testkit::problems::{GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_tiling::{Bound, Dtype, PlanOptions, Problem, TilingPlan, plan};

/// Problems whose planes a UB holds, and whose it does not.
fn problems() -> Vec<Problem> {
    let image =
        |c: usize, hi: usize, wi: usize| GridSampler { n: 1, c, hi, wi, ho: 30, wo: 41, ..GridSampler::default() };
    let sampler = [image(3, 20, 21), image(70, 90, 300)];
    let unpool = |h: usize, w: usize, out_h: usize, out_w: usize| MaxUnpool {
        n: 2,
        c: 3,
        h,
        w,
        out_h,
        out_w,
        ..MaxUnpool::default()
    };
    let fold = |h: usize, w: usize, s: usize| Im2col {
        n: 1,
        c: 2,
        h,
        w,
        kernel: [3, 3],
        padding: [1, 1],
        stride: [s, s],
        ..Im2col::default()
    };
    let pad =
        |h: usize, w: usize| ReplicationPad { n: 2, c: 2, h, w, padding: [1, 2, 3, 1], ..ReplicationPad::default() };
    // Batches of rows, of which less than one is none.
    let small = ReplicationPad { n: 3, c: 17, h: 4, w: 5, padding: [0, 1, 6, 0], ..ReplicationPad::default() };
    // So many rows that there is one size alone.
    let halves = ReplicationPad { dtype: Dtype::F16, c: 40, h: 15, w: 15, ..small };
    sampler
        .map(|of| Problem::GridSampler2dBackward(of.problem()))
        .into_iter()
        .chain(
            [unpool(20, 21, 40, 42), unpool(150, 150, 300, 300)].map(|of| Problem::MaxUnpool2dBackward(of.problem())),
        )
        .chain(
            [fold(20, 21, 1), fold(300, 400, 1), fold(151, 400, 2), fold(900, 5, 1), fold(500, 900, 16)]
                .map(|of| Problem::Im2colBackward(of.problem())),
        )
        .chain([pad(20, 21), pad(400, 300), small, halves].map(|of| Problem::ReplicationPad2dBackward(of.problem())))
        .collect()
}

fn planned(problem: &Problem, soc: &Soc) -> TilingPlan {
    plan(problem, &soc.target_spec().unwrap(), &PlanOptions::default()).unwrap()
}

#[test]
fn pieces_are_as_large_as_they_say() {
    for name in ["Ascend910B1", "Ascend310P3", "Ascend910A", "Ascend910_95"] {
        let soc = Soc::builtin(name).unwrap();
        for problem in problems() {
            let plan = planned(&problem, &soc);
            let Lowered { program, pieces } = native_in(&plan, &soc, &[]).unwrap();
            assert_eq!(program.source(), native(&plan, &soc).unwrap().source(), "{problem:?} on {name}");
            assert!(!pieces.is_empty(), "{problem:?} on {name}");
            let (local, limit) = (program.local_bytes() as usize, plan.target().local_bytes);
            for piece in &pieces {
                let what = format!("{piece:?} of {problem:?} on {name}");
                assert!(
                    piece.used <= piece.limit && piece.larger.over() > 0 && piece.larger.value > piece.value,
                    "{what}"
                );
                assert!(piece.alternative.is_none_or(|less| less < piece.value), "{what}");
                assert!(piece.bound != Bound::LocalBytes || piece.limit <= limit, "{what}");
            }
            assert!(local <= limit, "{problem:?} on {name}: {local} bytes");
        }
    }
}

/// More rows fit beside fewer columns, in whatever order both are asked for.
#[test]
fn sizes_fit_beside_each_other() {
    let soc = Soc::builtin("Ascend910B1").unwrap();
    let spec = Im2col { n: 1, c: 2, h: 300, w: 400, kernel: [3, 3], padding: [1, 1], ..Im2col::default() };
    let plan = planned(&Problem::Im2colBackward(spec.problem()), &soc);
    let rows = native_in(&plan, &soc, &[]).unwrap().pieces[0].value;
    let columns = ("tile_columns", 100);
    let with = |rows: usize| {
        [[("tile_rows", rows), columns], [columns, ("tile_rows", rows)]].map(|sizes| native_in(&plan, &soc, &sizes))
    };
    for lowered in with(2 * rows) {
        let pieces = lowered.unwrap().pieces;
        assert_eq!([pieces[0].value, pieces[1].value], [2 * rows, 100]);
    }
    for lowered in with(300) {
        match lowered {
            Err(LowerError::Piece { name: "tile_rows", got: 300, fits }) => assert!(fits >= 2 * rows, "{fits}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn pieces_are_no_larger_than_asked_for() {
    for name in ["Ascend910B1", "Ascend310P3", "Ascend910_95"] {
        let soc = Soc::builtin(name).unwrap();
        for problem in problems() {
            let plan = planned(&problem, &soc);
            let whole = native_in(&plan, &soc, &[]).unwrap();
            for piece in whole.pieces.iter().filter(|piece| piece.name != "tile_input_channels") {
                let what = format!("{piece:?} of {problem:?} on {name}");
                let of = |size: usize| native_in(&plan, &soc, &[(piece.name, size)]);
                match of(piece.value + 1) {
                    Err(LowerError::Piece { fits, got, .. }) => {
                        assert_eq!((fits, got), (piece.value, piece.value + 1), "{what}")
                    }
                    other => panic!("{what}: {other:?}"),
                }
                assert_eq!(of(piece.value).unwrap().program.source(), whole.program.source(), "{what}");
                if let Some(less) = piece.alternative {
                    let Lowered { program, pieces } = of(less).unwrap();
                    let got = pieces.iter().find(|other| other.name == piece.name).unwrap();
                    assert!(got.value == less && program.source() != whole.program.source(), "{what}: {got:?}");
                }
                match of(0) {
                    Err(LowerError::PieceLeast { got: 0, least, .. }) => assert!(least <= piece.value, "{what}"),
                    other => panic!("{what}: {other:?}"),
                }
            }
            match native_in(&plan, &soc, &[("tile_planes", 1)]) {
                Err(LowerError::NoPiece { asked, names }) => {
                    assert!(
                        asked == "tile_planes"
                            && !names.is_empty()
                            && names.iter().all(|name| name.starts_with("tile_"))
                    )
                }
                other => panic!("{problem:?}: {other:?}"),
            }
        }
    }
}
