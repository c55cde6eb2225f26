//! Storage that outlives its process: an embedded database for [Turnwright](https://github.com/turnwright/turnwright).
//!
//! [`sqlite::SqliteStorage`] adds `Storage::sqlite(path)`: the records in one file, and beside it a folder with large results and a
//! file with the secret.

pub mod sqlite;
