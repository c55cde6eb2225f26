//! JSON Schema for tool arguments: one document that the model sees and that is enforced.
//!
//! There are three ways to create a [`Schema`]: [`Schema::object`] builds one, [`Schema::of`] derives one from a Rust
//! type, and [`Schema::from_document`] parses a JSON document. A document that cannot be enforced is rejected when
//! the schema is created.
//!
//! ```
//! use turnwright_schema::{Schema, integer, string};
//! use serde_json::json;
//!
//! let schema = Schema::object()
//!     .field("city", string().description("Where").min_length(1).required())
//!     .field("days", integer().min(1).max(14).default(3))
//!     .build()?;
//!
//! // What the model sees:
//! assert_eq!(schema.document()["properties"]["days"]["maximum"], 14);
//! // What is enforced. Narrow repairs are applied, and all faults are reported at once:
//! let checked = schema.check(r#"{"city": "Paris", "days": "7"}"#)?;
//! assert_eq!(checked.value(), &json!({ "city": "Paris", "days": 7 }));
//! let error = schema.check(r#"{"city": "", "days": 15}"#).unwrap_err();
//! assert_eq!(error.faults().iter().map(|fault| fault.pointer.as_str()).collect::<Vec<_>>(), ["/city", "/days"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[macro_use]
mod text;

mod branch_filter;
mod builder;
mod check;
mod coerce;
mod decode;
mod explain;
mod external;
mod fault;
mod foreign;
mod graph;
mod keywords;
mod limits;
mod numeric;
mod options;
mod pattern;
mod plan;
mod pointer;
mod problem;
mod raw;
mod reference;
mod repair;
mod schema;
mod typed;
mod validators;
mod walk;

#[cfg(test)]
mod tests;

pub use builder::{
    Field, IntoSchema, all_of, any, any_of, array, boolean, constant, integer, map, null, number,
    object, one_of, string, tuple,
};
pub use check::CheckedArgs;
pub use external::Rejection;
pub use fault::{Fault, InvalidArguments};
pub use limits::Limits;
pub use options::SchemaOptions;
pub use problem::{SchemaError, SchemaProblem, Unenforced, UnenforcedKind};
pub use raw::RawArgs;
pub use repair::{Repair, RepairKind};
pub use schema::Schema;
pub use typed::Typed;

// Shared with the other crates of Turnwright. Not part of the public API.
#[doc(hidden)]
pub use {
    decode::{Opened, decode},
    external::ExternalCheck,
    keywords::near,
    limits::MAX_DEPTH,
    numeric::as_integer,
    raw::{Raw, survey},
    text::{clip, counted, escape, is_invisible, quote, shortened},
};
