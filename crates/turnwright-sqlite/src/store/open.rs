//! Opens a file: determines what it is, and never overwrites a file of another program.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use turnwright_core::files::create_private_file;

use super::error::retry_while_busy;
use super::error::{Failure, SqliteErrorKind};
use super::format::{self, Found};

/// The first bytes of every SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// The number of cached prepared statements per connection.
const STATEMENTS: usize = 64;
/// The size to which the write-ahead log is truncated after it was moved into the file.
const LOG_BYTES: i64 = 16 * 1024 * 1024;

/// SQLite features that are disabled, so that a file cannot execute anything.
const STRICT: [(DbConfig, bool); 4] = [
    (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
];

/// The database to open, and how.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// `None` for a database in memory.
    pub(super) path: Option<PathBuf>,
    pub(super) read_only: bool,
    pub(super) busy_timeout: Duration,
    pub(super) max_file_bytes: Option<u64>,
}

impl Target {
    /// Opens the writing connection. Creates the file if it does not exist.
    pub(super) fn open_writer(&self) -> Result<Connection, Failure> {
        let conn = match &self.path {
            None => Connection::open_in_memory()?,
            Some(path) => {
                self.check_file(path)?;
                self.connect(path)?
            }
        };
        // A rejected file is not changed, and neither is its log.
        let keep_log = |keep| conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep);
        keep_log(self.path.as_deref().is_some_and(|path| log_bytes(path) > 0))?;
        // SQLite silently opens a file for reading if it cannot be written.
        if !self.read_only && conn.is_readonly("main")? {
            return Err(SqliteErrorKind::ReadOnly.into());
        }
        let found = retry_while_busy(self.busy_timeout, || format::identify(&conn));
        let found = found.map_err(without_side_files)?;
        if self.read_only && found == Found::Nothing {
            return Err(SqliteErrorKind::NoDatabase.into());
        }
        keep_log(false)?;
        if !self.read_only {
            self.prepare(&conn, found)?;
        }
        Ok(conn)
    }

    /// Opens a connection that reads what [`Target::open_writer`] opened.
    pub(super) fn open_reader(&self) -> Result<Connection, Failure> {
        let Some(path) = &self.path else {
            return Err(Failure::new(
                SqliteErrorKind::Other,
                "a database in memory has only one connection",
            ));
        };
        let conn = self.connect(path)?;
        conn.pragma_update(None, "query_only", true)?;
        Ok(conn)
    }

    fn connect(&self, path: &Path) -> Result<Connection, Failure> {
        if !self.read_only {
            return self.set_up(open_at(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?);
        }
        let conn = self.set_up(open_at(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?)?;
        let looked = conn.pragma_query_value(None, "schema_version", |row| row.get::<_, i64>(0));
        match looked {
            // Readers and writers share a file next to the database, which cannot be created here. If there is no log
            // either, there are no writers.
            Err(error) if cannot_open(&error) && !log_of(path).exists() => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                self.set_up(open_at(Path::new(&unchanging(path)), flags)?)
            }
            // Any other problem is reported by the next check.
            _ => Ok(conn),
        }
    }

    fn set_up(&self, conn: Connection) -> Result<Connection, Failure> {
        conn.busy_timeout(self.busy_timeout)?;
        conn.set_prepared_statement_cache_capacity(STATEMENTS);
        conn.pragma_update(None, "foreign_keys", true)?;
        // A foreign file must not execute anything.
        for (config, on) in STRICT {
            conn.set_db_config(config, on)?;
        }
        Ok(conn)
    }

    /// Checks what can be checked before SQLite opens the file. Creates it if it does not exist, readable by its
    /// owner only.
    fn check_file(&self, path: &Path) -> Result<(), Failure> {
        // Opening a pipe would block until another process writes to it.
        if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            return Err(Failure::new(
                SqliteErrorKind::CannotOpen,
                "it is not a regular file",
            ));
        }
        match File::open(path) {
            Ok(file) => check_header(file, path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = path.parent().unwrap_or(Path::new("/"));
                match fs::metadata(folder) {
                    Ok(folder) if folder.is_dir() => {}
                    _ => return Err(SqliteErrorKind::NoFolder.into()),
                }
                if self.read_only {
                    return Err(error.into());
                }
                create_file(path).map_err(Failure::from)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn prepare(&self, conn: &Connection, found: Found) -> Result<(), Failure> {
        if found == Found::Nothing {
            // Before any table exists: it cannot be enabled later.
            conn.pragma_update(None, "auto_vacuum", "incremental")?;
        }
        if self.path.is_some() {
            retry_while_busy(self.busy_timeout, || write_ahead(conn))?;
        }
        conn.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
        // Deleted data must not remain readable in the bytes of the file.
        conn.pragma_update(None, "secure_delete", true)?;
        if let Some(most) = self.max_file_bytes {
            let page: u64 = conn.pragma_query_value(None, "page_size", |row| row.get(0))?;
            let pages = (most / page.max(1)).clamp(1, u64::from(u32::MAX - 1));
            conn.pragma_update(None, "max_page_count", pages)?;
        }
        if found == Found::Nothing {
            // The format is on the disk before anything relies on it.
            conn.pragma_update(None, "synchronous", "full")?;
            retry_while_busy(self.busy_timeout, || {
                conn.execute_batch("BEGIN IMMEDIATE").map_err(Failure::from)
            })?;
            let created = format::create(conn).and_then(|()| Ok(conn.execute_batch("COMMIT")?));
            if created.is_err() && !conn.is_autocommit() {
                // Uncommitted changes are discarded with the connection in any case.
                let _ = conn.execute_batch("ROLLBACK");
            }
            created?;
        }
        Ok(())
    }
}

fn write_ahead(conn: &Connection) -> Result<(), Failure> {
    let mode: String =
        conn.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    match mode.as_str() {
        "wal" => Ok(()),
        mode => Err(Failure::new(
            SqliteErrorKind::CannotOpen,
            format!("its file system supports only journal mode {mode}, but `wal` is required"),
        )),
    }
}

/// Checks the header. An empty file may become a database, because nothing is overwritten.
fn check_header(mut file: File, path: &Path) -> Result<(), Failure> {
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(Failure::new(SqliteErrorKind::CannotOpen, "it is a folder"));
    }
    if metadata.len() == 0 {
        return Ok(());
    }
    let mut header = [0; 32];
    let read = file.read_exact(&mut header);
    if read.is_err() || !header.starts_with(MAGIC) {
        return Err(SqliteErrorKind::NoDatabase.into());
    }
    let [.., high, low, _, _, _, _, _, _, _, _, _, _, a, b, c, d] = header;
    let page_bytes = match u16::from_be_bytes([high, low]) {
        1 => 65_536,
        bytes => u64::from(bytes),
    };
    let pages = u64::from(u32::from_be_bytes([a, b, c, d]));
    // Missing data may be in the log. The length is read last: another process may move its log into the file
    // meanwhile and delete the log.
    let log = log_bytes(path);
    let (has, wants) = (file.metadata()?.len(), page_bytes * pages);
    if log == 0 && has < wants {
        let detail = format!("it has {has} bytes instead of {wants}: its end is missing");
        return Err(Failure::new(SqliteErrorKind::Corrupt, detail));
    }
    Ok(())
}

fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// Returns the length of the log. It is next to the file itself, also if `path` is a link to the file.
fn log_bytes(path: &Path) -> u64 {
    let file = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    fs::metadata(log_of(&file)).map_or(0, |log| log.len())
}

fn open_at(path: &Path, mode: OpenFlags) -> Result<Connection, Failure> {
    let mode = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Ok(Connection::open_with_flags(path, mode)?)
}

/// Returns `true` if the file, or the files next to it, cannot be opened or created. If a folder is read-only, SQLite
/// reports this for the file.
fn cannot_open(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

/// Returns a URI for an immutable file, which SQLite reads without other files.
fn unchanging(path: &Path) -> String {
    let mut name = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                name.push(char::from(*byte));
            }
            // Writing to a string cannot fail.
            _ => _ = write!(name, "%{byte:02x}"),
        }
    }
    name.push_str("?immutable=1");
    name
}

/// Replaces SQLite's error for an existing file if the files next to it cannot be created.
fn without_side_files(failure: Failure) -> Failure {
    match failure {
        Failure::Sql(error) if cannot_open(&error) => Failure::new(
            SqliteErrorKind::ReadOnly,
            "the files `-wal` and `-shm` cannot be created next to it",
        ),
        failure => failure,
    }
}

/// Creates the file. SQLite gives its other files the same permissions.
fn create_file(path: &Path) -> io::Result<()> {
    match create_private_file(path) {
        Ok(file) => file.sync_all()?,
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => return Err(error),
    }
    // A new name is on the disk once its folder is.
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}
