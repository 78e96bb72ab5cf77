//! Charts of pages as pictures of their own, for documents: SVG that reads on light and dark ones.

use serde_json::Value;

use super::html::escaped;
use super::series::Line;
use super::ticks::{share, ticks, ticks_and_ends, time};
use super::timeline::{LANES, path, shares};
use super::value::{Document, Unit};
use crate::report::Recorded;

const WIDTH: u32 = 1000;
const LEFT: u32 = 90;
const LANE: u32 = 54;

/// A picture of that inner height under a title, with its drawing.
fn picture(title: &str, height: u32, drawing: &str) -> String {
    let (width, height, title) = (LEFT + WIDTH + 30, height + 90, escaped(title));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{title}\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n<title>{title}</title>\n<style>\n\
         .paper {{ fill: #ffffff; }} text {{ fill: #56616b; }} .title {{ fill: #1c2126; font-size: 17px; font-weight: 600; }}\n\
         .line {{ stroke: #d9dedf; fill: none; }} .wait {{ fill: #56616b; opacity: 0.35; }}\n\
         .vector {{ color: #2f6db5; }} .scalar {{ color: #8a6a12; }} .mte2 {{ color: #20754a; }} .mte3 {{ color: #7d4fa0; }} .memory {{ color: #4d6472; }}\n\
         .l2 {{ color: #0f7285; }} .sync {{ color: #56616b; }} .guess {{ color: #a8324a; }} .area {{ fill: currentColor; }} .dots {{ stroke: currentColor; stroke-width: 8; stroke-linecap: round; fill: none; vector-effect: non-scaling-stroke; }}\n\
         .series {{ stroke: #56616b; stroke-width: 1.5; fill: none; vector-effect: non-scaling-stroke; }} text.word {{ fill: currentColor; }}\n\
         @media (prefers-color-scheme: dark) {{\n\
         .paper {{ fill: #15191d; }} text {{ fill: #a9b4bd; }} .title {{ fill: #e8ecef; }} .line {{ stroke: #343d45; }} .wait {{ fill: #a9b4bd; }}\n\
         .vector {{ color: #74a9e6; }} .scalar {{ color: #d9b65c; }} .mte2 {{ color: #6cc493; }} .mte3 {{ color: #c39ae0; }} .memory {{ color: #93a9b8; }}\n\
         .l2 {{ color: #63c3d4; }} .sync {{ color: #a9b4bd; }} .guess {{ color: #f08fa2; }} .series {{ stroke: #a9b4bd; }}\n\
         }}\n</style>\n<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n\
         <text class=\"title\" x=\"20\" y=\"30\">{title}</text>\n{drawing}</svg>\n"
    )
}

/// The pipes of the slowest core over time; nothing where none did anything.
#[must_use]
pub fn pipes_picture(report: &Value, recorded: &Recorded) -> Option<String> {
    let report = Document { id: "report", value: report };
    let run = Document { id: "run", value: &recorded.0 };
    let first = run.list("/timelines").first()?;
    let [from, until] = ["from", "until"].map(|end| first[end].as_f64().unwrap_or(0.0));
    let task = report.number("/task_us").filter(|_| until > from)?;
    let title = format!(
        "{} on {}: {}, pipes of {}",
        super::simulation::name(report.string("/program").unwrap_or("")),
        report.string("/soc").unwrap_or(""),
        Unit::Us.text(task),
        first["name"].as_str().unwrap_or("")
    );
    let mut drawing = String::new();
    for (i, lane) in (0..).zip(LANES) {
        let top = 50 + i * LANE;
        let blocks = first["lanes"][lane].as_array().map_or(&[][..], Vec::as_slice);
        let [busy, waits] = [false, true].map(|waits| path(&shares(blocks, from..until, waits)));
        let (bottom, name) = (top + LANE, lane.to_uppercase());
        drawing += &format!(
            "<text x=\"20\" y=\"{}\">{name}</text>\n<g transform=\"translate({LEFT} {})\">\
             <path class=\"wait\" transform=\"translate(0 35.2) scale(1 0.088)\" d=\"{waits}\"/>\
             <path class=\"{lane} area\" transform=\"scale(1 0.44)\" d=\"{busy}\"/></g>\n\
             <path class=\"line\" d=\"M{LEFT} {bottom}h{WIDTH}\"/>\n",
            top + 31,
            top + 6
        );
    }
    let below = 50 + 4 * LANE + 20;
    drawing += &format!(
        "<text x=\"{LEFT}\" y=\"{below}\">{}</text>\n<text x=\"{}\" y=\"{below}\" text-anchor=\"end\">{}</text>\n",
        Unit::Us.text(from / 1e4),
        LEFT + WIDTH,
        Unit::Us.text(until / 1e4)
    );
    Some(picture(&title, 4 * LANE, &drawing))
}

/// The time by the number that was varied; nothing where none was.
#[must_use]
pub fn series_picture(reports: &Value) -> Option<String> {
    let line = Line::of(reports)?;
    let title = format!("{}: time by {}", line.program, line.varied);
    let grid =
        |tick: f64| format!("<path class=\"line\" d=\"M0 {:.1}H{WIDTH}\"/>", 400.0 * (1.0 - share(&line.y, tick)));
    let grid: String = ticks(&line.y).into_iter().map(grid).collect();
    let mut drawing = format!(
        "<g transform=\"translate({LEFT} 50) scale(1 0.75)\">{grid}<path class=\"series\" d=\"{}\"/></g>\n",
        line.path
    );
    let mut x = LEFT;
    for (bound, colour, dots) in &line.dots {
        drawing += &format!(
            "<g class=\"{colour}\"><path class=\"dots\" transform=\"translate({LEFT} 50) scale(1 0.75)\" d=\"{dots}\"/>"
        );
        drawing += &format!("<text class=\"word\" x=\"{x}\" y=\"382\">\u{25cf} {}</text></g>\n", escaped(bound));
        x += 110;
    }
    for tick in ticks(&line.y) {
        let y = 350.0 - 300.0 * share(&line.y, tick);
        let (x, y, time) = (LEFT - 8, y + 4.0, time(tick, &line.y));
        drawing += &format!("<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{time}</text>");
    }
    for (tick, share) in ticks_and_ends(&line.x) {
        let x = f64::from(LEFT) + f64::from(WIDTH) * share;
        drawing += &format!("<text x=\"{x:.1}\" y=\"366\" text-anchor=\"middle\">{}</text>", Unit::Count.text(tick));
    }
    drawing.push('\n');
    Some(picture(&title, 310, &drawing))
}
