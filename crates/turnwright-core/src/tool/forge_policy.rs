//! How the tools that read artifacts are made.

/// How the ids of readable calls stand in the schema of an artifact tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ForgePolicy {
    /// As an enum: the schema names every call that can be read, and changes with them. No matching artifact, no tools.
    Enumerated,
    /// As any text, limited by a check of the same tool that names the readable calls: the schema never changes, and a
    /// provider's prompt cache holds.
    Stable,
}
