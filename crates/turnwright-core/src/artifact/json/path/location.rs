//! Where a node is: normalised paths, RFC 9535 section 2.7.

use std::fmt::Write as _;

/// One step from a node to its child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::artifact::json) enum Step<'v> {
    Name(&'v str),
    Index(u64),
}

/// The normalised path of a node.
pub(in crate::artifact::json) fn normalised(steps: &[Step<'_>]) -> String {
    let mut path = String::from("$");
    for step in steps {
        match step {
            // Writing to a string does not fail.
            Step::Index(index) => _ = write!(path, "[{index}]"),
            Step::Name(name) => {
                path.push_str("['");
                escape_into(&mut path, name);
                path.push_str("']");
            }
        }
    }
    path
}

fn escape_into(path: &mut String, name: &str) {
    for c in name.chars() {
        match c {
            '\u{8}' => path.push_str("\\b"),
            '\t' => path.push_str("\\t"),
            '\n' => path.push_str("\\n"),
            '\u{c}' => path.push_str("\\f"),
            '\r' => path.push_str("\\r"),
            '\'' => path.push_str("\\'"),
            '\\' => path.push_str("\\\\"),
            '\0'..='\x1f' => _ = write!(path, "\\u{:04x}", u32::from(c)),
            c => path.push(c),
        }
    }
}
