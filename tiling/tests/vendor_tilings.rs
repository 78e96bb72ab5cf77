//! The vendor's tilings against published rows and against what must hold of any of them.

use proptest::prelude::*;
use ubtile_testkit::problems::Im2col;
use ubtile_tiling::grid_sampler_2d_backward as grid_sampler;
use ubtile_tiling::replication_pad2d_backward as replication_pad;
use ubtile_tiling::{Dtype, Edition, Problem, TensorDesc, VendorArch, VendorError, VendorMachine, vendor_plan};

fn machine(arch: VendorArch, vector_cores: usize, ub_bytes: usize) -> VendorMachine {
    VendorMachine { arch, vector_cores, ub_bytes, deterministic: false }
}

fn grid_sampler(dtype: Dtype, [n, c, hi, wi, ho, wo]: [usize; 6], interpolation: i64, padding_mode: i64) -> Problem {
    let tensor = |shape: &[usize]| TensorDesc::contiguous(dtype, shape).unwrap();
    let desc = grid_sampler::Desc {
        grad_output: tensor(&[n, c, ho, wo]),
        input: tensor(&[n, c, hi, wi]),
        grid: tensor(&[n, ho, wo, 2]),
        input_grad: tensor(&[n, c, hi, wi]),
        grid_grad: tensor(&[n, ho, wo, 2]),
        interpolation,
        padding_mode,
        align_corners: false,
        output_mask: &[true, true],
    };
    Problem::GridSampler2dBackward(grid_sampler::check(&desc, None, Edition::Any).unwrap())
}

fn replication_pad(dtype: Dtype, [n, c, h, w]: [usize; 4], padding: [i64; 4]) -> Problem {
    let [left, right, top, bottom] = padding.map(|p| p as isize);
    let tensor = |h, w| TensorDesc::contiguous(dtype, &[n, c, h, w]).unwrap();
    let padded = |n: usize, before, after| n.checked_add_signed(before + after).unwrap();
    let desc = replication_pad::Desc {
        grad_output: tensor(padded(h, top, bottom), padded(w, left, right)),
        self_tensor: tensor(h, w),
        padding: &padding,
        grad_input: tensor(h, w),
    };
    Problem::ReplicationPad2dBackward(replication_pad::check(&desc, None, Edition::Any).unwrap())
}

#[test]
fn published_row_of_the_grid_sampler() {
    let problem = grid_sampler(Dtype::F32, [2, 3, 16, 16, 8, 8], 0, 0);
    let plan = vendor_plan(&problem, &machine(VendorArch::Dav2201, 48, 196_608)).unwrap();
    assert_eq!((plan.tiling_key(), plan.block_dim(), plan.kernel_workspace_bytes()), (1, 48, 16_777_216));
    let expected = [
        ("pNumPerCore", 2),
        ("tailPNum", 32),
        ("ubFactorElement", 832),
        ("group", 1),
        ("usedCoreNumCast", 48),
        ("pNumPerCoreCast", 32),
        ("tailPNumCast", 0),
        ("castElement", 28_864),
    ];
    for (name, value) in expected {
        assert_eq!(plan.field(name), Some(value), "{name}");
    }
}

#[test]
fn published_row_of_replication_padding() {
    let problem = replication_pad(Dtype::F16, [1, 1, 64, 62], [1, 1, 0, 0]);
    let plan = vendor_plan(&problem, &machine(VendorArch::Dav2201, 64, 262_144)).unwrap();
    assert_eq!((plan.tiling_key(), plan.block_dim(), plan.kernel_workspace_bytes()), (2101, 64, 16_785_408));
    assert_eq!(plan.field("ubFactorElement"), Some(18_944));
    assert_eq!((plan.field("wCalCount"), plan.field("workspacePerCore")), (Some(32), Some(128)));
}

#[test]
fn im2col_of_an_empty_output() {
    let of_images = |n, [h, w]: [usize; 2]| {
        let spec = Im2col { n, c: 3, h, w, kernel: [3, 3], padding: [3, 3], ..Im2col::default() };
        Problem::Im2colBackward(spec.problem())
    };
    let of = |size| of_images(2, size);
    let [a2, ascend_950] = [VendorArch::Dav2201, VendorArch::Dav3510].map(|arch| machine(arch, 48, 196_608));
    for (size, name) in [([0, 5], "H"), ([5, 0], "W"), ([0, 0], "H")] {
        assert_eq!(vendor_plan(&of(size), &ascend_950).unwrap_err(), VendorError::Empty { name });
        assert_eq!(vendor_plan(&of(size), &a2).unwrap_err(), VendorError::NoWork);
    }
    assert_eq!(vendor_plan(&of_images(0, [0, 5]), &ascend_950).unwrap_err(), VendorError::NoWork);
}

