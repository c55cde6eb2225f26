//! Finds the end of a JSON object in text that arrives in pieces.

/// Tracks the nesting of JSON text: an object is complete once it is closed.
#[derive(Default)]
pub(crate) struct Extent {
    depth: usize,
    in_string: bool,
    escaped: bool,
    begun: bool,
    opened: bool,
}

impl Extent {
    /// Returns `true` if there was only whitespace so far.
    pub(crate) fn is_blank(&self) -> bool {
        !self.begun
    }

    /// Returns `true` if an object or list was opened, and all of them are closed.
    pub(crate) fn is_complete(&self) -> bool {
        self.opened && self.depth == 0
    }

    /// Adds text.
    pub(crate) fn add(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.add_byte(byte));
    }

    /// Adds a byte. Bytes of one character can be added one by one.
    pub(crate) fn add_byte(&mut self, byte: u8) {
        if self.in_string {
            self.in_string = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            return;
        }
        self.begun |= !byte.is_ascii_whitespace();
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => {
                self.opened = true;
                self.depth += 1;
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}
