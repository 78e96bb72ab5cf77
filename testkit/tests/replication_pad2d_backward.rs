//! The reference of ReplicationPad2dBackward is the adjoint of replication padding.

use ubtile_testkit::problems::{Layout, ReplicationPad, replication_pad_inputs};
use ubtile_testkit::reference::Cell;
use ubtile_testkit::reference::replication_pad2d_backward::run;
use ubtile_testkit::{Fill, Rng, bits_equal, fill, pairwise};
use ubtile_tiling::Dtype;

/// Pads rows, then columns, by repeating the first and last; negative padding drops them.
fn pad_axis<T: Clone>(lines: &[T], before: i64, after: i64) -> Vec<T> {
    let repeated = |line: &T, n: i64| vec![line.clone(); n.max(0) as usize];
    let kept = &lines[(-before).max(0) as usize..lines.len() - (-after).max(0) as usize];
    [repeated(&lines[0], before), kept.to_vec(), repeated(&lines[lines.len() - 1], after)].concat()
}

fn pad(p: &ReplicationPad, image: &[f64]) -> Vec<f64> {
    let [left, right, top, bottom] = p.padding;
    let planes = image.chunks(p.h * p.w).map(|plane| {
        let rows: Vec<_> = plane.chunks(p.w).map(|row| pad_axis(row, left, right)).collect();
        pad_axis(&rows, top, bottom).concat()
    });
    planes.flatten().collect()
}

#[test]
fn it_is_the_adjoint_of_padding() {
    let mut rng = Rng::new(1);
    let pads = [0, 1, 3, 9, -1, -2];
    for row in pairwise(&[3, 3, 6, 6, 6, 6, 5]) {
        let spec = ReplicationPad {
            h: [5, 4, 8][row[0]],
            w: [5, 6, 9][row[1]],
            padding: [pads[row[2]], pads[row[3]], pads[row[4]], pads[row[5]]],
            inputs: Layout::INPUT[row[6]],
            ..Default::default()
        };
        let (min_h, min_w) =
            (spec.padding[2].min(0) + spec.padding[3].min(0), spec.padding[0].min(0) + spec.padding[1].min(0));
        if spec.h as i64 + min_h < 1 || spec.w as i64 + min_w < 1 {
            continue;
        }
        let problem = spec.problem();
        let gradient = replication_pad_inputs(&problem, Fill::Integers, &mut rng);
        let image = fill(spec.desc().self_tensor, Fill::Integers, &mut rng).numbers();
        let result = run(&problem, &gradient).to_data().numbers();
        let (padded, gradient) = (pad(&spec, &image), gradient.to_contiguous().numbers());
        assert_eq!(padded.len(), gradient.len());
        let forward: f64 = padded.iter().zip(&gradient).map(|(a, b)| a * b).sum();
        let backward: f64 = image.iter().zip(&result).map(|(a, b)| a * b).sum();
        // Small integers: every product and sum is exact.
        assert_eq!(forward, backward, "{spec:?}");
    }
}

#[test]
fn without_padding_it_is_a_copy_in_bits() {
    for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64, Dtype::C64, Dtype::C128] {
        let problem = ReplicationPad { dtype, padding: [0; 4], ..Default::default() }.problem();
        let gradient = replication_pad_inputs(&problem, Fill::Specials, &mut Rng::new(2));
        let expected = run(&problem, &gradient);
        assert!(expected.cells.iter().all(|cell| matches!(cell, Cell::Bits(_))), "{dtype}");
        assert!(bits_equal(&expected.to_data(), &gradient).is_ok(), "{dtype}");
    }
}
