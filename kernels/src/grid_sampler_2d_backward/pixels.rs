//! Pixels of a staged image, whose channels lie side by side in groups.

/// How far a row lies below another, and what is behind that: no distance in memory has the topmost bit, so this does not wrap, which
/// the compiler sees too. Where it knows `more` it looks at bounds once for a whole square.
#[inline(always)]
fn reach(below: usize, more: usize) -> [usize; 2] {
    let below = below & (usize::MAX >> 1);
    [below, below.wrapping_add(more)]
}

/// The four pixels of a square from its first one on, so many groups of channels each, if all are there; a row is `below` the other.
#[inline(always)]
pub(crate) fn square<A, const GROUP: usize>(
    staged: &[A],
    first: usize,
    below: usize,
    groups: usize,
) -> Option<[&[[A; GROUP]]; 4]> {
    let row = groups.wrapping_mul(2 * GROUP);
    let [below, end] = reach(below, row);
    let all = staged.get(first..)?.get(..end)?;
    let (north, south) = (all.get(..row)?, all.get(below..)?);
    let (nw, ne) = north.as_chunks().0.split_at_checked(groups)?;
    let (sw, se) = south.as_chunks().0.split_at_checked(groups)?;
    Some([nw, ne, sw, se])
}

/// The same to be written.
#[inline(always)]
pub(crate) fn square_mut<A, const GROUP: usize>(
    staged: &mut [A],
    first: usize,
    below: usize,
    groups: usize,
) -> Option<[&mut [[A; GROUP]]; 4]> {
    let row = groups.wrapping_mul(2 * GROUP);
    let [below, end] = reach(below, row);
    let all = staged.get_mut(first..)?.get_mut(..end)?;
    let (north, south) = all.split_at_mut_checked(below)?;
    let (nw, ne) = north.get_mut(..row)?.as_chunks_mut().0.split_at_mut_checked(groups)?;
    let (sw, se) = south.as_chunks_mut().0.split_at_mut_checked(groups)?;
    Some([nw, ne, sw, se])
}

/// Four rows of four pixels, so many groups of channels each, from the first pixel on; a row is `below` the one before.
#[inline(always)]
pub(crate) fn four_rows<A, const GROUP: usize>(
    staged: &[A],
    first: usize,
    below: usize,
    groups: usize,
) -> Option<[[&[[A; GROUP]]; 4]; 4]> {
    let row = |number: usize| {
        let row = staged.get(first.wrapping_add(below.wrapping_mul(number))..)?;
        let row = row.get(..groups.wrapping_mul(4 * GROUP))?.as_chunks().0;
        let (a, row) = row.split_at_checked(groups)?;
        let (b, row) = row.split_at_checked(groups)?;
        let (c, row) = row.split_at_checked(groups)?;
        Some([a, b, c, row.get(..groups)?])
    };
    Some([row(0)?, row(1)?, row(2)?, row(3)?])
}

/// Four pixels of a row to be written, from the first on.
#[inline(always)]
pub(crate) fn four_mut<A, const GROUP: usize>(
    staged: &mut [A],
    first: usize,
    groups: usize,
) -> Option<[&mut [[A; GROUP]]; 4]> {
    let row = staged.get_mut(first..)?.get_mut(..groups.wrapping_mul(4 * GROUP))?.as_chunks_mut().0;
    let (a, row) = row.split_at_mut_checked(groups)?;
    let (b, row) = row.split_at_mut_checked(groups)?;
    let (c, row) = row.split_at_mut_checked(groups)?;
    Some([a, b, c, row.get_mut(..groups)?])
}

/// The channels of the staged position that begins at an offset, if it is there.
#[inline(always)]
pub(crate) fn position<A, const GROUP: usize>(staged: &[A], at: usize, pitch: usize) -> Option<&[[A; GROUP]]> {
    let rest = staged.get(at..)?;
    if GROUP == 4 {
        return rest.first_chunk().map(core::slice::from_ref);
    }
    rest.get(..pitch).map(|channels| channels.as_chunks::<GROUP>().0)
}

/// The same to be written.
#[inline(always)]
pub(crate) fn position_mut<A, const GROUP: usize>(
    staged: &mut [A],
    at: usize,
    pitch: usize,
) -> Option<&mut [[A; GROUP]]> {
    let rest = staged.get_mut(at..)?;
    if GROUP == 4 {
        return rest.first_chunk_mut().map(core::slice::from_mut);
    }
    rest.get_mut(..pitch).map(|channels| channels.as_chunks_mut::<GROUP>().0)
}
