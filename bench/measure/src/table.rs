//! Tables in Markdown.

use std::fmt::{self, Display, Formatter, Write as _};

use crate::timing::Timing;

/// Returns the compiler that built this benchmark.
pub fn rustc() -> &'static str {
    env!("BENCH_RUSTC")
}

/// Returns a package's name with its versions in a lock file.
pub fn locked(lock: &str, package: &str) -> String {
    let entry = format!("name = \"{package}\"\nversion = \"");
    let versions = lock.split(&entry).skip(1);
    let versions: Vec<&str> = versions.filter_map(|rest| rest.split('"').next()).collect();
    match versions[..] {
        [] => format!("{package} of unknown version"),
        _ => format!("{package} {}", versions.join(" and ")),
    }
}

/// Formats a number as `12,345`, or with decimals below a hundred.
pub fn grouped(number: f64, decimals: usize) -> String {
    if number < 100.0 {
        return format!("{number:.decimals$}");
    }
    let digits = format!("{number:.0}");
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Writes a title and the head of a table: names in the first column, numbers in the others.
///
/// # Errors
/// Fails if writing fails.
pub fn header(f: &mut Formatter<'_>, title: &str, columns: &[&str]) -> fmt::Result {
    writeln!(f, "\n### {title}\n")?;
    writeln!(f, "| | {} |", columns.join(" | "))?;
    f.write_str("| --- |")?;
    for column in columns {
        f.write_str(if column.is_empty() {
            " --- |"
        } else {
            " ---: |"
        })?;
    }
    f.write_char('\n')
}

/// Returns whether a goal is met, for a table of goals.
pub fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "**missed**" }
}

/// Label, median, minimum and spread of a timing: the first four cells of a row.
#[derive(Debug)]
pub struct Row<'t> {
    /// What was measured.
    pub timing: &'t Timing,
    /// The unit, in nanoseconds.
    pub unit: f64,
    /// Decimals of numbers below a hundred.
    pub decimals: usize,
}

impl<'t> Row<'t> {
    /// Creates a row in nanoseconds, with one decimal.
    pub fn new(timing: &'t Timing) -> Self {
        Row {
            timing,
            unit: 1.0,
            decimals: 1,
        }
    }
}

impl Display for Row<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let shown = |nanoseconds: f64| grouped(nanoseconds / self.unit, self.decimals);
        let summary = self.timing.summary;
        let (median, min) = (shown(summary.median), shown(summary.min));
        let (label, spread) = (self.timing.label, summary.spread * 100.0);
        write!(f, "| {label} | {median} | {min} | {spread:.0} % |")
    }
}