#[test]
fn keys_name_the_kernel() {
    let a2 = machine(VendorArch::Dav2201, 48, 196_608);
    let ascend950 = machine(VendorArch::Dav3510, 64, 253_952);
    let fixed = VendorMachine { deterministic: true, ..ascend950 };
    let size = [2, 40, 16, 16, 8, 8];
    let key = |dtype, interpolation, padding, machine: &VendorMachine| {
        vendor_plan(&grid_sampler(dtype, size, interpolation, padding), machine).unwrap().tiling_key()
    };
    for (i, dtype) in [Dtype::F32, Dtype::F16, Dtype::Bf16].into_iter().enumerate() {
        for interpolation in 0..2 {
            let first = 1 + 2 * i + interpolation as usize;
            assert_eq!(key(dtype, interpolation, 0, &a2), first);
            assert_eq!(key(dtype, interpolation, 0, &ascend950), first);
            assert_eq!(key(dtype, interpolation, 0, &fixed), first + 6);
        }
        assert_eq!(key(dtype, 2, 0, &a2), 7 + i);
        assert_eq!(key(dtype, 2, 0, &ascend950), 13 + i);
        assert_eq!(key(dtype, 2, 0, &fixed), 16 + i);
    }
    // Border padding from 32 channels on is transposed on the 950.
    assert_eq!(key(Dtype::F32, 0, 1, &ascend950), 19);
    assert_eq!(key(Dtype::F32, 2, 1, &ascend950), 21);

    let pad = |shape, padding| vendor_plan(&replication_pad(Dtype::F32, shape, padding), &a2).unwrap().tiling_key();
    assert_eq!(pad([1, 1, 30, 30], [0, 0, 1, 0]), 1110);
    assert_eq!(pad([1, 1, 30, 30], [0, 3, 0, 0]), 1101);
    assert_eq!(pad([1, 1, 62, 62], [1, 1, 1, 1]), 1000);
    assert_eq!(pad([1, 1, 62, 63], [1, 1, 1, 1]), 1100);
    assert_eq!(pad([1, 1, 63, 62], [1, 1, 1, 1]), 1010);
    assert_eq!(pad([1, 1, 63, 63], [1, 1, 1, 1]), 1111);
}

#[test]
fn what_the_kernels_do_not_take_has_no_tiling() {
    let a2 = machine(VendorArch::Dav2201, 48, 196_608);
    // Where the vendor's library would not send them, the kernels' tilings exist all the same.
    let channels = grid_sampler(Dtype::F32, [1, 2049, 4, 4, 2, 2], 1, 0);
    let plan = vendor_plan(&channels, &a2).unwrap();
    assert_eq!((plan.tiling_key(), plan.field("group")), (2, Some(1)));
    let deep = replication_pad(Dtype::F32, [1, 1, 1, 70], [0, 1, 32, 33]);
    assert_eq!(vendor_plan(&deep, &a2).unwrap().tiling_key(), 11111);
    let cropped = replication_pad(Dtype::F32, [1, 1, 30, 30], [0, 0, -1, 0]);
    assert_eq!(vendor_plan(&cropped, &a2), Err(VendorError::Padding { got: -1 }));
    let double = replication_pad(Dtype::F64, [1, 1, 30, 30], [1, 1, 1, 1]);
    assert!(matches!(vendor_plan(&double, &a2), Err(VendorError::NoKernel { .. })));
    let small = machine(VendorArch::Dav2201, 48, 8 * 1024);
    let Err(VendorError::UbInsufficient { want, .. }) = vendor_plan(&channels_fit(), &small) else { panic!() };
    assert!(vendor_plan(&channels_fit(), &machine(VendorArch::Dav2201, 48, want)).is_ok());
    assert!(vendor_plan(&channels_fit(), &machine(VendorArch::Dav2201, 48, want - 1)).is_err());
}

fn channels_fit() -> Problem {
    grid_sampler(Dtype::F32, [1, 3, 4, 4, 2, 2], 0, 0)
}

proptest! {
    /// Every point is some core's, whatever the cores; a larger buffer never makes a smaller tile.
    #[test]
    fn cores_share_all_points(
        (n, c, hi, wi, ho, wo) in (1usize..9, 1usize..70, 1usize..40, 1usize..40, 1usize..40, 1usize..40),
        interpolation in 0i64..3,
        cores in 1usize..65,
        ub in 64usize..256,
        deterministic: bool,
    ) {
        let problem = grid_sampler(Dtype::F32, [n, c, hi, wi, ho, wo], interpolation, 0);
        let machine = VendorMachine { arch: VendorArch::Dav2201, vector_cores: cores, ub_bytes: ub * 1024, deterministic };
        let plan = vendor_plan(&problem, &machine).unwrap();
        let field = |name| plan.field(name).unwrap();
        let points = if deterministic {
            plan.block_dim() * field("pNumPerCore") + field("tailBNum") * ho * wo
        } else {
            plan.block_dim() * field("pNumPerCore") + field("tailPNum")
        };
        prop_assert_eq!(points, n * ho * wo);
        prop_assert!(plan.block_dim() <= cores);
        prop_assert_eq!(field("usedCoreNumCast") * field("pNumPerCoreCast") + field("tailPNumCast"), n * c * hi * wi);
        let larger = vendor_plan(&problem, &VendorMachine { ub_bytes: machine.ub_bytes + 4096, ..machine }).unwrap();
        prop_assert!(larger.field("ubFactorElement") >= plan.field("ubFactorElement"));
    }
}
