//! The measured subjects, one file each.

pub(crate) mod building;
pub(crate) mod parts;
pub(crate) mod registry;
pub(crate) mod rig;
pub(crate) mod rmcp;
pub(crate) mod turnwright;

/// The result of one call, in the same form for every subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    Answered(String),
    Refused(String),
}
