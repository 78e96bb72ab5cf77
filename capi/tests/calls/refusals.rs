//! What is not usable, and plans whose bytes were changed.

use super::*;

#[test]
fn what_is_not_usable_is_refused() {
    let (mut tiling, desc, machine) = (pad::ReplicationPadTiling { opaque: [0; _] }, pad_desc(), target(c"host"));
    let mut data = [1f32; 16];
    let whole = data.as_mut_ptr();
    let buffers = |from: *mut f32, to: *mut f32, bytes| pad::ReplicationPadBuffers {
        grad_output: Input { data: from.cast(), bytes },
        grad_input: Output { data: to.cast(), bytes: 16 },
        workspace: NONE,
    };
    // SAFETY: all pointers are NULL or to what they say.
    unsafe {
        let run =
            |buffers: *const _, tiling: *const _| pad::ubtile_replication_pad2d_backward_run(tiling, null(), buffers);
        let good = buffers(whole, whole.add(12), 48);
        assert_eq!(run(&good, &tiling), UBTILE_ERROR_PARAM_INVALID, "a plan that was never made");
        let plan = pad::ubtile_replication_pad2d_backward_plan;
        assert_eq!(plan(null(), &machine, null(), &mut tiling, null_mut()), UBTILE_ERROR_PARAM_NULLPTR);
        assert_eq!(plan(&desc, &machine, null(), null_mut(), null_mut()), UBTILE_ERROR_PARAM_NULLPTR);
        let tiny = Target { local_bytes: 1, ..machine };
        assert_eq!(plan(&desc, &tiny, null(), &mut tiling, null_mut()), UBTILE_ERROR_TILING);
        assert_eq!(plan(&desc, &machine, null(), &mut tiling, null_mut()), UBTILE_SUCCESS);
        assert_eq!(run(&good, &tiling), UBTILE_SUCCESS);
        assert_eq!(run(null(), &tiling), UBTILE_ERROR_PARAM_NULLPTR);
        assert_eq!(run(&good, null()), UBTILE_ERROR_PARAM_NULLPTR);
        assert_eq!(run(&buffers(whole, whole.add(11), 48), &tiling), UBTILE_ERROR_PARAM_INVALID, "overlap");
        assert_eq!(run(&buffers(whole, whole.add(12), 47), &tiling), UBTILE_ERROR_PARAM_INVALID, "too short");
        assert_eq!(run(&buffers(null_mut(), whole.add(12), 48), &tiling), UBTILE_ERROR_PARAM_NULLPTR);
        let odd = whole.byte_add(1);
        assert_eq!(run(&buffers(odd, whole.add(13).byte_add(2), 48), &tiling), UBTILE_ERROR_PARAM_INVALID, "alignment");
        for none in [
            Target { cores: 0, ..machine },
            Target { block_bytes: 0, ..machine },
            Target { vector_bytes: 0, ..machine },
        ] {
            let status = plan(&desc, &none, null(), &mut tiling, null_mut());
            assert_eq!(status, UBTILE_ERROR_PARAM_INVALID, "{none:?}");
            assert_eq!(run(&good, &tiling), UBTILE_ERROR_PARAM_INVALID, "no plan is left behind");
            let mut bytes = [0; pad::UBTILE_REPLICATION_PAD2D_BACKWARD_STORED_BYTES];
            let store = pad::ubtile_replication_pad2d_backward_store;
            let status = store(&desc, &none, null(), bytes.as_mut_ptr(), bytes.len());
            assert_eq!(status, UBTILE_ERROR_PARAM_INVALID, "{none:?}");
        }
        let least = Target { cores: 1, block_bytes: 1, vector_bytes: 1, ..machine };
        assert_eq!(plan(&desc, &least, null(), &mut tiling, null_mut()), UBTILE_SUCCESS);
        assert_eq!(run(&good, &tiling), UBTILE_SUCCESS);
        // A plan that could not be made leaves none behind, whatever was missing.
        for (no_desc, no_machine) in [(null(), &raw const machine), (&raw const desc, null())] {
            assert_eq!(plan(&raw const desc, &raw const least, null(), &mut tiling, null_mut()), UBTILE_SUCCESS);
            assert_eq!(plan(no_desc, no_machine, null(), &mut tiling, null_mut()), UBTILE_ERROR_PARAM_NULLPTR);
            assert_eq!(run(&good, &tiling), UBTILE_ERROR_PARAM_INVALID);
        }
        let load = pad::ubtile_replication_pad2d_backward_load;
        for (at, len, status) in [
            (null(), pad::UBTILE_REPLICATION_PAD2D_BACKWARD_STORED_BYTES, UBTILE_ERROR_PARAM_NULLPTR),
            (whole.cast::<u8>().cast_const(), 8, UBTILE_ERROR_PARAM_INVALID),
        ] {
            assert_eq!(plan(&raw const desc, &raw const least, null(), &mut tiling, null_mut()), UBTILE_SUCCESS);
            assert_eq!(load(at, len, null_mut(), &mut tiling, null_mut()), status);
            assert_eq!(run(&good, &tiling), UBTILE_ERROR_PARAM_INVALID);
        }
        let wrong = pad::ReplicationPadDesc { padding: [1, 1, 1, 1], ..desc };
        assert_eq!(plan(&wrong, &machine, null(), &mut tiling, null_mut()), UBTILE_ERROR_PARAM_INVALID);
        assert_eq!(run(&good, &tiling), UBTILE_ERROR_PARAM_INVALID);
    }
}

