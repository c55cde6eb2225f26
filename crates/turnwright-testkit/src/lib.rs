//! Test your tools.
