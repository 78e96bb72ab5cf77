//! The product files that are part of the program.

use super::catalog::Catalog;

pub(super) const EMBEDDED: Catalog<'static> = Catalog { families: &FAMILIES, socs: &SOCS };

const FAMILIES: [(&str, &str); 8] = [
    ("ascend", include_str!("../../products/families/ascend.toml")),
    ("davinci-2201", include_str!("../../products/families/davinci-2201.toml")),
    ("atlas-inference", include_str!("../../products/families/atlas-inference.toml")),
    ("atlas-training", include_str!("../../products/families/atlas-training.toml")),
    ("atlas-a2", include_str!("../../products/families/atlas-a2.toml")),
    ("atlas-a3", include_str!("../../products/families/atlas-a3.toml")),
    ("atlas-200i-a2", include_str!("../../products/families/atlas-200i-a2.toml")),
    ("ascend-950", include_str!("../../products/families/ascend-950.toml")),
];

const SOCS: [(&str, &str); 27] = [
    ("Ascend310P1", include_str!("../../products/Ascend310P1.toml")),
    ("Ascend310P3", include_str!("../../products/Ascend310P3.toml")),
    ("Ascend310P5", include_str!("../../products/Ascend310P5.toml")),
    ("Ascend310P7", include_str!("../../products/Ascend310P7.toml")),
    ("Ascend910A", include_str!("../../products/Ascend910A.toml")),
    ("Ascend910B", include_str!("../../products/Ascend910B.toml")),
    ("Ascend910ProA", include_str!("../../products/Ascend910ProA.toml")),
    ("Ascend910ProB", include_str!("../../products/Ascend910ProB.toml")),
    ("Ascend910PremiumA", include_str!("../../products/Ascend910PremiumA.toml")),
    ("Ascend910B1", include_str!("../../products/Ascend910B1.toml")),
    ("Ascend910B2", include_str!("../../products/Ascend910B2.toml")),
    ("Ascend910B2C", include_str!("../../products/Ascend910B2C.toml")),
    ("Ascend910B3", include_str!("../../products/Ascend910B3.toml")),
    ("Ascend910B4", include_str!("../../products/Ascend910B4.toml")),
    ("Ascend910B4-1", include_str!("../../products/Ascend910B4-1.toml")),
    ("Ascend910_9391", include_str!("../../products/Ascend910_9391.toml")),
    ("Ascend910_9392", include_str!("../../products/Ascend910_9392.toml")),
    ("Ascend910_9381", include_str!("../../products/Ascend910_9381.toml")),
    ("Ascend910_9382", include_str!("../../products/Ascend910_9382.toml")),
    ("Ascend910_9372", include_str!("../../products/Ascend910_9372.toml")),
    ("Ascend910_9362", include_str!("../../products/Ascend910_9362.toml")),
    ("Ascend310B1", include_str!("../../products/Ascend310B1.toml")),
    ("Ascend310B2", include_str!("../../products/Ascend310B2.toml")),
    ("Ascend310B3", include_str!("../../products/Ascend310B3.toml")),
    ("Ascend310B4", include_str!("../../products/Ascend310B4.toml")),
    ("Ascend910_95", include_str!("../../products/Ascend910_95.toml")),
    ("Ascend910_5591", include_str!("../../products/Ascend910_5591.toml")),
];