/// Every flipped bit of a stored plan is found, and whole it is the same plan.
#[test]
fn a_stored_plan_comes_back_whole_or_not_at_all() {
    let (desc, machine) = (grid_desc(UBTILE_F16, 3), Target { vector_bytes: 4, ..target(c"host") });
    let options = Options { workspace_limit: 5000, local_bytes: UBTILE_DEFAULT };
    let mut bytes = [0u8; grid::UBTILE_GRID_SAMPLER_2D_BACKWARD_STORED_BYTES];
    let mut there = [grid::GridSamplerTiling { opaque: [0; _] }; 2];
    // SAFETY: all pointers are to what they say.
    unsafe {
        let [planned, loaded] = &mut there;
        let (mut before, mut after, mut read) = (0, 0, grid::GridSamplerDesc::default());
        let plan = grid::ubtile_grid_sampler_2d_backward_plan(&desc, &machine, &options, planned, &mut before);
        assert_eq!(plan, UBTILE_SUCCESS);
        let (at, len) = (bytes.as_mut_ptr(), bytes.len());
        let store = grid::ubtile_grid_sampler_2d_backward_store;
        for wrong in [0, len - 1, len + 1, 2 * len] {
            assert_eq!(store(&desc, &machine, &options, at, wrong), UBTILE_ERROR_PARAM_INVALID, "{wrong} bytes");
        }
        assert_eq!(store(&desc, &machine, &options, at, len), UBTILE_SUCCESS);
        let load = grid::ubtile_grid_sampler_2d_backward_load;
        assert_eq!(load(at, len, &mut read, loaded, &mut after), UBTILE_SUCCESS);
        assert_eq!((before, read.grid.shape), (after, desc.grid.shape));
        assert!(before > 0 && before <= 5000);
        for bit in 0..len * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(load(bytes.as_ptr(), len, null_mut(), loaded, null_mut()), UBTILE_ERROR_PARAM_INVALID, "{bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(load(bytes.as_ptr(), len - 8, null_mut(), loaded, null_mut()), UBTILE_ERROR_PARAM_INVALID);
    }
    // The format is the same on every machine: words, little endian.
    assert_eq!(&bytes[..8], b"ubtile\0\x01");
    assert_eq!(&bytes[8..24], &[[0u8; 8], [UBTILE_F16 as u8, 0, 0, 0, 0, 0, 0, 0]].concat()[..]);
}
