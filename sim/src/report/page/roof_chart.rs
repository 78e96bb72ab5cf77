//! The roofline as it is usually drawn: arithmetic over time by arithmetic over bytes, both by powers of ten.

use super::html::{Html, escaped};
use super::value::{Document, digits, grouped};

/// The chart's inside.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 400.0;

/// A range of powers of ten on an axis.
#[derive(Clone, Copy, Debug)]
struct Axis {
    from: i32,
    to: i32,
}

impl Axis {
    /// With room around some positive numbers.
    fn around(numbers: &[f64]) -> Self {
        let fold = |start, f: fn(f64, f64) -> f64| numbers.iter().copied().fold(start, f);
        let (least, most) = (fold(f64::INFINITY, f64::min), fold(0.0, f64::max));
        let from = (least / 1.5).log10().floor() as i32;
        Self { from, to: ((most * 1.5).log10().ceil() as i32).max(from + 1) }
    }

    /// Where a number is, as a share of the axis.
    fn share(self, number: f64) -> f64 {
        (number.log10() - f64::from(self.from)) / f64::from(self.to - self.from)
    }

    fn powers(self) -> impl Iterator<Item = (i32, f64)> {
        (self.from..=self.to).map(move |power| (power, f64::from(power - self.from) / f64::from(self.to - self.from)))
    }
}

/// A slope and its end: a memory, and how much arithmetic a byte of it must carry to reach the vector pipes' peak.
struct Roof {
    name: &'static str,
    gbps: f64,
}

/// The chart; nothing for programs without arithmetic on floats, and where the product does not say what it can reach.
pub(super) fn chart(report: &Document<'_>, run: &Document<'_>) -> Html {
    let positive = |document: &Document<'_>, at: &str| document.number(at).filter(|number| *number > 0.0);
    let (Some(peak), Some(per_byte), Some(reached)) =
        (positive(run, "/work/peak_g_per_s"), positive(run, "/work/per_byte"), positive(run, "/work/g_per_s"))
    else {
        return Html::default();
    };
    let roofs = [("L2", "/l2/peak_gbps"), ("main memory", "/hbm/peak_gbps")];
    let roofs: Vec<Roof> =
        roofs.into_iter().filter_map(|(name, at)| Some(Roof { name, gbps: positive(report, at)? })).collect();
    let ridges: Vec<f64> = roofs.iter().map(|roof| peak / roof.gbps).collect();
    let x = Axis::around(&[&[per_byte], ridges.as_slice()].concat());
    let y = Axis::around(&[reached, peak, roofs.iter().fold(peak, |least, roof| least.min(roof.gbps * per_byte))]);
    let at = |a: f64, b: f64| (WIDTH * x.share(a), HEIGHT * (1.0 - y.share(b)));

    let mut drawing = String::new();
    for (_, share) in x.powers() {
        drawing += &format!("<path class=\"grid\" d=\"M{:.1} 0V{HEIGHT}\"/>", WIDTH * share);
    }
    for (_, share) in y.powers() {
        drawing += &format!("<path class=\"grid\" d=\"M0 {:.1}H{WIDTH}\"/>", HEIGHT * (1.0 - share));
    }
    let mut labels = String::new();
    let mut label = |left: f64, top: f64, class: &str, text: &str| {
        let (left, top) = (100.0 * left, 100.0 * top);
        labels +=
            &format!("<span class=\"label {class}\" style=\"left:{left:.1}%;top:{top:.1}%\">{}</span>", escaped(text));
    };
    for (roof, ridge) in roofs.iter().zip(&ridges) {
        // From where it enters the chart, up to the peak.
        let enters = (10f64.powi(y.from) / roof.gbps).max(10f64.powi(x.from));
        let ((x0, y0), (x1, y1)) = (at(enters, enters * roof.gbps), at(*ridge, peak));
        drawing += &format!("<path class=\"roof\" d=\"M{x0:.1} {y0:.1}L{x1:.1} {y1:.1}\"/>");
        // Its name is at the middle, or further down or up where the run's would cover it.
        let along = |share: f64| enters.powf(1.0 - share) * ridge.powf(share);
        let is_clear = |share: &f64| {
            let at = along(*share);
            let across = (x.share(at) - x.share(per_byte)).abs();
            let upwards = (y.share(at * roof.gbps) - y.share(reached)).abs();
            across > 0.3 || upwards > 0.12
        };
        let at = along([0.5, 0.25, 0.75].into_iter().find(is_clear).unwrap_or(0.5));
        label(x.share(at), 1.0 - y.share(at * roof.gbps), "slope", roof.name);
    }
    let lowest = ridges.iter().copied().fold(f64::INFINITY, f64::min);
    let (x0, y0) = at(lowest, peak);
    drawing += &format!("<path class=\"roof\" d=\"M{x0:.1} {y0:.1}H{WIDTH}\"/>");
    label(1.0, 1.0 - y.share(peak), "right", "f32 additions of these cores");
    label(x.share(per_byte), 1.0 - y.share(reached), "point", "");
    let side = if x.share(per_byte) > 0.7 { "run flip" } else { "run" };
    label(x.share(per_byte), 1.0 - y.share(reached), side, "this run");

    let ticks = |axis: Axis, side: &str| {
        let tick = |(power, share): (i32, f64)| {
            let share = 100.0 * if side == "left" { share } else { 1.0 - share };
            format!("<span style=\"{side}:{share:.1}%\">{}</span>", power_of_ten(power))
        };
        axis.powers().map(tick).collect::<String>()
    };
    let said = format!(
        "This run does {} arithmetic lanes for each byte that its cores ask for, {} billion a second of at most {}",
        grouped(per_byte, digits(per_byte).max(3)),
        grouped(reached, digits(reached)),
        grouped(peak, 0)
    );
    let said = escaped(&said);
    Html::of(format!(
        "<figure class=\"roofline\"><figcaption>Lanes of float arithmetic, two of 16 bits as one of 32, 10<sup>9</sup> a second (upwards), by lanes for each byte that the \
         cores ask for (to the right). {said}.</figcaption>\n\
         <div class=\"chart\" role=\"img\" aria-label=\"{said}\"><div class=\"y\">{}</div><div class=\"inside\">\
         <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">{drawing}</svg>{labels}</div>\
         <div class=\"x\">{}</div></div></figure>\n",
        ticks(y, "top"),
        ticks(x, "left"),
    ))
}

fn power_of_ten(power: i32) -> String {
    match power {
        0..=3 => format!("{}", 10i32.pow(power.unsigned_abs())),
        -2 | -1 => format!("{}", 10f64.powi(power)),
        _ => format!("10<sup>{power}</sup>").replace('-', "\u{2212}"),
    }
}
