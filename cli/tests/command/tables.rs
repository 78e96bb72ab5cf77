//! `ubtile ops` and the tour.

use std::path::Path;

use ubtile_tiling::{Dtype, Edition, Operator, Product, support};

use crate::{fails, json, ok};

#[test]
fn ops_says_what_the_contract_does() {
    let ops = json(Path::new("."), "ops");
    for operator in Operator::ALL {
        let rows = ops["operators"].as_array().unwrap().iter().find(|o| o["operator"] == operator.name()).unwrap();
        for dtype in Dtype::ALL {
            let row = rows["dtypes"].as_array().unwrap().iter().find(|row| row["dtype"] == dtype.name());
            assert_eq!(row.is_some(), support(operator, dtype, None, Edition::Any).accepted, "{operator} {dtype}");
            for product in Product::ALL {
                let cell =
                    row.map(|row| row["products"].as_array().unwrap().iter().find(|c| c["product"] == product.name()));
                let cell = cell.flatten();
                for edition in [Edition::V8_0, Edition::V8_3, Edition::Master] {
                    let expected = support(operator, dtype, Some(product), edition);
                    let editions = cell.map(|cell| cell["editions"].as_array().unwrap().clone()).unwrap_or_default();
                    let context = format!("{operator} {dtype} {product} {edition}");
                    assert_eq!(editions.contains(&edition.name().into()), expected.accepted, "{context}");
                    if let (Some(route), Some(cell)) = (expected.route, cell) {
                        assert_eq!(cell["route"], route.name(), "{context}");
                    }
                }
            }
        }
    }
    let rules: Vec<_> =
        ops["edition_rules"].as_array().unwrap().iter().map(|rule| rule["what"].as_str().unwrap()).collect();
    assert!(rules.contains(&"interpolation bicubic") && rules.contains(&"bf16"), "{rules:?}");
}

#[test]
fn the_readme_shows_what_ops_prints() {
    let printed = ok(Path::new("."), "ops");
    let readme = include_str!("../../../README.md");
    assert!(readme.contains(&printed), "README.md must contain the output of `ubtile ops` verbatim:\n\n{printed}");
}

#[test]
fn the_tour_agrees_with_the_reference() {
    let tour = json(Path::new("."), "");
    let operators = tour["operators"].as_array().unwrap();
    assert_eq!(operators.len(), Operator::ALL.len());
    for (row, operator) in operators.iter().zip(Operator::ALL) {
        assert_eq!((&row["operator"], &row["agrees"]), (&operator.name().into(), &true.into()), "{row}");
        assert!(row["time_ms"].as_f64().unwrap() > 0.0 && row["gb_per_s"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["tiles"].as_u64().unwrap() >= 1 && row["bytes"].as_u64().unwrap() > 1_000_000, "{row}");
    }
    // The same numbers as by itself, on every product.
    for row in operators {
        let products = row["products"].as_array().unwrap();
        let names: Vec<_> = products.iter().map(|on| on["product"].as_str().unwrap()).collect();
        assert_eq!(names, Product::ALL.map(Product::name), "{row}");
        for on in products {
            assert!(on["task_us"].as_f64().is_some_and(|us| us > 1.0) && on["scheme"] == "native", "{on}");
            assert_eq!(on["supported"] == true, !on["vendor_route"].is_null() && on["reason"].is_null(), "{on}");
        }
    }
    let alone =
        "sim replication-pad2d-backward --shape grad_output=4,32,60,60 --padding 2,2,2,2 --product atlas-training";
    let alone = json(Path::new("."), alone);
    assert_eq!(operators[2]["products"][1]["task_us"], alone["task_us"]);

    let folder = tempfile::tempdir().unwrap();
    let text = ok(folder.path(), "--output saved");
    assert!(Operator::ALL.iter().all(|operator| text.contains(operator.name())), "{text}");
    assert!(Product::ALL.iter().all(|product| text.contains(product.name())), "{text}");
    assert!(!text.contains("DISAGREES"), "{text}");
    let saved = std::fs::read_to_string(folder.path().join("saved/report.json")).unwrap();
    let saved: serde_json::Value = serde_json::from_str(&saved).unwrap();
    assert_eq!((&saved["schema"], &saved["operators"][3]["products"]), (&tour["schema"], &operators[3]["products"]));
    // A line for each product, with the time and the bound of each operator; in brackets what the vendor runs elsewhere.
    for (at, product) in Product::ALL.into_iter().enumerate() {
        let on: Vec<_> = saved["operators"].as_array().unwrap().iter().map(|row| &row["products"][at]).collect();
        let cell = |on: &&serde_json::Value| {
            let time = format!("{:.1} {}", on["task_us"].as_f64().unwrap(), on["bound"].as_str().unwrap());
            if on["vendor_route"] == "aicore" { time } else { format!("({time})") }
        };
        let expected: Vec<_> = std::iter::once(format!("{}: {}", product.name(), on[0]["soc"].as_str().unwrap()))
            .chain(on.iter().map(cell))
            .collect();
        let rows = text.lines().map(|line| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
        let found: Vec<_> = rows.filter(|cells| cells[0] == expected[0]).collect();
        assert_eq!(found, [expected], "{text}");
    }
    let line = "--output DIR stands behind the command";
    assert_eq!(fails(folder.path(), "--output saved ops", 2), format!("error: {line}\n"));
}

#[test]
fn help_has_examples_that_parse() {
    // Example programs are named from the root of the repository.
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    for args in ["--help", "run --help", "plan --help"] {
        let help = ok(root, args).replace("\\\n", " ");
        let (_, examples) = help.split_once("Examples:").unwrap();
        let examples: Vec<_> = examples.lines().filter_map(|line| line.trim_start().strip_prefix("ubtile ")).collect();
        assert!(examples.len() >= 2, "{help}");
        for example in examples {
            // Plans run; of the others only the files are missing.
            let code = crate::output(root, example).status.code();
            let needs_file = example.contains("--in ") || example.contains("--calls ");
            assert_eq!(code, Some(if needs_file { 3 } else { 0 }), "{example}");
        }
    }
    for operator in Operator::ALL {
        for command in ["run", "plan"] {
            assert!(ok(Path::new("."), &format!("{command} {operator} --help")).contains("--workspace-limit"));
        }
    }
}

#[test]
fn every_command_has_a_man_page() {
    let folder = tempfile::tempdir().unwrap();
    ok(folder.path(), "manual man1");
    let page = |name: &str| std::fs::read_to_string(folder.path().join("man1").join(name)).unwrap();
    assert!(page("ubtile.1").contains(".TH UBTILE 1"));
    assert!(page("ubtile-sim-im2col-backward.1").contains("ubtile sim im2col\\-backward \\-\\-shape"));
    assert!(page("ubtile-compare.1").contains("threshold"));
    for command in ["kernel-worker", "help"] {
        assert!(!folder.path().join(format!("man1/ubtile-{command}.1")).exists());
    }
}

#[test]
fn shells_complete_what_the_command_takes() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = ok(Path::new("."), &format!("completions {shell}"));
        for word in ["im2col-backward", "trace-window", "completions"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}
