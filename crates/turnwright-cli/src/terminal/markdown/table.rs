//! Tables.

use pulldown_cmark::Alignment;

use super::spans::{Span, widest, wrap};
use crate::terminal::flow::columns;
use crate::terminal::style::{self, paint};

/// Between two columns.
const GAP: &str = " │ ";
/// The narrowest column that is still a column.
const NARROWEST: usize = 3;

type Cell = Vec<Span>;

/// A table that is being collected. The first row is the header.
pub(super) struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Cell>>,
    row: Vec<Cell>,
}

impl Table {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Table {
            alignments,
            rows: Vec::new(),
            row: Vec::new(),
        }
    }

    pub(super) fn cell(&mut self, cell: Cell) {
        self.row.push(cell);
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    /// Lines of at most `width` columns. Cells are wrapped; a table with too many columns is shown as a list of its cells.
    pub(super) fn render(self, width: usize) -> Vec<String> {
        let Some(widths) = self.widths(width) else {
            return self.as_list(width);
        };
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            let cells: Vec<Vec<String>> = widths
                .iter()
                .enumerate()
                .map(|(at, wide)| wrap(row.get(at).map_or(&[][..], Vec::as_slice), *wide))
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or_default().max(1);
            for line in 0..height {
                let parts = cells.iter().zip(&widths).enumerate();
                let parts = parts.map(|(at, (cell, wide))| {
                    let text = cell.get(line).map_or("", String::as_str);
                    let text = match number {
                        0 => paint(style::BOLD, text),
                        _ => text.to_owned(),
                    };
                    self.aligned(at, &text, *wide)
                });
                let parts: Vec<String> = parts.collect();
                lines.push(parts.join(GAP).trim_end().to_owned());
            }
            if number == 0 {
                let rule: Vec<String> = widths.iter().map(|wide| "─".repeat(*wide)).collect();
                lines.push(paint(style::DIM, rule.join("─┼─")));
            }
        }
        lines
    }

    /// The width of each column; `None` if they do not fit.
    fn widths(&self, width: usize) -> Option<Vec<usize>> {
        let natural = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            cells
                .map(|cell| widest(cell))
                .max()
                .unwrap_or_default()
                .max(1)
        };
        let mut widths: Vec<usize> = (0..self.alignments.len()).map(natural).collect();
        let gaps = columns(GAP) * widths.len().saturating_sub(1);
        let room = width.checked_sub(gaps)?;
        // Takes columns from the widest until all of them fit.
        while widths.iter().sum::<usize>() > room {
            let widest = widths.iter_mut().max_by_key(|wide| **wide)?;
            if *widest <= NARROWEST {
                return None;
            }
            *widest -= 1;
        }
        Some(widths)
    }

    fn aligned(&self, at: usize, text: &str, width: usize) -> String {
        let shown = anstream::adapter::strip_str(text).to_string();
        let free = width.saturating_sub(columns(&shown));
        let before = match self.alignments.get(at) {
            Some(Alignment::Right) => free,
            Some(Alignment::Center) => free / 2,
            _ => 0,
        };
        format!("{}{text}{}", " ".repeat(before), " ".repeat(free - before))
    }

    fn as_list(&self, width: usize) -> Vec<String> {
        let cells = self.rows.iter().flatten();
        cells.flat_map(|cell| wrap(cell, width)).collect()
    }
}
