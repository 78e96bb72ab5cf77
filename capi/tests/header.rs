//! The header in the repository is the one that cbindgen makes of these sources.

use std::path::Path;

#[test]
fn the_header_is_that_of_the_sources() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(here.join("cbindgen.toml")).unwrap();
    let mut made = Vec::new();
    cbindgen::Builder::new().with_config(config).with_crate(here).generate().unwrap().write(&mut made);
    let (made, path) = (String::from_utf8(made).unwrap(), here.join("include/ubtile.h"));
    if std::env::var_os("UBTILE_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap();
    assert!(
        made == there,
        "include/ubtile.h is stale: UBTILE_BLESS=1 cargo test -p ubtile-capi --test header writes it"
    );
}
