//! Splits text into words that can be compared, and knows which ones mean the same.

/// Words that say nothing about what a tool does.
const STOP_WORDS: [&str; 62] = [
    "a", "about", "all", "am", "an", "and", "any", "are", "as", "at", "be", "by", "can", "could",
    "did", "do", "does", "for", "from", "has", "have", "here", "how", "i", "if", "in", "into",
    "is", "it", "its", "may", "me", "my", "not", "of", "on", "one", "or", "our", "please",
    "should", "some", "that", "the", "their", "them", "there", "these", "they", "this", "to",
    "use", "used", "was", "we", "what", "when", "which", "will", "with", "you", "your",
];

/// Returns the words of a text in lower case, without endings and without words that mean nothing. `camelCase` and `snake_case` are
/// split.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for c in text.chars() {
        let is_new = !c.is_alphanumeric()
            || is_ideograph(c)
            || is_ideograph(before)
            || (before.is_lowercase() && c.is_uppercase());
        if is_new {
            push(&mut words, &mut word);
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    push(&mut words, &mut word);
    words
}

/// Each of these characters is a word.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

fn push(words: &mut Vec<String>, word: &mut String) {
    let word = std::mem::take(word);
    if !word.is_empty() && !STOP_WORDS.contains(&word.as_str()) {
        words.push(stem(word));
    }
}

/// Removes common English endings, so that `lists`, `listed` and `listing` are the same word.
fn stem(mut word: String) -> String {
    if !word.is_ascii() {
        return word;
    }
    if word.len() > 4 && word.ends_with("ies") {
        word.truncate(word.len() - 3);
        word.push('y');
        return word;
    }
    let plural = word.len() > 3 && word.ends_with('s');
    if plural && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        word.pop();
    }
    for ending in ["ing", "ed"] {
        if word.len() > ending.len() + 2 && word.ends_with(ending) {
            word.truncate(word.len() - ending.len());
            // `running` becomes `run`.
            let mut last = word.bytes().rev();
            let doubled = last.next() == last.next();
            if doubled && !word.ends_with("ll") && !word.ends_with("ss") {
                word.pop();
            }
            break;
        }
    }
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
    word
}

/// Common words of tool definitions. Each line is a group.
const GROUPS: [&str; 14] = [
    "create add make new insert append",
    "delete remove drop clear",
    "update edit change modify patch",
    "search find look query",
    "list show view display retrieve",
    "send push publish",
    "run execute start launch",
    "image picture photo",
    "comment remark note reply",
    "record row entry",
    "field column property",
    "mail email message",
    "color colour",
    "directory folder",
];

/// Returns the other words of the groups of a word.
pub(super) fn synonyms(word: &str) -> Vec<String> {
    let groups = GROUPS.iter().map(|group| words(group));
    let own = groups.filter(|group| group.iter().any(|other| other == word));
    own.flatten().filter(|other| other != word).collect()
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn names_and_sentences_become_comparable_words() {
        for (text, expected) in [
            ("createPullRequest", vec!["creat", "pull", "request"]),
            ("files__read_all-lines", vec!["fil", "read", "lin"]),
            ("Lists, listed & listing", vec!["list", "list", "list"]),
            ("running queries", vec!["run", "query"]),
            ("天气 HTTP", vec!["天", "气", "http"]),
            ("What is the status?", vec!["status"]),
            ("", vec![]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }
}
