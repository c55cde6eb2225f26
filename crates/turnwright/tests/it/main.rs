//! Tests of the facade, in one binary.

mod book;
mod events;
mod example_programs;
mod examples;
mod links;
mod media;
mod names;
mod outside_package;
mod rustdoc_examples;
mod service;
mod tool_macro;
