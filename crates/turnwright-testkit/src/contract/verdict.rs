//! What can be said of a value: it is valid, it is not, or this code cannot tell.

/// Three-valued, so that a rule which cannot be judged (a pattern in a dialect of its own, an unknown format) never
/// turns into a false alarm: what stays unknown is left to trial, or dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Valid,
    Invalid,
    Unknown,
}

impl Verdict {
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Invalid, _) | (_, Self::Invalid) => Self::Invalid,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Valid, Self::Valid) => Self::Valid,
        }
    }

    pub(crate) fn or(self, other: Self) -> Self {
        self.negate().and(other.negate()).negate()
    }

    pub(crate) fn negate(self) -> Self {
        match self {
            Self::Valid => Self::Invalid,
            Self::Invalid => Self::Valid,
            Self::Unknown => Self::Unknown,
        }
    }

    /// The same verdict, but what holds now may cease to hold once the value was repaired.
    pub(crate) fn at_most_unknown(self) -> Self {
        if self == Self::Valid {
            Self::Unknown
        } else {
            self
        }
    }

    /// The same verdict, but what fails now may hold once the value was repaired.
    pub(crate) fn at_least_unknown(self) -> Self {
        if self == Self::Invalid {
            Self::Unknown
        } else {
            self
        }
    }
}

impl From<bool> for Verdict {
    fn from(holds: bool) -> Self {
        if holds { Self::Valid } else { Self::Invalid }
    }
}
