//! One folder, opened once.

use std::io;
use std::path::Path;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use turnwright::ToolError;

use crate::exit::misuse;

/// A folder. Every path is taken from here, step by step, and none leads out: neither `..`, nor one from the root, nor a
/// link, also not one that is put in place between two looks.
#[derive(Clone)]
pub(super) struct Folder(Arc<Dir>);

impl Folder {
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(|error| {
            let shown = path.display();
            misuse(format!(
                "the folder `{shown}` cannot be read: {error}. Name another with --folder"
            ))
        })?;
        Ok(Folder(Arc::new(dir)))
    }

    /// The folder itself.
    pub(super) fn root(&self) -> &Dir {
        &self.0
    }

    /// Opens a file for reading: one that holds bytes, and not a pipe or a device that would be waited for.
    pub(super) fn file(&self, path: &Path) -> io::Result<std::fs::File> {
        // Looked at first, since to open some devices is to do something.
        ordinary(self.0.metadata(path)?.is_file())?;
        let mut options = OpenOptions::new();
        options.read(true);
        without_waiting(&mut options);
        let file = self.0.open_with(path, &options)?;
        // Looked at again, since this is what was opened.
        ordinary(file.metadata()?.is_file())?;
        Ok(file.into_std())
    }
}

fn ordinary(is_file: bool) -> io::Result<()> {
    match is_file {
        true => Ok(()),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

#[cfg(unix)]
fn without_waiting(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt as _;
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
}

#[cfg(not(unix))]
fn without_waiting(_: &mut OpenOptions) {}

/// What a model is told of a path that cannot be read.
pub(super) fn unreadable(path: &str, error: &io::Error) -> ToolError {
    let message = format!("`{path}`: {error}");
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            let told = format!("There is no `{path}` here. list_files shows what there is.");
            ToolError::not_found(message).for_model(told)
        }
        io::ErrorKind::PermissionDenied => {
            let told = format!(
                "`{path}` may not be read. Only what is below the folder is: give a path from there, such as `src/main.rs`."
            );
            ToolError::denied(message).for_model(told)
        }
        io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory => {
            let told =
                format!("`{path}` is not an ordinary file. list_files shows what is in a folder.");
            ToolError::invalid_arguments(message).for_model(told)
        }
        _ => {
            let told = format!("`{path}` cannot be read.");
            ToolError::unavailable(message).for_model(told)
        }
    }
}
