//! Artifacts of [Turnwright](https://github.com/turnwright/turnwright), an agent framework: tool results that are too large for
//! a prompt. Applications depend on the facade crate `turnwright`, which re-exports what they need.
//!
//! The crate also contains what lies below artifacts and is used by every other crate: the error type and the spool for bytes.
//!
//! | to | use |
//! | --- | --- |
//! | query a large result | [`artifact`] |
//! | store bytes and read them by range | [`spool`] |
//! | return an error with a stable code | [`error`] |

#[macro_use(debug_fields)]
extern crate turnwright_schema as _;

pub mod artifact;
#[doc(hidden)]
pub mod ascii;
#[doc(hidden)]
pub mod checksum;
pub mod error;
#[doc(hidden)]
pub mod files;
pub mod spool;

use turnwright_schema as schema;

pub use error::{BoxError, Error, ErrorCode, ErrorKind, ToolError};
