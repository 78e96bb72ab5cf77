//! The rows that were measured on boards, and the page that shows them.

#[path = "../../calibration/rows.rs"]
mod rows;

use rows::ROWS;

/// Limits of the errors: task, vector, mte2, mte3.
const LIMITS: [(&str, f64); 4] = [("task", 0.08), ("vector", 0.03), ("mte2", 0.1), ("mte3", 0.25)];

#[test]
fn the_model_is_as_near_to_the_measurements_as_it_says() {
    let mut text = String::from(rows::HEADER);
    let mut tasks = Vec::new();
    for row in &ROWS {
        let compared = row.compare(&row.run().unwrap());
        for (what, _, _, error) in &compared {
            let (_, limit) = LIMITS.into_iter().find(|(name, _)| name == what).unwrap();
            assert!(error.abs() <= limit, "{}, {what}: off by {:.1} %", row.name, 100.0 * error);
        }
        tasks.push(compared[0].3.abs());
        text += &row.lines(&compared);
    }
    let mean = tasks.iter().sum::<f64>() / tasks.len() as f64;
    assert!(mean <= 0.04, "mean {:.1} %", 100.0 * mean);
    let page = include_str!("../../../docs/accuracy.md");
    assert!(page.contains(&text), "docs/accuracy.md has another table than this:\n{text}");
}
