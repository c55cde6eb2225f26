//! Documents of other authors: the definitions of public MCP servers and of schema generators.
//!
//! They are read from the vectors and not copied; if they are missing, the tests print a notice and skip.

mod complete;
mod corpus;
