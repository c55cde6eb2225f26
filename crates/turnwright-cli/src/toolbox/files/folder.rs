//! A directory that was opened once, and the paths below it.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use turnwright::ToolError;

use super::{is_hidden, one_name};
use crate::exit::misuse;

/// A directory. Every path is resolved from here, step by step, and cannot leave it: not by `..`, not by an absolute path, not by
/// a link, and not by a link that is swapped in between two checks.
///
/// Only [`Folder::resolve`] follows links. [`Folder::file`] and [`Folder::dir`] open a resolved path and refuse links, so that
/// the file that is opened is the one that was checked.
#[derive(Clone)]
pub(super) struct Folder(Arc<Dir>);

impl Folder {
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(|error| {
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
        let resolved = self.0.canonicalize(named);
        let resolved = resolved.map_err(|error| unreadable(named, &error))?;
        let resolved = without_dots(&resolved);
        if is_hidden(&resolved.to_string_lossy()) && resolved != without_dots(Path::new(named)) {
            return Err(hidden_target(named, &resolved));
        }
        Ok(resolved)
    }

    /// Opens a regular file for reading, by its resolved path. Pipes and devices are refused, because reading them may block.
    pub(super) fn file(&self, path: &Path) -> io::Result<std::fs::File> {
        let (dir, name) = self.parent(path)?;
        // Checked first, because opening some devices has effects.
        ordinary(dir.symlink_metadata(&name)?.is_file())?;
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No);
        without_waiting(&mut options);
        let file = dir.open_with(&name, &options)?;
        // Checked again, on the file that was opened.
        ordinary(file.metadata()?.is_file())?;
        Ok(file.into_std())
    }

    /// Opens a directory by its resolved path.
    pub(super) fn dir(&self, path: &Path) -> io::Result<Dir> {
        let mut dir = self.0.try_clone()?;
        for step in path.components() {
            match step {
                Component::CurDir => {}
                Component::Normal(name) => dir = dir.open_dir_nofollow(name)?,
                _ => return Err(io::ErrorKind::PermissionDenied.into()),
            }
        }
        Ok(dir)
    }

    /// Whether a resolved path is an ordinary file.
    pub(super) fn is_file(&self, path: &Path) -> bool {
        let found = self.parent(path);
        let found = found.and_then(|(dir, name)| dir.symlink_metadata(name));
        found.is_ok_and(|found| found.is_file())
    }

    fn parent(&self, path: &Path) -> io::Result<(Dir, PathBuf)> {
        let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
        let above = path.parent().unwrap_or(Path::new("."));
        Ok((self.dir(above)?, PathBuf::from(name)))
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

fn ordinary(is_file: bool) -> io::Result<()> {
    if is_file {
        Ok(())
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

#[cfg(unix)]
fn without_waiting(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt as _;
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
}

#[cfg(not(unix))]
fn without_waiting(_: &mut OpenOptions) {}

/// The error for a path that cannot be read.
pub(super) fn unreadable(path: &str, error: &io::Error) -> ToolError {
    let message = format!("`{path}`: {error}");
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            let for_model = format!("`{path}` does not exist. Use list_files to see what exists.");
            ToolError::not_found(message).for_model(for_model)
        }
        io::ErrorKind::PermissionDenied => {
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
