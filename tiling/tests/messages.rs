//! Refusals of plans say the numbers that they are about.

use ubtile_tiling::{Bound, Dtype, Operator, PlanError, VendorArch, VendorError};

fn says(error: &impl ToString, words: &[&str]) {
    let text = error.to_string();
    assert!(text.lines().count() == 1 && words.iter().all(|word| text.contains(word)), "{text}, not {words:?}");
}

#[test]
fn plans() {
    says(&PlanError::LocalBytes { got: 700, want: 1024 }, &["700", "1024", "324 more"]);
    let tile = |got, bound, used, limit, fits| PlanError::Tile { name: "tile_rows", got, bound, used, limit, fits };
    says(&tile(9, Bound::LocalBytes, 5000, 4096, 7), &["tile_rows 9", "5000 bytes", "904 more", "4096", "7 fits"]);
    says(&tile(12, Bound::Work, 12, 10, 10), &["12 is 2 more than the 10", "10 fits"]);
    says(&tile(0, Bound::Work, 0, 10, 0), &["tile_rows 0", "1 is the least"]);
    says(&tile(65, Bound::Vendor, 65, 64, 64), &["65 is no multiple of 64", "64 fits"]);
    assert!(!tile(12, Bound::Work, 12, 10, 0).to_string().contains("fits"));
    let none = PlanError::NoTile { operator: Operator::Im2colBackward, names: &["tile_rows", "tile_columns"] };
    says(&none, &[Operator::Im2colBackward.name(), "tile_rows, tile_columns"]);
    says(&PlanError::NoTile { operator: Operator::Im2colBackward, names: &[] }, &["no size can be set"]);
    says(&PlanError::NotBuilt { feature: "halves" }, &["without", "halves"]);
    says(&PlanError::TooLarge, &["address space"]);
}

#[test]
fn tilings_of_the_vendor() {
    let operator = Operator::MaxUnpool2dBackward;
    let vendor_name = operator.vendor_name();
    says(&VendorError::NotPublished { operator, arch: VendorArch::Dav2201 }, &[vendor_name, "DAV_2201"]);
    says(&VendorError::NoKernel { operator, dtype: Dtype::F64 }, &[vendor_name, "f64", "AI Core"]);
    says(&VendorError::Padding { got: -3 }, &["-3"]);
    says(&VendorError::UbInsufficient { got: 1000, want: 4000 }, &["1000", "4000", "3000"]);
    says(&VendorError::Beyond { name: "batch", got: 7, most: 5 }, &["batch 7", "2 more", "the 5"]);
    says(&VendorError::Empty { name: "H" }, &["H is 0", "no less than 1"]);
    says(&VendorError::NoWork, &["no kernel"]);
    says(&VendorError::TooLarge, &["sizes"]);
}
