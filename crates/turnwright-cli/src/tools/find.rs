//! The tool of a name.

use turnwright::Tool;

use crate::exit::misuse;

/// The tool of this name.
pub(super) fn named<'t>(tools: &'t [Tool], name: &str) -> anyhow::Result<&'t Tool> {
    tools
        .iter()
        .find(|tool| tool.name() == name)
        .ok_or_else(|| unknown(tools, name))
}

fn unknown(tools: &[Tool], name: &str) -> anyhow::Error {
    let names: Vec<&str> = tools.iter().map(Tool::name).collect();
    let meant = match nearest(&names, name) {
        Some(near) => format!(" Did you mean `{near}`?"),
        None => String::new(),
    };
    let all = names.join(", ");
    misuse(format!(
        "there is no tool `{name}`.{meant} There are: {all}"
    ))
}

/// The name that is most like it, if one is at all.
fn nearest<'n>(names: &[&'n str], name: &str) -> Option<&'n str> {
    let name = name.to_lowercase();
    let far = |other: &str| {
        let other = other.to_lowercase();
        match other.contains(&name) || name.contains(&other) {
            true => 1,
            false => distance(&name, &other),
        }
    };
    let near = names.iter().map(|other| (far(other), *other)).min()?;
    (near.0 <= near.1.len() / 3 && !name.is_empty()).then_some(near.1)
}

/// How many letters must be put in, left out, replaced or swapped with the next.
fn distance(one: &str, other: &str) -> usize {
    let one: Vec<char> = one.chars().take(100).collect();
    let mut before_that: Vec<usize> = Vec::new();
    let mut before: Vec<usize> = (0..=one.len()).collect();
    let mut last = None;
    for (row, sign) in other.chars().take(100).enumerate() {
        let mut here = vec![row + 1];
        let mut left = row + 1;
        for (at, mine) in one.iter().enumerate() {
            let replaced = before.get(at).copied().unwrap_or(0) + usize::from(*mine != sign);
            let left_out = before.get(at + 1).copied().unwrap_or(0) + 1;
            let mut least = replaced.min(left_out).min(left + 1);
            let crossed = at > 0 && last == Some(*mine) && one.get(at - 1) == Some(&sign);
            if let (true, Some(earlier)) = (crossed, before_that.get(at.saturating_sub(1))) {
                least = least.min(earlier + 1);
            }
            here.push(least);
            left = least;
        }
        before_that = std::mem::replace(&mut before, here);
        last = Some(sign);
    }
    before.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_nearly_right_is_suggested() {
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
    fn letters_are_counted() {
        for (one, other, far) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "acb", 1),
            ("abc", "abd", 1),
            ("abc", "ab", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(one, other), far, "{one} {other}");
        }
    }
}
