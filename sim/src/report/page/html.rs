//! Pieces of HTML. Text becomes HTML through [`Html::text`] alone.

use std::fmt::{self, Display};

/// A piece of a page in which everything is escaped that has to be.
#[derive(Clone, Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Text as it is shown.
    pub(super) fn text(text: &str) -> Self {
        Self(escaped(text))
    }

    /// A piece that was put together from pieces.
    pub(super) const fn of(html: String) -> Self {
        Self(html)
    }

    /// Text in the letters of code.
    pub(super) fn code(text: &str) -> Self {
        Self(format!("<code>{}</code>", escaped(text)))
    }

    /// How many letters are seen of it, its tags left out.
    fn letters(&self) -> usize {
        let mut inside = false;
        let seen = |letter: &char| {
            let tag = inside || *letter == '<';
            inside = tag && *letter != '>';
            !tag
        };
        self.0.chars().filter(seen).count()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromIterator<Self> for Html {
    fn from_iter<T: IntoIterator<Item = Self>>(pieces: T) -> Self {
        Self(pieces.into_iter().map(|piece| piece.0).collect())
    }
}

/// Text for the inside of elements and of attributes in double quotes.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            other => safe.push(other),
        }
    }
    safe
}

/// A part of a page under a heading.
#[derive(Debug)]
pub(super) struct Section {
    /// Where links to it lead.
    pub(super) id: String,
    pub(super) title: String,
    pub(super) body: Html,
}

impl Section {
    /// A section; none where it would be empty.
    pub(super) fn new(id: &str, title: &str, body: Html) -> Option<Self> {
        (!body.is_empty()).then(|| Self { id: id.into(), title: title.into(), body })
    }
}

/// A paragraph of running text.
pub(super) fn paragraph(text: impl Display) -> Html {
    Html(format!("<p>{text}</p>\n"))
}

/// A cell of a table.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    /// Words.
    Words(Html),
    /// What stands at the right, so that digits are below each other.
    Number(Html),
    /// A number with a bar whose length is a share of the cell.
    Bar(Html, f64, &'static str),
    /// Words in the place of so many cells.
    Instead(Html, usize),
}

/// Letters of a cell beyond which it is a sentence, whose column must not become a tower of words.
const SENTENCE: usize = 40;

impl Cell {
    pub(super) fn text(text: &str) -> Self {
        Self::Words(Html::text(text))
    }

    fn html(&self, head: bool) -> String {
        let row = if head { " scope=\"row\"" } else { "" };
        let tag = if head { "th" } else { "td" };
        match self {
            Self::Words(html) if html.letters() > SENTENCE => format!("<{tag}{row} class=\"long\">{html}</{tag}>"),
            Self::Words(html) => format!("<{tag}{row}>{html}</{tag}>"),
            Self::Instead(html, cells) => format!("<{tag}{row} colspan=\"{cells}\">{html}</{tag}>"),
            Self::Number(html) => format!("<{tag}{row} class=\"number\">{html}</{tag}>"),
            Self::Bar(html, share, colour) => {
                let share = share.clamp(0.0, 1.0);
                format!(
                    "<{tag}{row} class=\"bar\"><span class=\"fill {colour}\" style=\"--share:{share:.4}\"></span>\
                     <span class=\"over\">{html}</span></{tag}>"
                )
            }
        }
    }
}

/// A table that scrolls by itself, below its caption, where the page is narrow; nothing where it has no rows. The first cell of each row
/// names it.
pub(super) fn table(caption: &str, header: &[&str], rows: impl IntoIterator<Item = Vec<Cell>>) -> Html {
    let rows: Vec<Vec<Cell>> = rows.into_iter().collect();
    let Some(first) = rows.first() else { return Html::default() };
    let kind = |i: usize| match first.get(i) {
        Some(Cell::Number(_)) => " class=\"number\"",
        _ => "",
    };
    let heads: String = header
        .iter()
        .enumerate()
        .map(|(i, head)| format!("<th scope=\"col\"{}>{}</th>", kind(i), escaped(head)))
        .collect();
    let row = |row: &Vec<Cell>| {
        let cells: String = row.iter().enumerate().map(|(i, cell)| cell.html(i == 0)).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let rows: String = rows.iter().map(row).collect();
    let label = escaped(caption);
    let width = if header.len() > 3 { "wide" } else { "slim" };
    Html(format!(
        "<figure><figcaption>{label}</figcaption>\n\
         <div class=\"scroll\" role=\"region\" aria-label=\"{label}\" tabindex=\"0\"><table class=\"{width}\" aria-label=\"{label}\">\n\
         <thead><tr>{heads}</tr></thead>\n<tbody>{rows}</tbody></table></div></figure>\n"
    ))
}

/// What is there for who asks.
pub(super) fn details(summary: &str, body: &Html) -> Html {
    if body.is_empty() {
        return Html::default();
    }
    Html(format!("<details><summary>{}</summary>\n{body}</details>\n", escaped(summary)))
}
