//! Tests of the facade, in one binary.

mod outside_package;
mod tool_macro;
