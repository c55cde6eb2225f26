//! Tests of the facade, in one binary.

mod book;
mod outside_package;
mod tool_macro;
