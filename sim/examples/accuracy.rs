//! Prints the table of docs/accuracy.md: `cargo run --release -p ubtile-sim --example accuracy`, all rows or those with a word in
//! their name.

#[path = "../calibration/rows.rs"]
mod rows;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let word = std::env::args().nth(1).unwrap_or_default();
    print!("{}", rows::HEADER);
    for row in rows::ROWS.iter().filter(|row| row.name.contains(&word)) {
        print!("{}", row.lines(&row.compare(&row.run()?)));
    }
    Ok(())
}
