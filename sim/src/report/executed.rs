//! `core*_instr_exe.csv` and `core*_code_exe.csv`, as the vendor's simulator writes them: what each instruction and each line of code
//! took.

use std::collections::BTreeMap;
use std::io::Write;

use crate::clock::Profile;
use crate::program::{Node, Program, visit};
use crate::text;

use super::{Counted, Lanes};

/// Instructions of a program by their nodes.
#[derive(Debug)]
pub struct Executed {
    lines: Vec<Line>,
}

/// A node: what it says, where it stands, and the pipe that does it.
#[derive(Debug)]
struct Line {
    text: String,
    place: String,
    pipe: &'static str,
}

/// First word of a line, as in `add.f16`.
pub(super) fn mnemonic(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}

/// Where an instruction would be, were each as long as on the device.
pub(super) const fn address(node: usize) -> u64 {
    4 * node as u64
}

impl Executed {
    /// Of a program whose text is in a file of that name.
    #[must_use]
    pub fn new(program: &Program, file: &str) -> Self {
        let texts = text::lines(program.source());
        let mut lines = Vec::new();
        visit(&program.source().body, &mut |id, node| {
            let pipe = match node {
                Node::Do(statement) => Lanes::pipe(statement.instruction.pipe()),
                Node::For(_) | Node::If(_) | Node::Tile(_) => "SCALAR",
            };
            let text = texts.get(id.0 as usize).cloned().unwrap_or_default();
            let text = text.trim_end_matches(" {").to_owned();
            let place = match program.position(id) {
                Some(position) => format!("{file}:{}", position.line),
                None => format!("{file}: {}", program.locate(id)),
            };
            lines.push(Line { text, place, pipe });
        });
        Self { lines }
    }

    /// The pipe that does a node.
    pub(super) fn pipe(&self, node: usize) -> &'static str {
        self.lines.get(node).map_or("", |line| line.pipe)
    }

    /// What each node says, and where it stands.
    pub(super) fn lines(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lines.iter().map(|line| (line.text.as_str(), line.place.as_str()))
    }

    /// Writes what each instruction of a core took. Instructions that did not run are left out.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn instructions(&self, counted: &Counted, profile: &Profile, to: impl Write) -> csv::Result<()> {
        let mut writer = csv::Writer::from_writer(to);
        writer.write_record(["instr", "addr", "pipe", "call_count", "cycles", "running_time(us)", "detail"])?;
        for (node, (line, &(calls, ticks))) in self.lines.iter().zip(&counted.nodes).enumerate() {
            if calls > 0 {
                let [cycles, us] = times(profile, ticks);
                let address = format!("{:#x}", address(node));
                let (calls, text) = (calls.to_string(), line.text.as_str());
                writer.write_record([mnemonic(text), &address, line.pipe, &calls, &cycles, &us, text])?;
            }
        }
        Ok(writer.flush()?)
    }

    /// Writes what each line of code took on a core; lines that did not run are left out.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn code(&self, counted: &Counted, profile: &Profile, to: impl Write) -> csv::Result<()> {
        // In the order of the text.
        let mut by_line: BTreeMap<(usize, &str), (u64, u64)> = BTreeMap::new();
        let mut first = BTreeMap::new();
        for (node, (line, (calls, ticks))) in self.lines.iter().zip(&counted.nodes).enumerate() {
            let code = line.place.as_str();
            let sum = by_line.entry((*first.entry(code).or_insert(node), code)).or_default();
            *sum = (sum.0 + calls, sum.1 + ticks);
        }
        let mut writer = csv::Writer::from_writer(to);
        writer.write_record(["code", "call_count", "cycles", "running_time(us)"])?;
        for ((_, code), (calls, ticks)) in by_line {
            if calls > 0 {
                let [cycles, us] = times(profile, ticks);
                writer.write_record([code, &calls.to_string(), &cycles, &us])?;
            }
        }
        Ok(writer.flush()?)
    }
}

fn times(profile: &Profile, ticks: u64) -> [String; 2] {
    [format!("{:.3}", Profile::cycles(ticks)), format!("{:.6}", profile.us(ticks))]
}
