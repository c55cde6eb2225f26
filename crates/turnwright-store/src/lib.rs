//! Persistent storage in an embedded database for [Turnwright](https://github.com/turnwright/turnwright).
//!
//! [`sqlite::SqliteStorage`] adds `Storage::sqlite(path)`: one file with the records, and next to it a folder with
//! large results and a file with the secret.
//!
//! ```no_run
//! use turnwright_core::{BoxError, DispatchContext, Storage};
//! use turnwright_store::sqlite::SqliteStorage as _;
//!
//! # async fn model(_: DispatchContext) -> Result<(), BoxError> { Ok(()) }
//! # async fn run() -> Result<(), BoxError> {
//! let storage = Storage::sqlite("chat.db").await?;
//! let runner = turnwright_core::runner(model).storage(storage).build()?;
//! # drop(runner);
//! # Ok(()) }
//! ```

pub mod sqlite;
