//! Words that users and authors of tools use for the same thing.

use super::words::words;

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
