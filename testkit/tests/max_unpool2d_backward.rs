//! The reference of MaxUnpool2dBackward is the adjoint of unpooling.

use ubtile_testkit::problems::{Layout, MaxUnpool, max_unpool_inputs};
use ubtile_testkit::reference::max_unpool2d_backward::run;
use ubtile_testkit::{Fill, IndexFill, Rng, fill};
use ubtile_tiling::Dtype;

#[test]
fn it_is_the_adjoint_of_unpooling() {
    let mut rng = Rng::new(1);
    for (inputs, index_dtype) in Layout::INPUT.into_iter().flat_map(|l| [(l, Dtype::I32), (l, Dtype::I64)]) {
        for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64, Dtype::I8, Dtype::I16, Dtype::I32, Dtype::I64] {
            let spec = MaxUnpool { dtype, out_dtype: dtype, index_dtype, inputs, h: 3, w: 4, ..Default::default() };
            let problem = spec.problem();
            let data = max_unpool_inputs(&problem, Fill::Integers, IndexFill::Permutation, &mut rng);
            let pooled = fill(spec.desc().self_tensor, Fill::Integers, &mut rng).numbers();
            let indices = data.indices.to_contiguous().numbers();
            let plane = spec.out_h * spec.out_w;
            let mut unpooled = vec![0.0; spec.n * spec.c * plane];
            for (i, (value, index)) in pooled.iter().zip(indices).enumerate() {
                unpooled[i / (spec.h * spec.w) * plane + index as usize] = *value;
            }
            let result = run(&problem, &data).unwrap().to_data().numbers();
            let gradient = data.grad_output.to_contiguous().numbers();
            let forward: f64 = unpooled.iter().zip(&gradient).map(|(a, b)| a * b).sum();
            let backward: f64 = pooled.iter().zip(&result).map(|(a, b)| a * b).sum();
            assert_eq!(forward, backward, "{spec:?}");
        }
    }
}

#[test]
fn a_bad_index_is_always_found_and_the_lowest_wins() {
    let mut rng = Rng::new(2);
    for _ in 0..50 {
        let problem = MaxUnpool { inputs: Layout::Pitched, ..Default::default() }.problem();
        let data = max_unpool_inputs(&problem, Fill::Uniform, IndexFill::OutOfRange, &mut rng);
        let bad = run(&problem, &data).unwrap_err();
        let indices = data.indices.to_contiguous().numbers();
        let first = indices.iter().position(|&k| !(0.0..24.0).contains(&k)).unwrap();
        assert_eq!((bad.position, bad.index as f64), (first, indices[first]));
    }
}

#[test]
fn no_plane_to_point_into() {
    let empty = MaxUnpool { h: 0, out_h: 0, ..Default::default() }.problem();
    let data = max_unpool_inputs(&empty, Fill::Uniform, IndexFill::Permutation, &mut Rng::new(1));
    assert!(run(&empty, &data).unwrap().cells.is_empty());
}
