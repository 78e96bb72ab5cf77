//! Computes the cases on the host at every level, and compares with the table; with `--write` makes it.

use std::process::ExitCode;

use ubtile_kernels::Level;
use ubtile_selftest::{EXPECTED, Memory, hex, run_all};

fn main() -> ExitCode {
    let mut tables = Level::available().map(|level| {
        let mut table = String::new();
        run_all(level, &mut Memory::new(), |name, digest| {
            let digest = digest.map_or("failed".into(), |digest| String::from_utf8_lossy(&hex(digest)).into_owned());
            table += &format!("{name} {digest}\n");
        });
        (level, table)
    });
    let Some((scalar, first)) = tables.next() else { return ExitCode::FAILURE };
    for (level, table) in tables {
        if table != first {
            eprintln!("{level} differs from {scalar}:\n{table}\n{first}");
            return ExitCode::FAILURE;
        }
    }
    if std::env::args().nth(1).as_deref() == Some("--write") {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/expected.txt");
        return std::fs::write(path, first).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    if first.contains("failed") || first != EXPECTED {
        eprintln!("the table is stale or wrong:\n{first}");
        return ExitCode::FAILURE;
    }
    println!("{} cases, the same bits at every level of this machine", first.lines().count());
    ExitCode::SUCCESS
}
