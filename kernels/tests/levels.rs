//! The levels of this machine, as callers see them. What they compute is tested beside them and by every operator.

use ubtile_kernels::Level;

#[test]
fn available_levels_have_distinct_known_names_in_order() {
    let names: Vec<&str> = Level::available().map(Level::name).collect();
    let known: Vec<&str> = Level::NAMES.into_iter().filter(|name| names.contains(name)).collect();
    assert_eq!(names, known);
    assert!(names.starts_with(&["scalar", "baseline"]), "{names:?}");
}

#[test]
fn a_name_leads_back_to_its_level() {
    for level in Level::available() {
        assert_eq!(Level::from_name(level.name()), Some(level));
        assert_eq!(level.to_string(), level.name());
    }
    for unknown in ["", "AVX2", "auto", "sse2"] {
        assert_eq!(Level::from_name(unknown), None);
    }
}

#[test]
fn detection_finds_the_last_available_level_but_avx512_only_where_it_gains() {
    let levels: Vec<Level> = Level::available().filter(|level| level.name() != "avx512").collect();
    let found = Level::detect();
    assert!(found.name() == "avx512" || levels.last() == Some(&found), "{found}");
    assert_ne!(found, Level::scalar());
}

#[cfg(target_arch = "x86_64")]
#[test]
fn avx2_is_available_where_the_standard_library_finds_it() {
    let std = is_x86_feature_detected!("avx") && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c");
    assert_eq!(Level::from_name("avx2").is_some(), std);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn avx512_is_available_where_the_standard_library_finds_it() {
    let std = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    assert_eq!(Level::from_name("avx512").is_some(), std);
}
