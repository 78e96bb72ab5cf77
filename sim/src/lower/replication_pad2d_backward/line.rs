//! The positions of an axis by how many others fold into them.

use ubtile_tiling::replication_pad2d_backward::Axis;

/// Positions of an axis of the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) size: usize,
    pub(super) padded: usize,
    /// Those with one source: the first and one past the last, and the first one's source.
    pub(super) copy: Option<([usize; 2], usize)>,
    /// Those with several sources: the first of them and one past the last.
    pub(super) folds: Vec<(usize, [usize; 2])>,
    /// Those without.
    pub(super) zeros: Vec<[usize; 2]>,
}

impl Line {
    pub(super) fn new(axis: Axis) -> Self {
        let mut line = Self { size: axis.size, padded: axis.padded, copy: None, folds: Vec::new(), zeros: Vec::new() };
        line.edge(axis, 0);
        if axis.size > 1 {
            let (first, last) = (1, axis.size - 1);
            if first < last {
                let [a, b] = axis.copied([first, last]);
                line.zero([first, a]);
                if a < b {
                    line.one([a, b], axis.sources(a)[0]);
                }
                line.zero([b.max(a), last]);
            }
            line.edge(axis, last);
        }
        line
    }

    /// The most sources of a position that has several.
    pub(super) fn most_folded(&self) -> usize {
        self.folds.iter().map(|(_, [first, last])| last - first).max().unwrap_or(0)
    }

    fn edge(&mut self, axis: Axis, at: usize) {
        let [first, last] = axis.sources(at);
        match last - first {
            0 => self.zero([at, at + 1]),
            1 => self.one([at, at + 1], first),
            _ => self.folds.push((at, [first, last])),
        }
    }

    fn zero(&mut self, [first, last]: [usize; 2]) {
        match self.zeros.last_mut() {
            _ if first >= last => {}
            Some([_, end]) if *end == first => *end = last,
            _ => self.zeros.push([first, last]),
        }
    }

    /// Positions with one source have neighbouring sources, all of them: a source that is clamped folds into an end alone.
    fn one(&mut self, [first, last]: [usize; 2], source: usize) {
        match &mut self.copy {
            Some(([_, end], _)) => *end = last,
            none => *none = Some(([first, last], source)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_is_of_one_kind() {
        let axes = (1..6usize)
            .flat_map(|size| (-7..8isize).flat_map(move |before| (1..14).map(move |padded| (size, before, padded))));
        for (size, before, padded) in axes {
            let axis = Axis { size, padded, before };
            let line = Line::new(axis);
            for at in 0..size {
                let [first, last] = axis.sources(at);
                let copied = line.copy.filter(|([from, to], _)| (*from..*to).contains(&at));
                let copied = copied.map(|([from, _], source)| [source + at - from, source + at - from + 1]);
                let zero = line.zeros.iter().any(|[from, to]| (*from..*to).contains(&at));
                let folded = line.folds.iter().find(|(fold, _)| *fold == at).map(|(_, sources)| *sources);
                match last - first {
                    0 => assert!(zero && copied.is_none() && folded.is_none(), "{axis:?} {at}"),
                    1 => assert!(!zero && copied == Some([first, last]) && folded.is_none(), "{axis:?} {at}"),
                    _ => assert!(!zero && copied.is_none() && folded == Some([first, last]), "{axis:?} {at}"),
                }
            }
        }
    }
}
