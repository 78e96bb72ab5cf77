//! Insertions into a text by offset, that nest.

/// Where an insertion stands among those at the same offset: first what ends there, then what lies between, then what begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// Behind an expression that began so many bytes before the end of the text: inner ones end first.
    Close(usize),
    Between,
    /// In front of an expression so many bytes before the end of the text: outer ones begin first.
    Open(usize),
}

/// A text, what is put into it and what is taken out.
pub struct Edits<'s> {
    source: &'s str,
    /// Offset of each line.
    lines: Vec<usize>,
    insertions: Vec<(usize, Order, String)>,
    deletions: Vec<(usize, usize)>,
}

impl<'s> Edits<'s> {
    pub fn new(source: &'s str) -> Self {
        let lines = std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { source, lines, insertions: Vec::new(), deletions: Vec::new() }
    }

    /// The offset of a column, in characters from 0, of a line from 1.
    pub fn offset(&self, line: usize, column: usize) -> usize {
        let start = self.lines[line - 1];
        start + self.source[start..].chars().take(column).map(char::len_utf8).sum::<usize>()
    }

    pub fn text(&self, from: usize, to: usize) -> &'s str {
        &self.source[from..to]
    }

    /// In front of everything else at that offset that is not behind something.
    pub fn first(&mut self, at: usize, text: String) {
        self.insertions.push((at, Order::Open(0), text));
    }

    /// Something in front of the expression and something behind it.
    pub fn around(&mut self, (from, to): (usize, usize), front: String, behind: String) {
        self.insertions.push((from, Order::Open(self.source.len() - to), front));
        self.insertions.push((to, Order::Close(self.source.len() - from), behind));
    }

    /// Something else instead of what lies between two expressions.
    pub fn between(&mut self, from: usize, to: usize, text: &str) {
        self.insertions.push((from, Order::Between, text.to_owned()));
        self.delete(from, to);
    }

    pub fn behind(&mut self, at: usize, text: String) {
        self.insertions.push((at, Order::Between, text));
    }

    pub fn delete(&mut self, from: usize, to: usize) {
        self.deletions.push((from, to));
    }

    pub fn apply(mut self) -> String {
        // Of two around the same text, the one that came first is the outer.
        let mut number = 0_isize;
        self.insertions.sort_by_cached_key(|(at, order, _)| {
            number += 1;
            (*at, *order, if matches!(order, Order::Close(_)) { -number } else { number })
        });
        self.deletions.sort_unstable();
        let mut text = String::new();
        let mut deletions = self.deletions.iter().peekable();
        let mut done = 0;
        let mut keep = |text: &mut String, to: usize| {
            while let Some(&&(from, end)) = deletions.peek()
                && from < to
            {
                text.push_str(&self.source[done..from.max(done)]);
                done = end;
                deletions.next();
            }
            if done < to {
                text.push_str(&self.source[done..to]);
                done = to;
            }
        };
        for (at, _, insertion) in &self.insertions {
            keep(&mut text, *at);
            text.push_str(insertion);
        }
        keep(&mut text, self.source.len());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::Edits;

    #[test]
    fn insertions_nest_and_keep_their_order() {
        let mut edits = Edits::new("a + b;\nä");
        edits.around((0, 5), "(".into(), ")".into());
        edits.around((0, 1), "[".into(), "]".into());
        edits.around((0, 1), "{".into(), "}".into());
        edits.between(1, 4, ", ");
        edits.around((4, 5), "<".into(), ">".into());
        edits.first(0, "!".into());
        edits.behind(edits.offset(2, 1), "?".into());
        assert_eq!(edits.apply(), "!([{a}], <b>);\nä?");
    }
}
