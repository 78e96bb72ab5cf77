//! Refusals of runs say the numbers that they are about.

use ubtile_kernels::{Feature, RunError, Values, ValuesMut};
use ubtile_tiling::{Dtype, Operator, Tensor};

#[test]
fn runs() {
    let operator = Operator::MaxUnpool2dBackward;
    for (error, words) in [
        (RunError::Dtype { tensor: Tensor::Grid, got: Dtype::F16, want: Dtype::F32 }, ["grid", "f16", "f32"]),
        (RunError::Length { tensor: Tensor::Out, got: 5, want: 12 }, ["out", "5 elements", "12"]),
        (RunError::Workspace { got: 63, want: 640 }, ["workspace", "63 bytes", "640"]),
        (RunError::NotBuilt { operator, feature: Feature::Bf16 }, [operator.name(), "feature", "bf16"]),
        (RunError::Alignment { got: 1, want: 4 }, ["1 bytes", "multiple of 4", "share"]),
        (RunError::NoShare { phase: 3, share: 5, shares: 2 }, ["phase 3", "share 5", "2 shares"]),
        (RunError::Copy { phase: 0, copies: 2 }, ["phase 0", "2", "stage_share"]),
        (RunError::NoCopy { phase: 3, copies: 2 }, ["phase 3", "2", "run_share"]),
        (RunError::Index { position: 17, index: -3, cells: 36 }, ["indices[17]", "-3", "below 36"]),
    ] {
        let text = error.to_string();
        assert!(text.lines().count() == 1 && words.iter().all(|word| text.contains(word)), "{text}");
        assert!(error.status().code() != 0);
    }
}

/// As `Cargo.toml` has them.
#[test]
fn features_have_the_names_of_the_build() {
    let manifest = include_str!("../Cargo.toml");
    let all = [
        Feature::F16,
        Feature::Bf16,
        Feature::F32,
        Feature::F64,
        Feature::Integer,
        Feature::Complex,
        Feature::Bicubic,
        Feature::ChannelsLast,
        Feature::Copies,
    ];
    for feature in all {
        assert!(manifest.lines().any(|line| line.starts_with(&format!("{feature} = "))), "{feature}");
    }
}

#[test]
fn values_of_slices() {
    let mut numbers = [1.0f32, 2.0];
    assert!(matches!(Values::from(&numbers[..]), Values::F32([1.0, 2.0])));
    assert!(Values::from(&numbers[..0]).is_empty() && !Values::from(&numbers[..]).is_empty());
    let ValuesMut::F32(all) = ValuesMut::from(&mut numbers[..]) else { panic!("another dtype") };
    all[1] = 3.0;
    assert_eq!(numbers, [1.0, 3.0]);
}
