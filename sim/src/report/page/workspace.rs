//! A drawn chart of the workspace: which intermediates live when, and where they lie. SVG that reads on light and dark pages.

use std::fmt::Write;

use serde_json::Value;

use super::html::escaped;
use super::value;

const LEFT: f64 = 110.0;
const WIDTH: f64 = 860.0;
const RIGHT: f64 = 30.0;
/// A lane is at least so high, so that small intermediates stay legible.
const LEAST_LANE: f64 = 26.0;
/// What the lanes share beyond that, by their size.
const SHARED: f64 = 170.0;
const HEAD: f64 = 64.0;
/// Fills that text in white can be read on.
const COLOURS: [&str; 6] = ["#2f6db5", "#a1521b", "#2b7a4b", "#7d4fa0", "#a8324a", "#4d6472"];

/// An intermediate as a box.
struct Piece<'a> {
    name: &'a str,
    offset: u64,
    bytes: u64,
    first: usize,
    last: usize,
}

/// One level: the kernel's, or aclnn's.
struct Panel<'a> {
    title: String,
    columns: Vec<String>,
    pieces: Vec<Piece<'a>>,
}

/// The chart of a plan, of its JSON; `None` where it has no intermediates on any level.
#[must_use]
pub fn workspace_chart(plan: &Value) -> Option<String> {
    let panels: Vec<_> = [kernel(plan), aclnn(plan)].into_iter().flatten().collect();
    if panels.is_empty() {
        return None;
    }
    let mut body = String::new();
    let mut top = 52.0;
    for panel in &panels {
        top = draw(&mut body, panel, top);
    }
    let (width, height) = (LEFT + WIDTH + RIGHT, top + 6.0);
    let title = format!("{}, {}: workspace", text(&plan["operator"]), text(&plan["target"]["name"]));
    let title = escaped(&title);
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"workspace\" role=\"img\" aria-label=\"{title}\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n<title>{title}</title>\n<style>\n\
         .workspace .paper {{ fill: #ffffff; }} .workspace .ink {{ fill: #1c2126; }} .workspace .soft {{ fill: #5b6670; }}\n\
         .workspace .on {{ fill: #ffffff; }} .workspace .line {{ stroke: #c9d0d6; stroke-width: 1; }}\n\
         @media (prefers-color-scheme: dark) {{\n\
         .workspace .paper {{ fill: #15191d; }} .workspace .ink {{ fill: #e8ecef; }} .workspace .soft {{ fill: #a3afb9; }}\n\
         .workspace .line {{ stroke: #46525c; }}\n\
         }}\n</style>\n\
         <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n\
         <text class=\"ink\" x=\"20\" y=\"30\" font-size=\"17\" font-weight=\"600\">{title}</text>\n{body}</svg>\n"
    ))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// The intermediates of a list; what they live in is called `phase` or `step`.
fn pieces<'a>(list: &'a Value, during: &str) -> Vec<Piece<'a>> {
    let [first, last] = ["first", "last"].map(|end| format!("{end}_{during}"));
    let index = |value: &Value| usize::try_from(number(value)).unwrap_or(0);
    let piece = |one: &'a Value| Piece {
        name: text(&one["name"]),
        offset: number(&one["offset"]),
        bytes: number(&one["bytes"]),
        first: index(&one[&first]),
        last: index(&one[&last]),
    };
    list.as_array().into_iter().flatten().map(piece).collect()
}

fn kernel(plan: &Value) -> Option<Panel<'_>> {
    let pieces = pieces(&plan["workspace_regions"], "phase");
    let title = format!("{} kernel: {} bytes", plan["scheme"].as_str()?, grouped(plan["workspace_bytes"].as_u64()?));
    let columns =
        plan["phases"].as_array().into_iter().flatten().map(|phase| text(&phase["name"]).to_owned()).collect();
    (!pieces.is_empty()).then_some(Panel { title, columns, pieces })
}

fn aclnn(plan: &Value) -> Option<Panel<'_>> {
    let aclnn = &plan["aclnn"];
    let pieces = pieces(&aclnn["regions"], "step");
    let title = format!(
        "aclnn, first phase: {} bytes ({}); {} without reuse",
        grouped(plan["aclnn_workspace_bytes"].as_u64()?),
        text(&aclnn["grade"]),
        grouped(number(&aclnn["bytes_without_reuse"]))
    );
    let columns = aclnn["steps"].as_array().into_iter().flatten().map(|step| match step["tensor"].as_str() {
        Some(tensor) => format!("{} {tensor}", text(&step["kernel"])),
        None => text(&step["kernel"]).to_owned(),
    });
    (!pieces.is_empty()).then(|| Panel { title, columns: columns.collect(), pieces })
}

