//! Numbers of JSON documents as a page shows them. Each carries where in which document it stands, so that whoever reads the page, and
//! its tests, can hold one against the other.

use serde_json::Value;

use super::html::{Html, escaped};

/// A JSON document that a page contains.
#[derive(Clone, Copy, Debug)]
pub(super) struct Document<'a> {
    /// Of its element.
    pub(super) id: &'static str,
    pub(super) value: &'a Value,
}

/// How a number is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Microseconds.
    Us,
    /// A share, as percent.
    Percent,
    /// How many.
    Count,
    /// Cycles of a core.
    Cycles,
    /// Bytes, in the unit that suits.
    Bytes,
    /// 1e9 bytes a second.
    Gbps,
    /// Milliseconds.
    Ms,
    /// As it stands.
    Plain,
}

impl Unit {
    /// What the number is multiplied with, digits after the point, and the unit's name.
    fn of(self, value: f64) -> (f64, usize, &'static str) {
        let size = value.abs();
        let three = |scaled: f64| match scaled {
            scaled if scaled < 10.0 => 2,
            scaled if scaled < 100.0 => 1,
            _ => 0,
        };
        match self {
            Self::Us if size < 1000.0 => (1.0, 2, "µs"),
            Self::Us => (1.0, 1, "µs"),
            Self::Ms if size < 0.1 => (1.0, 4, "ms"),
            Self::Ms => (1.0, 2, "ms"),
            Self::Plain if size.fract() == 0.0 => (1.0, 0, ""),
            Self::Plain => (1.0, 3, ""),
            Self::Percent => (100.0, 1, "%"),
            Self::Count => (1.0, 0, ""),
            Self::Cycles => (1.0, 0, if size == 1.0 { "cycle" } else { "cycles" }),
            Self::Gbps => (1.0, digits(value), "GB/s"),
            Self::Bytes if size < 1e4 => (1.0, 0, if size == 1.0 { "byte" } else { "bytes" }),
            Self::Bytes if size < 1e6 => (1e-3, three(size * 1e-3), "kB"),
            Self::Bytes if size < 1e9 => (1e-6, three(size * 1e-6), "MB"),
            Self::Bytes => (1e-9, three(size * 1e-9), "GB"),
        }
    }

    /// The number alone, for axes.
    pub(super) fn text(self, value: f64) -> String {
        let (scale, digits, unit) = self.of(value);
        let number = grouped(value * scale, digits);
        if unit.is_empty() { number } else { format!("{number}\u{a0}{unit}") }
    }
}

/// Digits behind the point with which a number has one, and two that say something.
pub(super) fn digits(value: f64) -> usize {
    let size = value.abs();
    // Beyond nine, it is nothing.
    if size < 1.0 && size > 1e-9 { (1.0 - size.log10().floor()) as usize } else { 1 }
}

/// The noun of a number.
pub(super) fn noun(count: usize, one: &'static str, more: &'static str) -> &'static str {
    if count == 1 { one } else { more }
}

/// A number in groups of three digits.
pub(super) fn grouped(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let (sign, rest) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("\u{2212}", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(whole, fraction)| (whole, Some(fraction)));
    let mut number = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            number.push('\u{202f}');
        }
        number.push(digit);
    }
    if let Some(fraction) = fraction {
        number.push('.');
        number += fraction;
    }
    number
}

/// What stands where nothing is known.
pub(super) const NOTHING: &str = "<span class=\"none\">not stated</span>";

impl<'a> Document<'a> {
    pub(super) fn at(&self, at: &str) -> Option<&'a Value> {
        self.value.pointer(at).filter(|value| !value.is_null())
    }

    pub(super) fn number(&self, at: &str) -> Option<f64> {
        self.at(at)?.as_f64()
    }

    pub(super) fn string(&self, at: &str) -> Option<&'a str> {
        self.at(at)?.as_str()
    }

    /// The elements of a list; none where there is no list.
    pub(super) fn list(&self, at: &str) -> &'a [Value] {
        self.at(at).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// A number, or that there is none.
    pub(super) fn show(&self, at: &str, unit: Unit) -> Html {
        Html::of(match (self.at(at), self.number(at)) {
            (Some(stated), Some(value)) => {
                let (scale, ..) = unit.of(value);
                let text = unit.text(value);
                let scale = if scale == 1.0 { String::new() } else { format!(" data-scale=\"{scale}\"") };
                let (id, at) = (self.id, escaped(at));
                format!("<data value=\"{stated}\" data-in=\"{id}\" data-at=\"{at}\"{scale}>{text}</data>")
            }
            _ => NOTHING.to_owned(),
        })
    }

    /// A number with its noun.
    pub(super) fn count(&self, at: &str, one: &'static str, more: &'static str) -> Html {
        let count = self.at(at).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        Html::of(format!("{} {}", self.show(at, Unit::Count), noun(count, one, more)))
    }

    /// A text, or that there is none.
    pub(super) fn show_text(&self, at: &str) -> Html {
        self.string(at).map_or_else(|| Html::of(NOTHING.to_owned()), Html::text)
    }

    /// The element that a page has it in.
    pub(super) fn element(&self) -> String {
        // In a string of JSON, the only place for it, this says the same and ends no element.
        let json = self.value.to_string().replace('<', "\\u003c");
        format!("<script type=\"application/json\" id=\"{}\">{json}</script>\n", self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(1_234_567.891, 1), "1\u{202f}234\u{202f}567.9");
        assert_eq!(grouped(-999.96, 1), "\u{2212}1\u{202f}000.0");
        assert_eq!(grouped(12.0, 0), "12");
        let text = |unit: Unit, value| unit.text(value).replace('\u{a0}', " ");
        assert_eq!(text(Unit::Bytes, 9999.0).replace('\u{202f}', ""), "9999 bytes");
        assert_eq!(text(Unit::Bytes, 12_345.0), "12.3 kB");
        assert_eq!(text(Unit::Bytes, 2.5e9), "2.50 GB");
        assert_eq!(text(Unit::Percent, 0.4567), "45.7 %");
        assert_eq!(
            [1234.56, 5.0, 0.5, 0.0412, 0.0]
                .map(|rate| text(Unit::Gbps, rate))
                .map(|text| text.replace('\u{202f}', "")),
            ["1234.6 GB/s", "5.0 GB/s", "0.50 GB/s", "0.041 GB/s", "0.0 GB/s"]
        );
    }

    #[test]
    fn what_a_document_lacks_is_not_zero() {
        let value = serde_json::json!({"a": null, "b": 0, "c": "</script>"});
        let document = Document { id: "report", value: &value };
        assert_eq!(document.show("/a", Unit::Us).to_string(), NOTHING);
        assert_eq!(document.show("/missing", Unit::Us).to_string(), NOTHING);
        assert!(document.show("/b", Unit::Us).to_string().contains("value=\"0\""));
        assert_eq!(document.element().matches("</script>").count(), 1);
    }
}
