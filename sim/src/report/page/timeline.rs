//! What the pipes of a core do over time.

use std::ops::Range;

use serde_json::Value;

use super::html::{Html, escaped, paragraph};
use super::value::{Document, Unit};

/// Lanes from top to bottom: the name in the recording, and the class of the colour.
pub(super) const LANES: [&str; 4] = ["scalar", "mte2", "vector", "mte3"];
/// Columns of the drawing that is there without a script.
const COLUMNS: usize = 1000;

/// A lane for each pipe of the slowest core. A script adds zoom, and the other cores.
pub(super) fn timeline(run: &Document<'_>) -> Html {
    let timelines = run.list("/timelines");
    let [from, until] = ["from", "until"].map(|end| run.number(&format!("/timelines/0/{end}")).unwrap_or(0.0));
    let Some(first) = timelines.first().filter(|_| until > from) else { return Html::default() };
    let lane = |name: &&str| {
        let blocks = first["lanes"][*name].as_array().map_or(&[][..], Vec::as_slice);
        let [busy, waits] = [false, true].map(|waits| path(&shares(blocks, from..until, waits)));
        let upper = name.to_uppercase();
        format!(
            "<div class=\"lane\" data-lane=\"{name}\"><span class=\"name\">{upper}</span>\
             <svg viewBox=\"0 0 {COLUMNS} 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
             <path class=\"wait\" d=\"{waits}\"/><path class=\"{name}\" d=\"{busy}\"/><g></g></svg></div>\n"
        )
    };
    let lanes: String = LANES.iter().map(lane).collect();
    let name = |core: &Value| escaped(core["name"].as_str().unwrap_or(""));
    let options: String = timelines
        .iter()
        .enumerate()
        .map(|(i, core)| format!("<option value=\"{i}\">{}</option>", name(core)))
        .collect();
    let close_by = if timelines.iter().any(has_blocks_of_several) {
        "From close by, single instructions show, and blocks of several where a pipe has very many: the trace has each one."
    } else {
        "From close by, single instructions show."
    };
    let text = paragraph(format_args!(
        "Time counts from when the launch reaches the cores. Height is the share of the time in which the pipe works; a pale line at the foot is time in which it waits for a flag, at a barrier or for other cores. \
         {close_by}",
    ));
    let label =
        escaped(&format!("Pipes of {} over {}", first["name"].as_str().unwrap_or(""), Unit::Us.text(until / 1e4)));
    Html::of(format!(
        "{text}<figure class=\"timeline\" id=\"pipes\">\n<div class=\"tools\" role=\"group\" aria-label=\"View of the timeline\" hidden>\n\
         <label>Core <select id=\"pipes-core\">{options}</select></label>\n\
         <button type=\"button\" data-do=\"in\">Zoom in</button><button type=\"button\" data-do=\"out\">Zoom out</button>\
         <button type=\"button\" data-do=\"left\" aria-label=\"Earlier\">&#8592;</button><button type=\"button\" data-do=\"right\" aria-label=\"Later\">&#8594;</button>\
         <button type=\"button\" data-do=\"all\">All</button>\n</div>\n\
         <div class=\"plot\" role=\"img\" aria-label=\"{label}\">\n{lanes}<div class=\"axis\" aria-hidden=\"true\"><span>{begin}</span><span>{end}</span></div>\n</div>\n\
         <p class=\"status\" id=\"pipes-status\" role=\"status\"></p>\n\
         <figcaption class=\"keys\" id=\"pipes-keys\" hidden>Keys in the timeline: <kbd>+</kbd> <kbd>&#8722;</kbd> zoom, <kbd>&#8592;</kbd> <kbd>&#8594;</kbd> move, \
         <kbd>&#8593;</kbd> <kbd>&#8595;</kbd> pipe, <kbd>n</kbd> <kbd>p</kbd> next and previous instruction, <kbd>0</kbd> all. \
         Drag moves, a double click zooms in, the wheel with Ctrl zooms.</figcaption>\n</figure>\n",
        begin = Unit::Us.text(from / 1e4),
        end = Unit::Us.text(until / 1e4),
    ))
}

/// Whether a core has blocks that stand for several instructions each.
fn has_blocks_of_several(core: &Value) -> bool {
    let blocks = LANES.iter().flat_map(|lane| core["lanes"][lane].as_array().into_iter().flatten());
    blocks.into_iter().any(|block| block.as_array().is_some_and(|parts| parts.len() == 5))
}

/// How much of each column something was done in, or waited for.
pub(super) fn shares(blocks: &[Value], shown: Range<f64>, waits: bool) -> Vec<f64> {
    let mut columns = vec![0.0; COLUMNS];
    let mut at = 0.0;
    for block in blocks {
        let number = |i: usize| block[i].as_f64().unwrap_or(0.0);
        let (start, length) = (at + number(0), number(1));
        at = start + length;
        // A block of several has its busy and its waiting time; a single one is one of the two.
        let share = match block.as_array().map_or(0, Vec::len) {
            5 if length > 0.0 => number(if waits { 3 } else { 2 }) / length,
            _ if (number(2) < 0.0) == waits => 1.0,
            _ => 0.0,
        };
        let [from, to] = [start, at]
            .map(|time| ((time - shown.start) / (shown.end - shown.start) * COLUMNS as f64).clamp(0.0, COLUMNS as f64));
        for (i, column) in columns.iter_mut().enumerate().take(to.ceil() as usize).skip(from as usize) {
            let covered = to.min(i as f64 + 1.0) - from.max(i as f64);
            *column += share * covered.max(0.0);
        }
    }
    columns
}

/// Columns as one area, those of the same height together.
pub(super) fn path(shares: &[f64]) -> String {
    let mut path = String::new();
    let mut x = 0;
    while let Some(share) = shares.get(x) {
        let height = |share: f64| (100.0 * share.min(1.0)).round() as u32;
        let h = height(*share);
        let width = shares[x..].iter().take_while(|other| height(**other) == h).count();
        if h > 0 {
            path += &format!("M{x} 100v-{h}h{width}v{h}z");
        }
        x += width;
    }
    path
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_have_the_time_of_the_blocks() {
        // 100 busy, 300 nothing, 200 waiting, 400 of which 100 are busy and 50 waiting.
        let blocks = [json!([0, 100, 7]), json!([300, 200, -8]), json!([0, 400, 100, 50, 3])];
        let sum = |waits| shares(&blocks, 0.0..1000.0, waits).iter().sum::<f64>();
        assert!((sum(false) - 200.0).abs() < 1e-9, "{}", sum(false));
        assert!((sum(true) - 250.0).abs() < 1e-9, "{}", sum(true));
        let columns = shares(&blocks, 0.0..1000.0, false);
        assert_eq!([columns[99], columns[100], columns[450], columns[700]], [1.0, 0.0, 0.0, 0.25]);
        assert_eq!(path(&[0.0, 1.0, 1.0, 0.5]), "M1 100v-100h2v100zM3 100v-50h1v50z");
    }
}
