//! Which product files there are, and what inheritance makes of them.

use std::collections::BTreeMap;

use super::document::{self, Document, Name, Node};
use super::error::ProductError;

/// Product files, by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Catalog<'a> {
    /// What SoCs share; no SoC by themselves.
    pub(super) families: &'a [(&'a str, &'a str)],
    pub(super) socs: &'a [(&'a str, &'a str)],
}

/// All that a product inherits and states.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    pub(super) tables: Tables,
    /// The nearest one.
    pub(super) warning: Option<String>,
}

/// Tables of keys.
pub(super) type Tables = BTreeMap<String, BTreeMap<String, Node>>;

impl Catalog<'_> {
    fn files(&self) -> impl Iterator<Item = &(&str, &str)> {
        self.families.iter().chain(self.socs)
    }

    /// Parses a file that is in the catalog.
    fn document(&self, name: &str) -> Option<Result<Document, ProductError>> {
        let (name, text) = self.files().find(|(known, _)| *known == name)?;
        Some(document::parse(&format!("{name}.toml"), text))
    }

    /// Applies inheritance to a file, which need not be in the catalog.
    pub(super) fn resolve(&self, document: Document) -> Result<Resolved, ProductError> {
        self.resolve_below(document, &mut Vec::new())
    }

    /// `path` has the names that led here, against circles.
    fn resolve_below(&self, document: Document, path: &mut Vec<String>) -> Result<Resolved, ProductError> {
        let Resolved { mut tables, warning } = match &document.inherits {
            Some(parent) => self.follow(parent, path)?,
            None => Resolved::default(),
        };
        for (name, table) in document.tables {
            let mut filled = tables.remove(&name).unwrap_or_default();
            if let Some(like) = &table.like {
                let model = self.follow(like, path)?.tables.remove(&name).unwrap_or_default();
                for (key, node) in model {
                    filled.entry(key).or_insert_with(|| Node { evidence: table.evidence.clone(), ..node });
                }
            }
            // Stated anew, what a kernel may use is all that is known: the inherited size of the whole may be smaller.
            if name == "ub" && table.nodes.contains_key("bytes") {
                filled.remove("physical_bytes");
            }
            filled.extend(table.nodes);
            tables.insert(name, filled);
        }
        Ok(Resolved { tables, warning: document.warning.or(warning) })
    }

    fn follow(&self, Name { name, place }: &Name, path: &mut Vec<String>) -> Result<Resolved, ProductError> {
        if path.contains(name) {
            return Err(place.error(format!("{} inherits itself: {} -> {name}", name, path.join(" -> "))));
        }
        let Some(document) = self.document(name) else {
            let known: Vec<_> = self.files().map(|(name, _)| *name).collect();
            return Err(place.error(format!("expected one of {}, found {name}", known.join(", "))));
        };
        path.push(name.clone());
        let resolved = self.resolve_below(document?, path)?;
        path.pop();
        Ok(resolved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: Catalog<'static> = Catalog { families: &TEXTS, socs: &[] };

    const TEXTS: [(&str, &str); 7] = [
        ("root", "grade = 'cited'\nsource = 'book'\n[ub]\nbytes = 4\nbanks = 2\n[dma]\nissue_cycles = 9\n"),
        ("family", "inherits = 'root'\n[ub]\ngrade = 'derived'\nsource = 'sum'\nbanks = 3\n"),
        ("left", "inherits = 'right'\n"),
        ("right", "inherits = 'left'\n"),
        ("near", "[dma]\nlike = 'far'\n"),
        ("far", "[dma]\nlike = 'near'\n"),
        ("orphan", "\ninherits = 'nobody'\n"),
    ];

    fn tables(text: &str) -> Result<Tables, ProductError> {
        Ok(FILES.resolve(document::parse("mine.toml", text)?)?.tables)
    }

    fn shown(tables: &Tables, table: &str, key: &str) -> String {
        let node = &tables[table][key];
        let value = node.value.as_ref().map_or("unknown".into(), ToString::to_string);
        format!("{value} {} {}", node.evidence.grade, node.evidence.source)
    }

    #[test]
    fn keys_override_one_by_one_and_keep_their_own_evidence() {
        let text = "inherits = 'family'\n[ub]\nbytes = { value = 5, grade = 'guess' }\nsource = 'me'\ngroups = 1\n";
        let tables = tables(text).unwrap();
        assert_eq!(shown(&tables, "ub", "bytes"), "5 guess me");
        assert_eq!(shown(&tables, "ub", "banks"), "3 derived sum");
        assert_eq!(shown(&tables, "ub", "groups"), "1 guess me");
        assert_eq!(shown(&tables, "dma", "issue_cycles"), "9 cited book");
    }

    #[test]
    fn a_value_without_evidence_is_a_guess_of_its_file() {
        assert_eq!(shown(&tables("[ub]\nbytes = 1").unwrap(), "ub", "bytes"), "1 guess mine.toml");
    }

    #[test]
    fn unknown_forgets_what_is_inherited() {
        let tables = tables("inherits = 'root'\n[ub]\nbytes = 'unknown'\n").unwrap();
        assert_eq!(shown(&tables, "ub", "bytes"), "unknown guess mine.toml");
        assert_eq!(shown(&tables, "ub", "banks"), "2 cited book");
    }

    #[test]
    fn like_fills_the_gaps_under_the_evidence_of_its_table() {
        let text = "inherits = 'root'\n[ub]\nlike = 'family'\ngrade = 'guess'\nsource = 'alike'\nbanks = 7\n";
        let tables = tables(text).unwrap();
        assert_eq!(shown(&tables, "ub", "bytes"), "4 cited book", "inherited, so no gap");
        assert_eq!(shown(&tables, "ub", "banks"), "7 guess alike");
        let alone = super::tests::tables("[ub]\nlike = 'family'\ngrade = 'guess'\nsource = 'alike'\n").unwrap();
        assert_eq!(shown(&alone, "ub", "banks"), "3 guess alike");
    }

    #[test]
    fn circles_and_missing_parents_are_named() {
        let error = tables("inherits = 'left'").unwrap_err().to_string();
        assert_eq!(error, "right.toml:1: inherits: left inherits itself: left -> right -> left");
        let error = tables("[dma]\nlike = 'far'").unwrap_err().to_string();
        assert_eq!(error, "near.toml:2: dma.like: far inherits itself: far -> near -> far");
        let error = tables("inherits = 'orphan'").unwrap_err().to_string();
        assert!(error.starts_with("orphan.toml:2: inherits: expected one of root, family,"), "{error}");
        assert!(error.ends_with("found nobody"), "{error}");
    }
}
