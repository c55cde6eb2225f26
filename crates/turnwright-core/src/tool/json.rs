//! Writes handler output as JSON with a depth limit.

use std::any::Any;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

use crate::error::ToolError;
use crate::schema::{MAX_DEPTH, dismantle};

/// Writes the value as compact JSON.
///
/// # Errors
/// Returns an error if the value cannot be serialised or has more than 128 levels.
pub(super) fn write<T: Serialize + 'static>(value: T) -> Result<String, ToolError> {
    let mut levels = Levels {
        open: 0,
        too_deep: false,
    };
    let mut text = Vec::new();
    let written = value.serialize(&mut Serializer::with_formatter(&mut text, &mut levels));
    if levels.too_deep {
        discard(value);
        let message = format!(
            "its output has more than {MAX_DEPTH} levels of JSON: return a flatter value or text"
        );
        let for_model = "The tool ran, but its result is nested too deeply to be shown.";
        return Err(ToolError::internal(message).for_model(for_model));
    }
    written?;
    Ok(String::from_utf8(text)?)
}

/// Drops a value of any depth.
fn discard<T: 'static>(value: T) {
    let mut value = Some(value);
    match (&mut value as &mut dyn Any).downcast_mut::<Option<Value>>() {
        Some(value) => value.take().into_iter().for_each(dismantle),
        // Dropping it is recursive too, and a user's type cannot be taken apart. Leak it to keep the process alive.
        None => std::mem::forget(value),
    }
}

/// The compact format. Fails before the serialiser descends beyond the maximum depth.
struct Levels {
    open: usize,
    too_deep: bool,
}

impl Levels {
    fn begin<W: Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.open += 1;
        if self.open > MAX_DEPTH {
            self.too_deep = true;
            return Err(io::Error::other("too deep"));
        }
        writer.write_all(bracket)
    }

    fn end<W: Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.open = self.open.saturating_sub(1);
        writer.write_all(bracket)
    }
}

impl Formatter for &mut Levels {
    fn begin_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"]")
    }

    fn begin_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"}")
    }
}