/// Draws a panel and returns where it ends. Bytes that begin at the same offset are a lane.
fn draw(body: &mut String, panel: &Panel<'_>, top: f64) -> f64 {
    let mut starts: Vec<u64> = panel.pieces.iter().map(|piece| piece.offset).collect();
    starts.sort_unstable();
    starts.dedup();
    let end = panel.pieces.iter().map(|piece| piece.offset + piece.bytes).max().unwrap_or(0);
    let ends = starts.iter().skip(1).copied().chain([end]);
    let sizes: Vec<f64> = starts.iter().zip(ends).map(|(start, end)| (end - start) as f64).collect();
    let all: f64 = sizes.iter().sum::<f64>().max(1.0);
    let mut y = top + HEAD;
    let mut tops = vec![y];
    for size in &sizes {
        y += LEAST_LANE + SHARED * size / all;
        tops.push(y);
    }
    let columns = panel.columns.len().max(1);
    let column = WIDTH / columns as f64;

    // Writing to a String cannot fail.
    let _ = writeln!(
        body,
        "<text class=\"ink\" x=\"20\" y=\"{}\" font-weight=\"600\">{}</text>",
        top + 14.0,
        escaped(&panel.title)
    );
    for (i, name) in panel.columns.iter().enumerate() {
        let x = LEFT + column * i as f64;
        for (row, part) in name.splitn(2, ' ').enumerate() {
            let at = top + 38.0 + 15.0 * row as f64;
            let _ = writeln!(
                body,
                "<text class=\"soft\" x=\"{:.1}\" y=\"{at:.1}\" font-size=\"12\">{}</text>",
                x + 5.0,
                fitted(part, column)
            );
        }
        let _ =
            writeln!(body, "<line class=\"line\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{y:.1}\"/>", top + HEAD);
    }
    for (start, at) in starts.iter().zip(&tops) {
        let _ = writeln!(
            body,
            "<line class=\"line\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>",
            LEFT + WIDTH
        );
        let _ = writeln!(
            body,
            "<text class=\"soft\" x=\"{}\" y=\"{:.1}\" font-size=\"11\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            at + 12.0,
            grouped(*start)
        );
    }
    for (i, piece) in panel.pieces.iter().enumerate() {
        let lane = starts.iter().position(|start| *start == piece.offset).unwrap_or(0);
        // As high as its bytes reach, into the last lane that they reach.
        let end = piece.offset + piece.bytes;
        let last = starts.iter().filter(|start| **start < end).count().max(lane + 1) - 1;
        let part = (end - starts[last]) as f64 / sizes[last].max(1.0);
        let (upper, lower) = (tops[lane], tops[last] + LEAST_LANE + SHARED * sizes[last] / all * part);
        let x = LEFT + column * piece.first as f64 + 2.0;
        let width = column * (piece.last + 1 - piece.first) as f64 - 4.0;
        let (fill, height) = (COLOURS[i % COLOURS.len()], lower - upper - 3.0);
        let (label, bytes) = (format!("{} {}", piece.name, grouped(piece.bytes)), grouped(piece.bytes));
        let tip = format!("{}: {bytes} bytes at {}", piece.name, grouped(piece.offset));
        // The size below the name, where both are too long for one line and there is room.
        let two = label.chars().count() > letters(width) && height > 38.0;
        let lines =
            if two { [fitted(piece.name, width), bytes] } else { [sized(piece.name, &bytes, width), String::new()] };
        let _ = write!(
            body,
            "<g><title>{}</title><rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"3\" fill=\"{fill}\"/>",
            escaped(&tip),
            upper + 1.5,
        );
        for (row, line) in lines.iter().filter(|line| !line.is_empty()).enumerate() {
            let (x, y) = (x + 6.0, upper + 17.0 + 15.0 * row as f64);
            let _ = write!(body, "<text class=\"on\" x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"12\">{line}</text>");
        }
        let _ = writeln!(body, "</g>");
    }
    let _ = writeln!(
        body,
        "<text class=\"soft\" x=\"{}\" y=\"{y:.1}\" font-size=\"11\" text-anchor=\"end\">{}</text>",
        LEFT - 8.0,
        grouped(end)
    );
    y + 34.0
}

/// Letters that fit a box of so many pixels.
fn letters(width: f64) -> usize {
    ((width - 10.0) / 6.6).max(1.0) as usize
}

/// As much of a text as a box of so many pixels shows; the rest is in its tip.
fn fitted(text: &str, width: f64) -> String {
    cut(text, letters(width))
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return escaped(text);
    }
    let head: String = text.chars().take(most.saturating_sub(1)).collect();
    escaped(&(head + "\u{2026}"))
}

/// A name, as much of it as leaves room for its size.
fn sized(name: &str, size: &str, width: f64) -> String {
    let most = letters(width).saturating_sub(size.chars().count() + 1);
    if most < 2 {
        return fitted(size, width);
    }
    format!("{} {}", cut(name, most), escaped(size))
}

/// A number in groups of three digits.
fn grouped(number: u64) -> String {
    value::grouped(number as f64, 0)
}
