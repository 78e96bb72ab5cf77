//! A page as a whole: one file that asks nobody for anything.

use super::html::{Html, Section, escaped};
use super::value::Document;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// What every page has.
#[derive(Debug)]
pub(super) struct Shell<'a> {
    pub(super) title: &'a str,
    /// What comes out, in plain words.
    pub(super) verdict: Html,
    pub(super) sections: Vec<Section>,
    /// What its numbers come from; the first one is the report.
    pub(super) documents: Vec<Document<'a>>,
    /// What makes it again.
    pub(super) command: &'a str,
}

impl Shell<'_> {
    /// The file's text.
    pub(super) fn page(mut self) -> String {
        self.sections.extend(again(self.command));
        let Self { title, verdict, sections, documents, .. } = self;
        let title = escaped(title);
        let links: String =
            sections.iter().map(|s| format!("<li><a href=\"#{}\">{}</a></li>\n", s.id, escaped(&s.title))).collect();
        let section = |Section { id, title, body }: &Section| {
            let title = escaped(title);
            format!(
                "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>\n{body}</section>\n"
            )
        };
        let sections: String = sections.iter().map(section).collect();
        let json: String = documents.iter().map(Document::element).collect();
        let report = documents.first();
        let of = |at| report.and_then(|report| report.string(at)).map(escaped);
        let version = of("/tool_version").or_else(|| of("/0/tool_version")).unwrap_or_default();
        let model = of("/model_hash").map_or_else(String::new, |hash| format!(", model <code>{hash}</code>"));
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n\
             <link rel=\"icon\" href=\"data:,\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#main\">Skip to the report</a>\n\
             <header>\n<h1>{title}</h1>\n{verdict}</header>\n\
             <div class=\"columns\">\n<nav aria-label=\"Sections\">\n<ul>\n{links}</ul>\n</nav>\n\
             <main id=\"main\" tabindex=\"-1\">\n{sections}</main>\n</div>\n\
             <footer>ubtile {version}{model}. The numbers of this page are in it as JSON; \
             it asks no network for anything.</footer>\n\
             {json}<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
        )
    }
}

fn again(command: &str) -> Option<Section> {
    let body = format!(
        "<p>This page was made by</p>\n<pre tabindex=\"0\"><code id=\"command\">{}</code></pre>\n\
         <p><button type=\"button\" data-copy=\"command\" hidden>Copy the command</button> <span role=\"status\" id=\"copied\"></span></p>\n",
        escaped(command)
    );
    if command.is_empty() { None } else { Section::new("again", "Reproduce", Html::of(body)) }
}
