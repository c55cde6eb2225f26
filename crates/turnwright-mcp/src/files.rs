//! Reads files that a user names: configurations, lock files, tokens.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Reads the text of a regular file of bounded size. Symbolic links are followed. Pipes and devices, which could block for ever or
/// have no end, are refused before they are opened.
///
/// ```
/// use std::io::ErrorKind;
/// use turnwright_mcp::read_regular_file;
///
/// let error = read_regular_file(".", 1 << 20).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::InvalidInput);
/// ```
///
/// # Errors
/// `InvalidInput` if it is not a regular file, `FileTooLarge` if it has more than `max_bytes`, `InvalidData` if it is not UTF-8, and
/// the errors of the file system.
pub fn read_regular_file(path: impl AsRef<Path>, max_bytes: u64) -> io::Result<String> {
    open_regular_file(path.as_ref()).and_then(|file| read_bounded(file, max_bytes))
}

/// Opens a regular file.
pub(crate) fn open_regular_file(path: &Path) -> io::Result<File> {
    // Before it is opened: opening a pipe would wait for a writer.
    check(&std::fs::metadata(path)?)?;
    let file = File::open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Reads the text of a file.
pub(crate) fn read_bounded(file: File, max_bytes: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        let message = format!("it is larger than the limit of {} MiB", max_bytes >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("it is not valid UTF-8 at byte {at}");
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

fn check(metadata: &std::fs::Metadata) -> io::Result<()> {
    match metadata.is_file() {
        true => Ok(()),
        false => {
            let message = "it is not a regular file";
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))
        }
    }
}
