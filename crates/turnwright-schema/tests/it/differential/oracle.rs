//! The other implementation: boon, with formats asserted, and content asserted for draft 7.

use std::fmt::Write as _;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

use super::documents::Draft;

const ADDRESS: &str = "https://oracle.invalid/document.json";

pub(super) struct Oracle {
    schemas: Schemas,
    places: Vec<SchemaIndex>,
}

impl Oracle {
    pub(super) fn new(document: &Value) -> Result<Self, String> {
        Self::at(document, &[String::new()])
    }

    /// Compiles the subschemas at these JSON pointers.
    pub(super) fn at(document: &Value, pointers: &[String]) -> Result<Self, String> {
        let mut compiler = Compiler::new();
        compiler.enable_format_assertions();
        if Draft::of(document) == Draft::V7 {
            compiler.enable_content_assertions();
        }
        compiler
            .add_resource(ADDRESS, document.clone())
            .map_err(|error| error.to_string())?;
        let mut schemas = Schemas::new();
        let mut places = Vec::new();
        for pointer in pointers {
            let location = format!("{ADDRESS}#{}", fragment(pointer));
            places.push(
                compiler
                    .compile(&location, &mut schemas)
                    .map_err(|error| format!("{error:#}"))?,
            );
        }
        Ok(Self { schemas, places })
    }

    pub(super) fn accepts(&self, value: &Value) -> bool {
        self.accepts_at(0, value)
    }

    /// Returns the verdict of the subschema at the pointer with this index.
    pub(super) fn accepts_at(&self, place: usize, value: &Value) -> bool {
        self.schemas.validate(value, self.places[place]).is_ok()
    }
}

fn fragment(pointer: &str) -> String {
    let mut out = String::new();
    for byte in pointer.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'~' | b'-' | b'_') {
            out.push(byte as char);
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
