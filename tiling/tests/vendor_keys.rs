//! Why a tiling of the vendor's has its key, and which changes give another: those that are told are true and the nearest, and none
//! that gives another is left out.

use proptest::prelude::*;
use proptest::sample::select;
use ubtile_testkit::problems::{GridSampler, Im2col, MaxUnpool, ReplicationPad};
use ubtile_testkit::strategies;
use ubtile_tiling::grid_sampler_2d_backward::{Interpolation, PaddingMode};
use ubtile_tiling::{Dtype, Problem, VendorArch, VendorMachine, VendorPlan, vendor_plan};

const DTYPES: [(&str, Dtype); 3] = [("f32", Dtype::F32), ("f16", Dtype::F16), ("bf16", Dtype::Bf16)];

fn machine(arch: VendorArch) -> VendorMachine {
    VendorMachine { arch, vector_cores: 48, ub_bytes: 192 << 10, deterministic: false }
}

fn grid_sampler(spec: &GridSampler, machine: &VendorMachine) -> VendorPlan {
    vendor_plan(&Problem::GridSampler2dBackward(spec.problem()), machine).unwrap()
}

fn max_unpool(spec: &MaxUnpool, machine: &VendorMachine) -> VendorPlan {
    vendor_plan(&Problem::MaxUnpool2dBackward(spec.problem()), machine).unwrap()
}

fn replication_pad(spec: &ReplicationPad) -> VendorPlan {
    vendor_plan(&Problem::ReplicationPad2dBackward(spec.problem()), &machine(VendorArch::Dav2201)).unwrap()
}

/// The changes and keys that a plan tells of, in the order of the words.
fn told(plan: &VendorPlan) -> Vec<(String, usize)> {
    let mut told: Vec<_> = plan.neighbours().map(|n| (n.change.to_string(), n.tiling_key)).collect();
    told.sort();
    told
}

/// Those of the changes that give another key, in the order of the words.
fn others(own: usize, changes: impl IntoIterator<Item = (String, usize)>) -> Vec<(String, usize)> {
    let mut others: Vec<_> = changes.into_iter().filter(|&(_, key)| key != own).collect();
    others.sort();
    others
}

/// The size nearest to `from` that gives another key than that one has, for each such key, as it is told; found by trying.
fn nearest(name: &str, from: usize, most: usize, key: impl Fn(usize) -> usize) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    for away in 1..most {
        let sizes = [from.checked_sub(away).filter(|&size| size > 0), Some(from + away).filter(|&size| size <= most)];
        for size in sizes.into_iter().flatten() {
            let other = key(size);
            if other != key(from) && found.iter().all(|(_, known)| *known != other) {
                let more = if size > from { "more" } else { "less" };
                found.push((format!("{name} {size}, {away} {more}"), other));
            }
        }
    }
    found
}

fn grid_sampler_changes(spec: &GridSampler, machine: &VendorMachine) -> Vec<(String, usize)> {
    let key = |spec: &GridSampler, machine: &VendorMachine| grid_sampler(spec, machine).tiling_key();
    let mut changes = Vec::new();
    for (to, dtype) in DTYPES {
        changes.push((format!("dtype {to}"), key(&GridSampler { dtype, ..*spec }, machine)));
    }
    use Interpolation::{Bicubic, Bilinear, Nearest};
    for (to, interpolation) in [("bilinear", Bilinear), ("nearest", Nearest), ("bicubic", Bicubic)] {
        changes.push((format!("interpolation {to}"), key(&GridSampler { interpolation, ..*spec }, machine)));
    }
    use PaddingMode::{Border, Reflection, Zeros};
    for (to, padding_mode) in [("zeros", Zeros), ("border", Border), ("reflection", Reflection)] {
        changes.push((format!("padding-mode {to}"), key(&GridSampler { padding_mode, ..*spec }, machine)));
    }
    let deterministic = !machine.deterministic;
    let toggled = VendorMachine { deterministic, ..*machine };
    changes.push((format!("deterministic {}", u8::from(deterministic)), key(spec, &toggled)));
    changes
}

