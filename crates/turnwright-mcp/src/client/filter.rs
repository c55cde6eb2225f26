//! Which tools of a server are used.

/// Allow and deny lists of tool names. `*` stands for any text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    /// Empty: all.
    pub(super) allow: Vec<String>,
    pub(super) deny: Vec<String>,
}

impl Filter {
    /// Returns why a tool of this name is left out, if it is.
    pub(super) fn reason_against(&self, name: &str) -> Option<String> {
        let denies = self.deny.iter().find(|pattern| matches(pattern, name));
        let mut allow = self.allow.iter();
        match denies {
            Some(pattern) => Some(format!("the `deny` list of the server has `{pattern}`")),
            None if self.allow.is_empty() || allow.any(|pattern| matches(pattern, name)) => None,
            None => Some("the `allow` list of the server does not have it".to_owned()),
        }
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut left) = name.strip_prefix(start) else {
        return false;
    };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return left.ends_with(part);
        }
        match left.find(part).and_then(|at| left.get(at + part.len()..)) {
            Some(after) => left = after,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_with_stars() {
        for (pattern, name, expected) in [
            ("read", "read", true),
            ("read", "read_file", false),
            ("read*", "read_file", true),
            ("*file", "read_file", true),
            ("r*_*e", "read_file", true),
            ("r*x*e", "read_file", false),
            ("*", "", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn deny_wins_over_allow() {
        let filter = Filter {
            allow: vec!["read*".into()],
            deny: vec!["*secret*".into()],
        };
        let reason = |name: &str| filter.reason_against(name).unwrap_or_default();
        assert_eq!(reason("read_file"), "");
        assert!(reason("read_secret").contains("`deny` list of the server has `*secret*`"));
        assert!(reason("write_file").contains("`allow` list"));
        assert_eq!(Filter::default().reason_against("anything"), None);
    }
}
