//! `turnwright tools list`

use turnwright::Tool;

use super::{effects, facts};
use crate::exit::Exit;
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, fit, one_line};

pub(super) fn run(tools: &[Tool], screen: &mut Screen) -> anyhow::Result<Exit> {
    if screen.is_json() {
        for tool in tools {
            screen.value(&facts(tool))?;
        }
        return Ok(Exit::Done);
    }
    let longest = tools
        .iter()
        .map(|tool| tool.name().len())
        .max()
        .unwrap_or(0);
    let columns = screen.columns();
    for tool in tools {
        let name = tool.name();
        let gap = " ".repeat(longest.saturating_sub(name.len()));
        let does = match effects(tool) {
            "reads" => paint(style::DIM, "reads "),
            _ => paint(style::WARN, "writes"),
        };
        let room = columns.saturating_sub(longest + 10).max(8);
        let about = fit(&one_line(first_sentence(tool.description()), 1_000), room);
        screen.line(format_args!(
            "{}{gap}  {does}  {about}",
            paint(style::NAME, name)
        ))?;
    }
    Ok(Exit::Done)
}

/// The first sentence: up to a full stop that is followed by white space.
fn first_sentence(text: &str) -> &str {
    let text = text.trim();
    let end = text.match_indices(". ").map(|(at, _)| at).next();
    let end = end.or_else(|| text.find(['\n']));
    let sentence = end.and_then(|end| text.get(..end)).unwrap_or(text);
    sentence.trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_sentence_is_shown() {
        assert_eq!(first_sentence("Adds. Well."), "Adds");
        assert_eq!(first_sentence("Knows 3.14 and v1.2"), "Knows 3.14 and v1.2");
        assert_eq!(first_sentence("One line\nand more"), "One line");
    }
}
