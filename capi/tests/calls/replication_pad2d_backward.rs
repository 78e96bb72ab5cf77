//! ReplicationPad2dBackward.

use super::*;

/// `[[a, b, c, d], [e, f, g, h], [i, j, k, l]]` folds to `[[a + b, c + d], [e + i + f + j, g + k + h + l]]`.
#[test]
fn padding_folds() {
    let mut tiling = pad::ReplicationPadTiling { opaque: [0; _] };
    let (grad_output, mut out) = ((1..13).map(|x| x as f32).collect::<Vec<_>>(), [0f32; 4]);
    let buffers =
        pad::ReplicationPadBuffers { grad_output: input(&grad_output), grad_input: output(&mut out), workspace: NONE };
    // SAFETY: all pointers are to what they say.
    unsafe {
        let desc = pad_desc();
        let plan =
            pad::ubtile_replication_pad2d_backward_plan(&desc, &target(c"host"), null(), &mut tiling, null_mut());
        assert_eq!(plan, UBTILE_SUCCESS);
        assert_eq!(pad::ubtile_replication_pad2d_backward_run(&tiling, null(), &buffers), UBTILE_SUCCESS);
    }
    assert_eq!(out, [3.0, 7.0, 30.0, 38.0]);
}
