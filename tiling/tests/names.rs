//! Names and numbers that leave the crate: each leads back to what it names, and those of other people's are theirs.

use std::collections::BTreeSet;

use ubtile_tiling::{
    Bound, Choice, Dims, Dtype, EarlySuccess, Edition, Larger, Limit, Operator, Product, Route, Status, TargetSpec,
    VendorArch,
};

/// All names are different, not empty, and lead back where there is a way back.
fn distinct<T: Copy + PartialEq + std::fmt::Debug>(
    all: &[T],
    name: impl Fn(T) -> &'static str,
    from: impl Fn(&str) -> Option<T>,
) {
    let names: BTreeSet<_> = all.iter().map(|&item| name(item)).collect();
    assert_eq!(names.len(), all.len(), "{names:?}");
    for &item in all {
        assert_eq!(from(name(item)), Some(item));
        assert_eq!(from(&format!("{} ", name(item))), None);
    }
    assert_eq!(from(""), None);
}

#[test]
fn names_lead_back() {
    distinct(&Operator::ALL, Operator::name, Operator::from_name);
    distinct(&Product::ALL, Product::name, Product::from_name);
    distinct(&Edition::ALL, Edition::name, Edition::from_name);
    distinct(&Dtype::ALL, Dtype::name, Dtype::from_name);
    let bounds = [Bound::LocalBytes, Bound::WorkspaceLimit, Bound::Cores, Bound::Work, Bound::Numerics, Bound::Vendor];
    distinct(&bounds, Bound::name, |name| bounds.into_iter().find(|bound| bound.name() == name));
    assert_eq!([Route::AiCore.name(), Route::Aicpu.name()], ["aicore", "aicpu"]);
    assert_eq!([VendorArch::Dav2201.name(), VendorArch::Dav3510.name()], ["DAV_2201", "DAV_3510"]);
}

/// `aclDataType` of `acl/acl_base.h`, and the statuses of `aclnn/acl_meta.h`.
#[test]
fn the_vendors_numbers() {
    let numbers = [
        (Dtype::F32, 0),
        (Dtype::F16, 1),
        (Dtype::I8, 2),
        (Dtype::I32, 3),
        (Dtype::U8, 4),
        (Dtype::I16, 6),
        (Dtype::I64, 9),
        (Dtype::F64, 11),
        (Dtype::Bool, 12),
        (Dtype::C64, 16),
        (Dtype::C128, 17),
        (Dtype::Bf16, 27),
    ];
    assert_eq!(numbers.len(), Dtype::ALL.len());
    for (dtype, number) in numbers {
        assert_eq!(dtype.acl(), number, "{dtype}");
    }
    for (status, code, name) in [
        (Status::Success, 0, "ACLNN_SUCCESS"),
        (Status::ParamNullptr, 161_001, "ACLNN_ERR_PARAM_NULLPTR"),
        (Status::ParamInvalid, 161_002, "ACLNN_ERR_PARAM_INVALID"),
        (Status::RuntimeError, 361_001, "ACLNN_ERR_RUNTIME_ERROR"),
        (Status::InnerTilingError, 561_002, "ACLNN_ERR_INNER_TILING_ERROR"),
    ] {
        assert_eq!((status.code(), status.name()), (code, name));
    }
}

#[test]
fn words_for_limits_and_reasons() {
    assert_eq!(Limit::Channels(32).to_string(), "C <= 32");
    assert_eq!(Limit::PaddingAndSize(5, 7).to_string(), format!("{}, grad_output <= 5 x 7", Limit::Padding));
    let gather = Limit::GatherRow(192 << 10).to_string();
    assert!(
        ["2 GiB", "2^30", "rows fit 192 KiB", "3000 KiB", "2000"].iter().all(|said| gather.contains(said)),
        "{gather}"
    );
    assert_eq!(EarlySuccess::Empty(ubtile_tiling::Tensor::Grid).to_string(), "grid is empty");
    assert!(EarlySuccess::NothingWanted.to_string().contains("output-mask"));
    let shape = Dims::new(&[2, 30, 4]).unwrap();
    assert_eq!(format!("{shape} {shape:?}"), "[2, 30, 4] [2, 30, 4]");
    assert!(Dims::new(&[1; 9]).unwrap_err().to_string().contains("9 dimensions"));
}

/// What is left, and what is too much.
#[test]
fn slack_and_excess() {
    let larger = |needs| Larger { value: 3, bound: Bound::LocalBytes, limit: 100, needs };
    assert_eq!([100, 101, 250].map(|needs| larger(needs).over()), [0, 1, 150]);
    let choice = |used| Choice {
        name: "tile_rows",
        value: 2,
        bound: Bound::LocalBytes,
        limit: 100,
        used,
        alternative: None,
        larger: larger(101),
    };
    assert_eq!([100, 99, 0].map(|used| choice(used).slack()), [0, 1, 100]);
}

/// Machines without an operating system: more than one core has caches, and one has none.
#[test]
fn bare_metal_machines() {
    for name in ["cortex-m3", "cortex-m4", "cortex-m33", "riscv32imac", "cortex-a53"] {
        let spec = TargetSpec::from_name(name).unwrap_or_else(|| panic!("{name}"));
        assert!(spec.cores >= 1 && spec.local_bytes >= 1024 && spec.block_bytes.is_power_of_two(), "{name}: {spec:?}");
        assert_eq!(spec.capabilities.caches, spec.cores > 1, "{name}");
    }
    assert_eq!(TargetSpec::from_name("pdp-11"), None);
}