#[test]
fn keys_of_the_grid_sampler() {
    for (arch, deterministic) in [
        (VendorArch::Dav2201, false),
        (VendorArch::Dav2201, true),
        (VendorArch::Dav3510, false),
        (VendorArch::Dav3510, true),
    ] {
        for mode in GridSampler::modes().filter(|mode| !mode.align_corners) {
            for (_, dtype) in DTYPES {
                let machine = VendorMachine { deterministic, ..machine(arch) };
                let spec = |c| GridSampler { dtype, c, ..mode };
                let keys: Vec<_> = (0..2200).map(|c| grid_sampler(&spec(c.max(1)), &machine).tiling_key()).collect();
                for c in [31, 32, 127, 128, 200, 1087, 1088, 2040, 2048, 2049, 2100] {
                    let mut changes = grid_sampler_changes(&spec(c), &machine);
                    changes.extend(nearest("C", c, 2199, |c| keys[c]));
                    let plan = grid_sampler(&spec(c), &machine);
                    assert_eq!(told(&plan), others(plan.tiling_key(), changes), "{:?} {machine:?}", spec(c));
                }
            }
        }
    }
}

#[test]
fn keys_of_im2col() {
    for (_, dtype) in DTYPES {
        let of = |dtype| {
            let problem = Im2col { dtype, out_dtype: dtype, ..Default::default() }.problem();
            vendor_plan(&Problem::Im2colBackward(problem), &machine(VendorArch::Dav3510)).unwrap()
        };
        let changes = DTYPES.map(|(to, dtype)| (format!("dtype {to}"), of(dtype).tiling_key()));
        assert_eq!(told(&of(dtype)), others(of(dtype).tiling_key(), changes));
    }
}

/// Each change of one attribute and the key that it gives the same image, if there can be one.
fn padding_changes(spec: &ReplicationPad) -> Vec<(String, Option<usize>)> {
    let key = |spec: &ReplicationPad| replication_pad(spec).tiling_key();
    let [left, right, top, bottom] = spec.padding;
    let padded = [spec.h as i64 + top + bottom, spec.w as i64 + left + right];
    let toggled = |pad: i64| i64::from(pad == 0);
    let with = |padding| Some(key(&ReplicationPad { padding, ..*spec }));
    let mut changes = vec![
        ("padding left and right 0".to_owned(), with([0, 0, top, bottom])),
        ("padding top and bottom 0".to_owned(), with([left, right, 0, 0])),
        (format!("padding left {}", toggled(left)), with([toggled(left), right, top, bottom])),
        (format!("padding top {}", toggled(top)), with([left, right, toggled(top), bottom])),
    ];
    for (to, dtype) in DTYPES {
        changes.push((format!("dtype {to}"), Some(key(&ReplicationPad { dtype, ..*spec }))));
    }
    for (axis, name) in ["height", "width"].into_iter().enumerate() {
        let to = if padded[axis] > 64 { 64 } else { 65 };
        let more = if to > padded[axis] { "more" } else { "less" };
        let name = format!("{name} of grad_output {to}, {} {more}", to.abs_diff(padded[axis]));
        let image = |size: usize| (size as i64 + to - padded[axis]).max(0) as usize;
        let resized = match axis {
            0 => ReplicationPad { h: image(spec.h), ..*spec },
            _ => ReplicationPad { w: image(spec.w), ..*spec },
        };
        // Some sizes cannot be with that padding.
        changes.push((name, (resized.h > 0 && resized.w > 0).then(|| key(&resized))));
    }
    changes
}

fn pads() -> impl Strategy<Value = i64> {
    prop_oneof![1 => Just(0i64), 1 => 1..4i64]
}

