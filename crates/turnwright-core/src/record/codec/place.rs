//! Where in a record an object stands.

use std::fmt;

/// The most steps from a record to an object that is read by its fields.
const STEPS: usize = 4;

/// The way from a record to an object in it. Written out only where something is wrong there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place([Option<Step>; STEPS]);

#[derive(Clone, Copy, Debug)]
struct Step {
    name: &'static str,
    index: Option<u32>,
}

impl Place {
    /// Whether it is the record itself.
    pub(super) fn is_record(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    pub(super) fn field(self, name: &'static str) -> Self {
        self.then(Step { name, index: None })
    }

    pub(super) fn item(self, name: &'static str, index: usize) -> Self {
        let index = Some(u32::try_from(index).unwrap_or(u32::MAX));
        self.then(Step { name, index })
    }

    fn then(mut self, step: Step) -> Self {
        // A way that is longer than any ends early: it still leads near.
        if let Some(free) = self.0.iter_mut().find(|step| step.is_none()) {
            *free = Some(step);
        }
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Step { name, index }) in self.0.iter().flatten().enumerate() {
            let dot = if at > 0 { "." } else { "" };
            write!(f, "{dot}{name}")?;
            if let Some(index) = index {
                write!(f, "[{index}]")?;
            }
        }
        Ok(())
    }
}
