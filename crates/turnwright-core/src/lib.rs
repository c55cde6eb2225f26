//! The core of Turnwright: schemas, tools, the call path and the registry.
pub mod error;
pub mod schema;
pub use error::{Error, ErrorCode, ErrorKind};
pub use schema::{CheckedArgs, Fault, Field, IntoSchema, Limits, RawArgs, Rejection, Repair, RepairKind, Schema, SchemaOptions, SchemaProblem};
