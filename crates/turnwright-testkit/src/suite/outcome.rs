//! Results of checks.

use std::fmt::Debug;

use turnwright_core::store::StoreError;

/// What a check observed instead of the requirement.
#[derive(Debug)]
pub(crate) struct Broken(pub(crate) String);

pub(crate) type Outcome = Result<(), Broken>;

impl From<StoreError> for Broken {
    fn from(error: StoreError) -> Self {
        Broken(format!("the store returned an error: {error}"))
    }
}

impl From<turnwright_core::Error> for Broken {
    fn from(error: turnwright_core::Error) -> Self {
        Broken(error.to_string())
    }
}

/// Checks that what was found equals what is required.
#[expect(
    clippy::needless_pass_by_value,
    reason = "callers mostly pass temporaries"
)]
pub(crate) fn same<F, P>(what: &str, found: F, promised: P) -> Outcome
where
    F: PartialEq<P> + Debug,
    P: Debug,
{
    let message = || format!("{what}: expected {promised:?}, found {found:?}");
    ensure(found == promised, message)
}

pub(crate) fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Outcome {
    match holds {
        true => Ok(()),
        false => Err(Broken(otherwise())),
    }
}
