//! Prints the table of docs/accuracy.md: `cargo run --release -p ubtile-sim --example accuracy`, all rows or those
//! with a word in their name.

#[path = "../calibration/rows.rs"]
mod rows;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let named = std::env::args().nth(1).unwrap_or_default();
    print!("{}", rows::table(&named)?);
    Ok(())
}
