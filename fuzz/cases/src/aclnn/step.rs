//! What a client can do next.

use arbitrary::{Arbitrary, Result, Unstructured};
use ubtile_tiling::Operator;

use super::calls::Request;
use super::events::Act;

/// What a handle is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `aclTensor`
    Tensor,
    /// `aclIntArray`
    Ints,
    /// `aclBoolArray`
    Bools,
    /// `aclrtStream`
    Stream,
    /// `aclrtEvent`
    Event,
    /// `aclOpExecutor`
    Executor,
}

/// Which of the handles: most often one of the right kind, be it alive or not.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Pick(pub(super) u8);

/// The workspace of a run.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Workspace {
    /// As phase 1 said.
    Right,
    /// None, with its size.
    Null,
    /// A byte less.
    Short,
    /// Memory that was freed.
    Freed,
}

/// What a client does next.
#[derive(Clone, Debug)]
pub enum Step {
    /// `aclInit`
    Init,
    /// `aclFinalize`
    Finalize,
    /// `aclrtSetDevice`
    SetDevice(i32),
    /// `aclrtResetDevice`
    ResetDevice,
    /// `aclrtCreateStream`
    CreateStream,
    /// `aclrtSynchronizeStream`
    Synchronize(Pick),
    /// Any of the functions that end an object, with any object.
    Destroy(Kind, Pick),
    /// `aclrtFree`, so many bytes behind the start.
    Free(u8, u8),
    /// `aclSetAclOpExecutorRepeatable`
    Repeatable(Pick),
    /// Makes the arguments of a call.
    Arguments(Request),
    /// Phase 1, perhaps with another handle in some place.
    Prepare(u8, Option<(u8, Pick)>),
    /// Phase 2, perhaps another operator's.
    Run(Option<Operator>, Pick, Workspace, Pick),
    /// All of a right call, and its result.
    Whole(Request),
    /// Something with an event.
    Event(Act),
}

impl<'a> Arbitrary<'a> for Step {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let kinds = [Kind::Tensor, Kind::Ints, Kind::Bools, Kind::Stream, Kind::Executor, Kind::Event];
        Ok(match u.int_in_range(0..=21)? {
            0 => Self::Init,
            1 => Self::Finalize,
            2 => Self::SetDevice(u.int_in_range(-1..=6)?.min(0)),
            3 => Self::ResetDevice,
            4 => Self::CreateStream,
            5 => Self::Synchronize(u.arbitrary()?),
            6 | 7 => Self::Destroy(*u.choose(&kinds)?, u.arbitrary()?),
            8 => Self::Free(u.arbitrary()?, if u.ratio(3, 4)? { 0 } else { u.arbitrary()? }),
            9 => Self::Repeatable(u.arbitrary()?),
            10 | 11 => Self::Arguments(Request::new(u)?),
            12 | 13 => Self::Prepare(u.arbitrary()?, if u.ratio(1, 3)? { Some(u.arbitrary()?) } else { None }),
            14..=16 => {
                let operator = if u.ratio(1, 8)? { Some(*u.choose(&Operator::ALL)?) } else { None };
                let workspace = if u.ratio(3, 4)? { Workspace::Right } else { u.arbitrary()? };
                Self::Run(operator, u.arbitrary()?, workspace, u.arbitrary()?)
            }
            17 => Self::Whole(Request::new(u)?),
            _ => Self::Event(u.arbitrary()?),
        })
    }
}
