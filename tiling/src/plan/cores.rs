//! Why a plan takes so many cores, and how many it takes of fewer and of more.

use super::shares::largest;
use super::{Bound, Choice, Larger, MOST_CORES, one_more};

/// How many times as many cores there may have to be for the next larger number.
const TIMES: usize = 8;

/// Why `block_dim(cores)` of `cores` cores are taken, with the nearest smaller and larger numbers that are taken of another number
/// of cores. More cores must never make it smaller, and it is at most as many as there are; then both are found in as many steps as
/// the numbers have bits. No more than [`TIMES`] as many cores are looked at: where a workspace limit leaves little, a plan tries one
/// number of shares after the other, up to its cores.
pub(crate) fn block_dim(cores: usize, block_dim: impl Fn(usize) -> usize) -> Choice {
    let value = block_dim(cores);
    let most_cores = cores.saturating_mul(TIMES).min(cores.max(MOST_CORES));
    let most_where = |most: usize, keeps: &dyn Fn(usize) -> bool| {
        largest(most, 0, |cores| Some(usize::from(!keeps(block_dim(cores)))))
    };
    let alternative = most_where(cores, &|other| other < value).map(&block_dim);
    let more = most_where(most_cores, &|other| other <= value).map_or(1, |cores| cores.saturating_add(1));
    let larger =
        (more <= most_cores).then(|| Larger { value: block_dim(more), bound: Bound::Cores, limit: cores, needs: more });
    // Cores that are all taken bind, whether there is work for more or not.
    let on_cores = value == cores || larger.is_some();
    let (bound, limit) = if on_cores { (Bound::Cores, cores) } else { (Bound::Work, value) };
    let larger = larger.unwrap_or(one_more(value, Bound::Work));
    Choice { name: "block_dim", value, bound, limit, used: value, alternative, larger }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by looking at each number of cores.
    fn looked_up(cores: usize, of: impl Fn(usize) -> usize) -> (Option<usize>, Option<(usize, usize)>) {
        let smaller = (1..cores).map(&of).filter(|&other| other < of(cores)).max();
        let larger = (cores..MOST_CORES).find(|&more| of(more) > of(cores)).map(|more| (of(more), more));
        (smaller, larger)
    }

    /// One rule for each way in which plans come to their number: as many as there is work, as few as take no longer, so many for
    /// each image, and none but one.
    #[test]
    fn neighbours_are_the_nearest() {
        let even = |work: usize| move |cores: usize| work.div_ceil(work.div_ceil(cores));
        let of_images =
            |images: usize| move |cores: usize| if cores < 2 * images { images } else { cores / images * images };
        for work in [1, 2, 3, 7, 40, 97, 510] {
            for cores in (1..70).chain([100, 509, 510, 511]) {
                for rule in [&(|cores: usize| cores.min(work)) as &dyn Fn(usize) -> usize, &even(work), &|_| 1] {
                    let choice = block_dim(cores, rule);
                    let (smaller, larger) = looked_up(cores, rule);
                    assert_eq!((choice.value, choice.alternative), (rule(cores), smaller), "{work} {cores}");
                    assert!(choice.larger.over() > 0, "{work} {cores}");
                    match larger {
                        Some((value, needs)) => {
                            assert_eq!((choice.bound, choice.limit, choice.used), (Bound::Cores, cores, choice.value));
                            assert_eq!(choice.larger, Larger { value, bound: Bound::Cores, limit: cores, needs });
                        }
                        None => {
                            let bound = if choice.value == cores { Bound::Cores } else { Bound::Work };
                            assert_eq!((choice.bound, choice.slack()), (bound, 0), "{work} {cores}");
                            assert_eq!(choice.larger, one_more(choice.value, Bound::Work), "{work} {cores}");
                        }
                    }
                }
                if cores >= work {
                    let (choice, rule) = (block_dim(cores, of_images(work)), of_images(work));
                    let larger = Some((choice.larger.value, choice.larger.needs));
                    assert_eq!((choice.alternative, larger), looked_up(cores, rule), "{work} {cores}");
                }
            }
        }
    }

    /// All cores that a plan may have are no reason to look for more.
    #[test]
    fn nothing_is_beyond_the_most_cores() {
        let choice = block_dim(MOST_CORES, |cores| cores);
        assert_eq!((choice.bound, choice.alternative), (Bound::Cores, Some(MOST_CORES - 1)));
        assert_eq!(choice.larger, one_more(MOST_CORES, Bound::Work));
    }
}
