//! Which sizes to test, and in which combinations.

/// Sizes at which loops over lanes and tiles go wrong: 0, 1, L-1, L, L+1, 2L, tile-1, tile, tile+1, ascending.
#[must_use]
pub fn sizes_around(lanes: usize, tile: usize) -> Vec<usize> {
    let around = |n: usize| [n.saturating_sub(1), n, n + 1];
    let mut sizes: Vec<_> = [0, 1, 2 * lanes].into_iter().chain(around(lanes)).chain(around(tile)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Rows of choices such that every pair of values of any two axes occurs in one of them: most of what all combinations find, for
/// the cost of few. `axes` are the numbers of values; a row holds an index for each axis.
///
/// # Panics
/// If an axis has no values.
#[must_use]
pub fn pairwise(axes: &[usize]) -> Vec<Vec<usize>> {
    assert!(axes.iter().all(|&n| n > 0), "an axis without values");
    let mut missing = Vec::new();
    for second in 1..axes.len() {
        for first in 0..second {
            let pairs = (0..axes[first]).flat_map(|a| (0..axes[second]).map(move |b| (first, a, second, b)));
            missing.extend(pairs);
        }
    }
    if axes.len() == 1 {
        return (0..axes[0]).map(|a| vec![a]).collect();
    }
    let mut rows: Vec<Vec<usize>> = Vec::new();
    while let Some(&(first, a, second, b)) = missing.first() {
        // Starts with a pair that is missing, then gives each other axis the value that covers the most.
        let mut row: Vec<Option<usize>> = vec![None; axes.len()];
        (row[first], row[second]) = (Some(a), Some(b));
        for axis in 0..axes.len() {
            if row[axis].is_none() {
                let gain = |value: usize| {
                    let partner = |other: usize, wanted: usize| other != axis && row[other] == Some(wanted);
                    let covers = |&&(f, a, s, b): &&(usize, usize, usize, usize)| {
                        (f, a) == (axis, value) && partner(s, b) || (s, b) == (axis, value) && partner(f, a)
                    };
                    missing.iter().filter(covers).count()
                };
                row[axis] = (0..axes[axis]).rev().max_by_key(|&value| gain(value));
            }
        }
        let row: Vec<_> = row.into_iter().flatten().collect();
        missing.retain(|&(f, a, s, b)| row[f] != a || row[s] != b);
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(sizes_around(8, 32), [0, 1, 7, 8, 9, 16, 31, 32, 33]);
        assert_eq!(sizes_around(1, 2), [0, 1, 2, 3]);
    }

    #[test]
    fn every_pair_occurs() {
        let axes = [3, 1, 4, 2, 2, 5];
        let rows = pairwise(&axes);
        assert!(rows.len() < 40, "{} rows, all combinations are 240", rows.len());
        for second in 1..axes.len() {
            for first in 0..second {
                for (a, b) in (0..axes[first]).flat_map(|a| (0..axes[second]).map(move |b| (a, b))) {
                    assert!(rows.iter().any(|row| (row[first], row[second]) == (a, b)));
                }
            }
        }
        assert!(rows.iter().all(|row| row.iter().zip(axes).all(|(&i, n)| i < n)));
        assert_eq!(pairwise(&[3]), [[0], [1], [2]]);
        assert!(pairwise(&[]).is_empty());
    }
}
