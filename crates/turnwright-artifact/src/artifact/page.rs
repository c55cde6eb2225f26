//! Results of queries, limited in size.

/// Bytes reserved at the end of every page for notes, such as how to continue.
const NOTE_ROOM: usize = 512;

/// Builds the result of a query line by line within a size limit.
///
/// ```
/// use turnwright_artifact::artifact::Page;
///
/// let mut page = Page::new(1024);
/// let mut shown = 0;
/// for n in 0..10_000 {
///     if !page.line(&format!("row {n}")) { break }
///     shown += 1;
/// }
/// page.note(&format!("{shown} of 10000 rows: continue with start={shown}"));
/// let page = page.finish();
/// assert!(page.len() <= 1024);
/// assert!(page.ends_with("[74 of 10000 rows: continue with start=74]"), "{page}");
/// ```
pub struct Page {
    text: String,
    notes: String,
    budget: usize,
}

impl Page {
    /// Creates an empty page of at most `budget` bytes, including notes.
    #[must_use]
    pub fn new(budget: usize) -> Self {
        Page {
            text: String::new(),
            notes: String::new(),
            budget,
        }
    }

    /// Returns how many bytes of content still fit.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.budget
            .saturating_sub(NOTE_ROOM)
            .saturating_sub(self.text.len())
    }

    /// Returns whether the page is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Adds a line if it fits. Returns `false` if it does not; then stop and add a [`Page::note`].
    #[must_use = "a line that did not fit is not on the page"]
    pub fn line(&mut self, line: &str) -> bool {
        let fits = line.len() < self.remaining();
        if fits {
            self.text.push_str(line);
            self.text.push('\n');
        }
        fits
    }

    /// Adds as much of a line as fits, cut at a character boundary. Returns the number of bytes added.
    pub fn part_of_line(&mut self, line: &str) -> usize {
        let room = self.remaining().saturating_sub(1);
        let fitting = line.floor_char_boundary(room);
        if let Some(part) = line.get(..fitting) {
            self.text.push_str(part);
            self.text.push('\n');
        }
        fitting
    }

    /// Adds a note about the page itself. Notes appear in brackets at the end and share 512 reserved bytes.
    pub fn note(&mut self, note: &str) {
        let left = NOTE_ROOM.saturating_sub(self.notes.len()).saturating_sub(3);
        let note = note.get(..note.floor_char_boundary(left)).unwrap_or("");
        if !note.is_empty() {
            self.notes.push('[');
            self.notes.push_str(note);
            self.notes.push_str("]\n");
        }
    }

    /// Returns the finished page.
    #[must_use]
    pub fn finish(self) -> String {
        let mut text = self.text + &self.notes;
        if text.ends_with('\n') {
            text.pop();
        }
        text
    }
}

// The content may be secret.
debug_fields!(Page { budget });
