//! MaxUnpool2dBackward.

use super::*;

#[test]
fn unpool_reads_nothing_through_a_bad_index() {
    let desc = unpool::MaxUnpoolDesc {
        grad_output: tensor(UBTILE_I16, &[1, 4, 4]),
        self_tensor: tensor(UBTILE_I16, &[1, 2, 2]),
        indices: tensor(UBTILE_I32, &[1, 2, 2]),
        out: tensor(UBTILE_I16, &[1, 2, 2]),
        output_size: [4, 4],
    };
    let mut tiling = unpool::MaxUnpoolTiling { opaque: [0; _] };
    let cells: Vec<i16> = (100..116).collect();
    for (indices, status, want) in [
        ([3i32, 0, 15, 7], UBTILE_SUCCESS, [103i16, 100, 115, 107]),
        ([3, 16, -1, 7], UBTILE_ERROR_RUNTIME, [103, 0, 0, 107]),
    ] {
        let mut out = [9i16; 4];
        let buffers = unpool::MaxUnpoolBuffers {
            grad_output: input(&cells),
            indices: input(&indices),
            out: output(&mut out),
            workspace: NONE,
        };
        // SAFETY: all pointers are to what they say.
        unsafe {
            let plan = unpool::ubtile_max_unpool2d_backward_plan(
                &desc,
                &target(c"cortex-m3"),
                null(),
                &mut tiling,
                null_mut(),
            );
            assert_eq!(plan, UBTILE_SUCCESS);
            assert_eq!(unpool::ubtile_max_unpool2d_backward_run(&tiling, null(), &buffers), status);
        }
        assert_eq!(out, want);
    }
}
