//! Documents of other authors: the definitions of public MCP servers and of schema generators.

mod corpus;
