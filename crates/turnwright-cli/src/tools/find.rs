//! Finds a tool by name.

use strsim::osa_distance;
use turnwright::Tool;

use crate::exit::misuse;

/// The tool of this name.
pub(crate) fn named<'t>(tools: &'t [Tool], name: &str) -> anyhow::Result<&'t Tool> {
    tools
        .iter()
        .find(|tool| tool.name() == name)
        .ok_or_else(|| unknown(tools, name))
}

fn unknown(tools: &[Tool], name: &str) -> anyhow::Error {
    if tools.is_empty() {
        return misuse(format!(
            "no tool `{name}`: there are no tools. Add some with `--tools FILE`"
        ));
    }
    let names: Vec<&str> = tools.iter().map(Tool::name).collect();
    let meant = match nearest(&names, name) {
        Some(near) => format!(" Did you mean `{near}`?"),
        None => String::new(),
    };
    let all = names.join(", ");
    misuse(format!("no tool `{name}`.{meant} Available tools: {all}"))
}

/// The most similar name, if one is similar enough.
fn nearest<'n>(names: &[&'n str], name: &str) -> Option<&'n str> {
    let name = name.to_lowercase();
    let far = |other: &str| {
        let other = other.to_lowercase();
        match other.contains(&name) || name.contains(&other) {
            true => 1,
            false => osa_distance(&name, &other),
        }
    };
    let near = names.iter().map(|other| (far(other), *other)).min()?;
    (near.0 <= near.1.len() / 3 && !name.is_empty()).then_some(near.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_similar_name_is_suggested() {
        let names = ["list_files", "read_file", "search_files", "calculate"];
        for (typed, meant) in [
            ("lst_files", Some("list_files")),
            ("raed_file", Some("read_file")),
            ("Calculate", Some("calculate")),
            ("calc", Some("calculate")),
            ("weather", None),
            ("", None),
        ] {
            assert_eq!(nearest(&names, typed), meant, "{typed}");
        }
        assert_eq!(nearest(&[], "x"), None);
    }

    #[test]
    fn distance_counts_edits_and_transpositions() {
        for (one, other, far) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "acb", 1),
            ("abc", "abd", 1),
            ("abc", "ab", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(osa_distance(one, other), far, "{one} {other}");
        }
    }
}
