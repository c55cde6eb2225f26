//! What the strict tools of one request share.

use super::rules::{RequestLimits, StrictRules};

/// What a strict tool takes of the limits of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Demand {
    pub(super) optional: usize,
    pub(super) unions: usize,
}

/// What is left of the limits of a request.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: &'static RequestLimits,
    tools: usize,
    taken: Demand,
}

impl Budget {
    pub(crate) fn new(rules: &'static StrictRules) -> Self {
        Budget {
            limits: &rules.request,
            tools: 0,
            taken: Demand::default(),
        }
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// Returns which limit the tool would exceed. It is not added then.
    pub(crate) fn take(&mut self, demand: Demand) -> Result<(), String> {
        let tools = self.tools + 1;
        let optional = self.taken.optional + demand.optional;
        let unions = self.taken.unions + demand.unions;
        for (count, max, what, advice) in [
            (
                tools,
                self.limits.tools,
                "tools",
                "use fewer tools, or turn strict mode off",
            ),
            (
                optional,
                self.limits.optional,
                "optional properties",
                "require some of them, or use fewer tools",
            ),
            (
                unions,
                self.limits.unions,
                "schemas with alternatives (`anyOf` or several types)",
                "use fewer alternatives or fewer tools",
            ),
        ] {
            if count > max {
                return Err(format!(
                    "strict mode allows {max} {what} in a request, and with this tool there are {count}: {advice}"
                ));
            }
        }
        self.tools = tools;
        self.taken = Demand { optional, unions };
        Ok(())
    }
}
