//! The tools that are built in, and those that files describe.
