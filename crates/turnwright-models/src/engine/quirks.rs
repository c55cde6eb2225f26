//! Quirks: deviations of a server from its protocol, learned from its errors.

/// A set of quirks. Each protocol names its own, by bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quirks(u8);

impl Quirks {
    /// The quirk with this bit.
    pub(crate) const fn bit(bit: u8) -> Self {
        Quirks(1 << bit)
    }

    /// Adds the quirks of another set.
    #[must_use]
    pub(crate) const fn union(self, other: Self) -> Self {
        Quirks(self.0 | other.0)
    }

    /// Adds a quirk if a condition holds.
    #[must_use]
    pub(crate) const fn with_if(self, quirk: Self, condition: bool) -> Self {
        if condition { self.union(quirk) } else { self }
    }

    /// Returns `true` if it has all of these quirks.
    pub(crate) const fn has(self, quirks: Self) -> bool {
        self.0 & quirks.0 == quirks.0
    }

    /// Returns the names of its quirks.
    pub(super) fn names(self, names: &[&str]) -> String {
        let known = (0_u8..).zip(names);
        let own = known.filter(|(bit, _)| self.has(Quirks::bit(*bit)));
        own.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
    }
}