proptest! {
    #![proptest_config(strategies::cases(1000))]

    #[test]
    fn keys_of_replication_padding(
        dtype in select(&DTYPES), (h, w) in (select(&[1usize, 2, 30, 61, 62, 63, 64, 65, 90]), select(&[1usize, 30, 61, 62, 63, 64, 65, 90])),
        padding in [pads(), pads(), pads(), pads()], large in select(&[0i64, 0, 0, 70]),
    ) {
        let [left, right, top, bottom] = padding;
        let spec = ReplicationPad { dtype: dtype.1, n: 1, c: 2, h, w, padding: [left, right, top + large, bottom], ..Default::default() };
        let plan = replication_pad(&spec);
        let own = plan.tiling_key();
        let (mut told, mut changes) = (told(&plan), padding_changes(&spec));
        // A padding that the kernels do not take is refused in BF16: no key is told for it.
        let beyond = |[left, right, top, bottom]: [i64; 4]| {
            (top != 0 || bottom != 0) && [left, right, top, bottom].into_iter().any(|pad| pad > 7)
        };
        let refused = |change: &str| {
            let bf16 = if let Some(dtype) = change.strip_prefix("dtype ") { dtype == "bf16" } else { spec.dtype == Dtype::Bf16 };
            bf16 && beyond(match change.strip_prefix("padding ") {
                Some("left and right 0") => [0, 0, spec.padding[2], spec.padding[3]],
                Some("top and bottom 0") => [left, right, 0, 0],
                Some(left) if left.starts_with("left") => [1, right, spec.padding[2], spec.padding[3]],
                Some(_) => [left, right, i64::from(spec.padding[2] == 0), bottom],
                None => spec.padding,
            })
        };
        prop_assert!(told.iter().all(|(change, _)| !refused(change)), "{:?}: {:?}", spec, told);
        changes.retain(|(change, _)| !refused(change));
        changes.retain(|(change, key)| key.is_some() || told.iter().all(|(name, _)| name != change));
        told.retain(|(change, _)| changes.iter().any(|(name, key)| name == change && key.is_some()));
        let keys = changes.into_iter().filter_map(|(change, key)| Some((change, key?)));
        prop_assert_eq!(told, others(own, keys), "{:?}", spec);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn keys_of_max_unpooling(
        (planes, axis, inner) in (select(&[1usize, 40]), 1..400usize, 1..60usize), ub in 100..4000usize,
        dtype in select(&[Dtype::F16, Dtype::F32, Dtype::I64]),
    ) {
        let spec = MaxUnpool { dtype, out_dtype: dtype, n: 1, c: planes, h: 1, w: inner, out_h: 1, out_w: axis, ..Default::default() };
        let machine = VendorMachine { ub_bytes: ub, ..machine(VendorArch::Dav3510) };
        let key = |spec: &MaxUnpool, ub_bytes: usize| max_unpool(spec, &VendorMachine { ub_bytes, ..machine }).tiling_key();
        let mut changes = nearest("bytes of the unified buffer", ub, 9000, |ub| key(&spec, ub));
        changes.extend(nearest("elements of a plane of indices", inner, 600, |w| key(&MaxUnpool { w, ..spec }, ub)));
        changes.extend(nearest("elements of a plane of grad_output", axis, 2000, |out_w| key(&MaxUnpool { out_w, ..spec }, ub)));
        let mut known = told(&max_unpool(&spec, &machine));
        // Planes enough for offsets beyond 32 bits are another test's.
        known.retain(|(change, _)| !change.starts_with("N x C"));
        prop_assert_eq!(known, others(key(&spec, ub), changes));
    }
}

/// Rows are loaded whole where there are fewer than 32 cells of the source for each that is gathered.
#[test]
fn planes_of_indices_beside_large_sources() {
    const NAME: &str = "elements of a plane of indices";
    for (axis, inner) in [1055, 1056, 1087, 1088, 1300]
        .into_iter()
        .flat_map(|axis| [30, 33, 34, 35, 40, 41, 60].map(|inner| (axis, inner)))
    {
        let machine = machine(VendorArch::Dav3510);
        let of =
            |w| max_unpool(&MaxUnpool { n: 1, c: 1, h: 1, w, out_h: 1, out_w: axis, ..Default::default() }, &machine);
        let mut known = told(&of(inner));
        known.retain(|(change, _)| change.starts_with(NAME));
        let changes = nearest(NAME, inner, 600, |w| of(w).tiling_key());
        assert_eq!(known, others(of(inner).tiling_key(), changes), "{axis} {inner}");
    }
}

/// Offsets of 32 bits reach 2^31 - 1 elements of `grad_output`, which is a prime number; one more takes the key for 64 bits.
#[test]
fn keys_beyond_int32() {
    let machine = machine(VendorArch::Dav3510);
    let of = |c: usize, out_w: usize| {
        max_unpool(&MaxUnpool { n: 1, c, h: 1, w: 1, out_h: 1, out_w, ..Default::default() }, &machine)
    };
    let most = i32::MAX as usize;
    assert_eq!(
        [of(1, most), of(1, most + 1), of(most, 1), of(most + 1, 1)].map(|p| p.tiling_key()),
        [201, 211, 201, 211]
    );
    for (c, out_w) in [(1000, 1 << 20), (4000, 1 << 20), (1 << 31, 1), (most, 1), (2048, 1 << 20), (2047, 1 << 20)] {
        let plan = of(c, out_w);
        let wide = c * out_w > most;
        assert_eq!(plan.tiling_key(), if wide { 211 } else { 201 });
        // The most planes that offsets of 32 bits reach, or one more.
        let to = if wide { most / out_w } else { most / out_w + 1 };
        let more = if wide { "less" } else { "more" };
        let change = (format!("N x C {to}, {} {more}", to.abs_diff(c)), if wide { 201 } else { 211 });
        assert!(told(&plan).contains(&change), "{change:?} of {:?}", told(&plan));
    }
    // Where rows are loaded whole no key depends on it.
    let whole = MaxUnpool { n: 1, c: 3, h: 8, w: 8, out_h: 16, out_w: 16, ..Default::default() };
    assert!(told(&max_unpool(&whole, &machine)).iter().all(|(change, _)| !change.starts_with("N x C")));
}

/// Tilings that differ in more than the dtype say other reasons for their keys; those that differ in nothing else the same.
#[test]
fn rules_tell_kernels_apart() {
    let pad = |[h, w]: [usize; 2], padding| {
        DTYPES.map(|(_, dtype)| {
            replication_pad(&ReplicationPad { dtype, n: 1, c: 1, h, w, padding, ..Default::default() })
        })
    };
    let grid = |arch, c| {
        let spec = GridSampler { c, padding_mode: PaddingMode::Border, ..Default::default() };
        DTYPES.map(|(_, dtype)| grid_sampler(&GridSampler { dtype, ..spec }, &machine(arch)))
    };
    let unpool = |side| {
        let spec = MaxUnpool { h: 8, w: 8, out_h: side, out_w: side, ..Default::default() };
        [Dtype::F16, Dtype::F32, Dtype::I32]
            .map(|dtype| max_unpool(&MaxUnpool { dtype, out_dtype: dtype, ..spec }, &machine(VendorArch::Dav3510)))
    };
    let simd = grid_sampler(
        &GridSampler { c: 40, padding_mode: PaddingMode::Border, ..Default::default() },
        &machine(VendorArch::Dav3510),
    );
    let kernels = [
        ("only top and bottom", pad([5, 6], [0, 0, 1, 2]).to_vec()),
        ("only left and right", pad([5, 6], [1, 2, 0, 0]).to_vec()),
        ("at most 64 x 64", pad([5, 6], [1, 2, 1, 2]).to_vec()),
        ("wider than 64", pad([5, 66], [1, 2, 1, 2]).to_vec()),
        ("higher than 64", pad([66, 5], [1, 2, 1, 2]).to_vec()),
        ("larger than 64 both ways; 1000 more", pad([66, 67], [1, 2, 1, 2]).to_vec()),
        ("grad_input one row", pad([1, 67], [1, 2, 40, 40]).to_vec()),
        ("bilinear and nearest are 1 and 2", grid(VendorArch::Dav2201, 31).to_vec()),
        ("a thread for each point", grid(VendorArch::Dav3510, 31).to_vec()),
        ("channels last", vec![simd]),
        ("fit the unified buffer", unpool(16).to_vec()),
        ("a thread gathers each element", unpool(300).to_vec()),
    ];
    for (i, (words, plans)) in kernels.iter().enumerate() {
        for plan in plans {
            assert!(plan.key_rule().contains(words), "{} is {}", plan.tiling_key(), plan.key_rule());
            let others = kernels.iter().enumerate().filter(|(k, _)| *k != i).flat_map(|(_, (_, plans))| plans);
            for other in others {
                assert!(other.operator() != plan.operator() || other.key_rule() != plan.key_rule(), "{words}");
            }
        }
    }
}
