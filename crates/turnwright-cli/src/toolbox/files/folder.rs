//! A directory that was opened once, and the paths below it.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use turnwright::ToolError;

use super::dir::{Dir, Kind};
use super::{is_hidden, one_name};
use crate::exit::misuse;

/// The most links that are followed in one path.
const MAX_LINKS: usize = 40;

/// A directory. Every path is resolved from here, step by step, and cannot leave it: not by `..`, not by an absolute path, not by
/// a link, and not by a link that is swapped in between two checks.
///
/// Only [`Folder::resolve`] follows links. Everything else opens a path step by step and refuses links, so that the file that is
/// opened is the one that was checked.
#[derive(Clone)]
pub(super) struct Folder(Arc<Dir>);

impl Folder {
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let dir = Dir::open(path).map_err(|error| {
            let shown = path.display();
            misuse(format!(
                "cannot read the directory `{shown}`: {error}. Select another one with --folder"
            ))
        })?;
        Ok(Folder(Arc::new(dir)))
    }

    /// Resolves a path that a model named, and returns it relative to the folder, without links and `..`.
    ///
    /// # Errors
    /// The path does not exist or leaves the directory, or a link leads to a hidden path. Policies and approvers see the path
    /// that was named, so a hidden file must be named by its own path.
    pub(super) fn resolve(&self, named: &str) -> Result<PathBuf, ToolError> {
        let resolved = self.follow(Path::new(named));
        let resolved = resolved.map_err(|error| unreadable(named, &error))?;
        if is_hidden(&resolved.to_string_lossy()) && resolved != without_dots(Path::new(named)) {
            return Err(hidden_target(named, &resolved));
        }
        Ok(resolved)
    }

    /// Follows the links of a path, step by step.
    fn follow(&self, named: &Path) -> io::Result<PathBuf> {
        let mut resolved = PathBuf::from(".");
        let mut rest = named.to_owned();
        let mut links = 0;
        loop {
            let mut steps = rest.components();
            let Some(step) = steps.next() else {
                return Ok(without_dots(&resolved));
            };
            let mut after = steps.as_path().to_owned();
            let dir = self.dir(&resolved)?;
            match step {
                Component::CurDir => {}
                Component::ParentDir if resolved != Path::new(".") => {
                    resolved.pop();
                }
                Component::Normal(name) if dir.kind(name)? == Kind::Link => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(io::Error::other("too many links"));
                    }
                    after = dir.read_link(name)?.join(after);
                }
                Component::Normal(name) => resolved.push(name),
                _ => return Err(outside()),
            }
            rest = after;
        }
    }

    /// Opens a regular file for reading, by its resolved path. Pipes and devices are refused, because reading them may block.
    pub(super) fn file(&self, path: &Path) -> io::Result<File> {
        let (dir, name) = self.parent(path)?;
        // Checked first, because opening some devices has effects.
        ordinary(dir.kind(name)? == Kind::File)?;
        let file = dir.file(name)?;
        // Checked again, on the file that was opened.
        ordinary(file.metadata()?.is_file())?;
        Ok(file)
    }

    /// Opens a directory by its resolved path.
    pub(super) fn dir(&self, path: &Path) -> io::Result<Dir> {
        let mut dir = self.0.dir(".".as_ref())?;
        for step in path.components() {
            match step {
                Component::CurDir => {}
                Component::Normal(name) => dir = dir.dir(name)?,
                _ => return Err(outside()),
            }
        }
        Ok(dir)
    }

    /// Whether a resolved path is an ordinary file.
    pub(super) fn is_file(&self, path: &Path) -> bool {
        let found = self.parent(path);
        let kind = found.and_then(|(dir, name)| dir.kind(name));
        kind.is_ok_and(|kind| kind == Kind::File)
    }

    fn parent<'p>(&self, path: &'p Path) -> io::Result<(Dir, &'p OsStr)> {
        let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
        Ok((self.dir(path.parent().unwrap_or(path))?, name))
    }
}

/// The path without `.` and `..`, by its text only; `.` if nothing is left.
fn without_dots(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for step in path.components() {
        match step {
            Component::CurDir => {}
            Component::ParentDir => {
                tidy.pop();
            }
            step => tidy.push(step),
        }
    }
    if tidy.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        tidy
    }
}

fn hidden_target(named: &str, target: &Path) -> ToolError {
    let target = one_name(target);
    let for_model = format!(
        "`{named}` is a link to the hidden path `{target}`, so it was not read. Hidden files can only be read by their own \
         path, which needs approval: use `{target}` if you need it."
    );
    ToolError::denied(format!("`{named}` leads to the hidden path `{target}`")).for_model(for_model)
}

fn outside() -> io::Error {
    let message = "it leads out of the directory";
    io::Error::new(io::ErrorKind::PermissionDenied, message)
}

fn ordinary(is_file: bool) -> io::Result<()> {
    if is_file {
        Ok(())
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

/// The error for a path that cannot be read.
pub(super) fn unreadable(path: &str, error: &io::Error) -> ToolError {
    let message = format!("`{path}`: {error}");
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            let for_model = format!("`{path}` does not exist. Use list_files to see what exists.");
            ToolError::not_found(message).for_model(for_model)
        }
        // Not an error of the operating system.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            let for_model = format!(
                "`{path}` cannot be read: it is outside the directory. Use a relative path, such as `src/main.rs`."
            );
            ToolError::denied(message).for_model(for_model)
        }
        io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory => {
            let for_model = format!(
                "`{path}` is not a regular file. Use list_files to see what is in a directory."
            );
            ToolError::invalid_arguments(message).for_model(for_model)
        }
        _ => {
            let for_model = format!("`{path}` cannot be read.");
            ToolError::unavailable(message).for_model(for_model)
        }
    }
}
