//! What is wrong with a pattern.

use regex_syntax::ast::ErrorKind;

use super::text::escape;

/// The fault of a pattern that the parser has nothing against.
pub(crate) const TOO_LARGE: &str = "is not a supported pattern, or is too large when compiled";

/// Returns the reason why a pattern that did not compile cannot be used.
pub(crate) fn fault_of(pattern: &str) -> String {
    let (what, at) = match regex_syntax::Parser::new().parse(pattern) {
        Err(regex_syntax::Error::Parse(error)) => match error.kind() {
            ErrorKind::UnsupportedLookAround => return not_linear("look-around"),
            ErrorKind::UnsupportedBackreference => return not_linear("a back-reference"),
            ErrorKind::ClassRangeLiteral => {
                let advice = "a class such as `\\w` cannot be the end of a range; escape the `-`";
                (advice.to_owned(), error.span().start.column)
            }
            kind => (kind.to_string(), error.span().start.column),
        },
        Err(regex_syntax::Error::Translate(error)) => {
            (error.kind().to_string(), error.span().start.column)
        }
        Ok(_) | Err(_) => return TOO_LARGE.to_owned(),
    };
    format!(
        "is not a valid pattern: {} (at character {at})",
        escape(&what, 200)
    )
}

fn not_linear(what: &str) -> String {
    format!("is not a pattern that runs in linear time: {what} is not supported")
}

#[cfg(test)]
mod tests {
    use super::fault_of;

    #[test]
    fn look_around_and_back_references_are_named() {
        for pattern in ["^(?!a)b$", "(?=a)", "(?<=a)b", "(?<!a)b"] {
            let fault = fault_of(pattern);
            assert!(fault.contains("look-around"), "{pattern}: {fault}");
            assert!(fault.contains("linear time"), "{pattern}: {fault}");
        }
        assert!(fault_of(r"^(a)\1$").contains("back-reference"));
    }

    #[test]
    fn other_faults_are_named_with_their_place() {
        let cases = [
            (r"^[\w-.]+$", "escape the `-` (at character 3)"),
            ("^[a-z", "unclosed character class (at character 2)"),
            ("([", "unclosed character class (at character 2)"),
            ("(a", "unclosed group (at character 1)"),
            ("a{3", "(at character 2)"),
            ("[z-a]", "invalid character class range"),
            (r"^a\Z", "unrecognized escape sequence (at character 3)"),
            (r"\p{Nonsense}", "Unicode property not found"),
        ];
        for (pattern, expected) in cases {
            let fault = fault_of(pattern);
            assert!(fault.contains(expected), "{pattern}: {fault}");
            assert!(!fault.contains("look-around"), "{pattern}: {fault}");
        }
    }

    #[test]
    fn pattern_that_is_too_large_is_not_called_look_around() {
        let fault = fault_of("((a{1000}){1000}){1000}");
        assert!(fault.contains("too large"), "{fault}");
    }
}
