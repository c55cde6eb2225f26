//! Asks for approval of calls.
//!
//! Questions are answered in the loop that shows the turn, so a question never appears before the text that led to it.
//! Input typed before the question does not count.

use anstyle::Style;
use serde_json::Value;
use turnwright::gate::{GateAnswer, GateKind, Gates, OpenGate};
use turnwright::{Error, Principal};

use super::style::{self, paint};
use super::{
    Editor, Screen, Typed, elicitation, json as shown_json, markdown, one_line, plain, reconcile,
};
use crate::units::count;

/// The prefix of lines that a model wrote, so that no argument can look like the question.
pub(super) const QUOTED: &str = "  │ ";

/// The number of argument lines shown at first.
const SHOWN: usize = 12;

/// The notes that are stored with an approval.
const BY_OPTION: &str = "by --yes";
const AT_TERMINAL: &str = "at the terminal";

/// The source of approvals.
pub(crate) struct ApprovalPrompt {
    /// Reads the answers of the user. Without a terminal, calls are denied.
    pub(super) editor: Option<Editor>,
    /// Whether `--yes` approves everything.
    approve_all: bool,
    /// Whether unknown results of calls are reported to the model instead of asking.
    pub(super) tell_model: bool,
}

/// An open gate that asks about a call.
pub(super) struct Question<'g> {
    gate: &'g OpenGate,
    gates: &'g Gates,
    pub(super) tool: &'g str,
    args: String,
}

impl ApprovalPrompt {
    /// Asks at this terminal, unless `approve_all` is set.
    pub(crate) fn new(approve_all: bool, editor: Option<Editor>) -> Self {
        ApprovalPrompt {
            editor,
            approve_all,
            tell_model: false,
        }
    }

    /// Denies everything.
    pub(crate) fn deny_all() -> Self {
        ApprovalPrompt::new(false, None)
    }

    /// Sets whether unknown results of calls are reported to the model instead of asking.
    pub(crate) fn tell_model(mut self, tell: bool) -> Self {
        self.tell_model = tell;
        self
    }

    /// Answers at a gate. `false` if the user cancelled the turn.
    pub(crate) async fn answer(
        &self,
        screen: &mut Screen,
        gate: &OpenGate,
        gates: &Gates,
    ) -> anyhow::Result<bool> {
        match (&gate.kind, Question::of(gate, gates)) {
            (GateKind::UnknownCall, Some(question)) => {
                reconcile::answer(self, screen, &question).await
            }
            (GateKind::Approval, Some(question)) => self.approve(screen, &question).await,
            (GateKind::Custom(kind), _) if **kind == *elicitation::KIND => {
                elicitation::answer(self.editor.as_ref(), screen, gate, gates).await
            }
            _ => {
                gates.answer(
                    &gate.id,
                    GateAnswer::reject("this program cannot answer here"),
                )?;
                Ok(true)
            }
        }
    }

    async fn approve(&self, screen: &mut Screen, asked: &Question<'_>) -> anyhow::Result<bool> {
        asked.show(screen)?;
        match &self.editor {
            _ if self.approve_all => {
                note(screen, &format!("approved {BY_OPTION}"))?;
                asked.answer(GateAnswer::approve().note(BY_OPTION))?;
            }
            None => {
                let text = "denied: no terminal to ask for approval; --yes approves without asking";
                note(screen, text)?;
                asked.answer(GateAnswer::deny("there is no terminal to ask for approval"))?;
            }
            Some(editor) => return asked.ask(editor, screen).await,
        }
        Ok(true)
    }
}

/// Why an answer was not accepted: the faults of edited arguments, if there are any.
pub(super) fn why_not_accepted(error: &Error) -> String {
    let Some(refused) = error
        .find_cause::<Error>()
        .filter(|error| !error.faults().is_empty())
    else {
        return error.message().to_owned();
    };
    let faults = refused.faults().iter();
    let mut faults: Vec<String> = faults.map(ToString::to_string).collect();
    if refused.more_faults() > 0 {
        faults.push(format!("and {} more", refused.more_faults()));
    }
    faults.join("; ")
}

/// The user who runs this process, by the name that the system gives them.
pub(crate) fn local_user() -> Option<Principal> {
    user_of(|variable| std::env::var(variable).ok())
}

fn user_of(variable: impl Fn(&str) -> Option<String>) -> Option<Principal> {
    let mut names = ["USER", "LOGNAME", "USERNAME"].into_iter();
    names.find_map(|name| Principal::from(variable(name)?).checked().ok())
}

/// An answer that the user typed, with their name.
pub(super) fn by_user(mut answer: GateAnswer) -> GateAnswer {
    answer.by = local_user();
    answer
}

impl<'g> Question<'g> {
    fn of(gate: &'g OpenGate, gates: &'g Gates) -> Option<Self> {
        Some(Question {
            gate,
            gates,
            tool: gate.question.get("tool")?.as_str()?,
            // Escaped: a terminal must show what the arguments are.
            args: shown_json(gate.question.get("args")?),
        })
    }

    /// A text of the question; empty if there is none.
    pub(super) fn text(&self, name: &str) -> &str {
        elicitation::text(self.gate, name)
    }

    /// Answers it. `false` if the call no longer waits.
    pub(super) fn answer(&self, answer: GateAnswer) -> Result<bool, Error> {
        self.gates.answer(&self.gate.id, answer)
    }

    fn deny(&self, reason: &str) -> Result<bool, Error> {
        self.answer(by_user(GateAnswer::deny(reason)))
    }

    async fn ask(&self, editor: &Editor, screen: &mut Screen) -> anyhow::Result<bool> {
        screen.rest();
        let mut draft = self.args.clone();
        // Names the tool, because the arguments above may be long.
        let prompt = format!("  {}: yes, no, edit or show all? ", one_line(self.tool, 64));
        let in_time = loop {
            match editor.answer(&prompt, "").await {
                Typed::Line(line) => match line.trim().to_lowercase().as_str() {
                    "y" | "yes" => {
                        break self.answer(by_user(GateAnswer::approve().note(AT_TERMINAL)))?;
                    }
                    "n" | "no" => break self.deny("the user denied it")?,
                    "e" | "edit" => match self.edit(editor, screen, &mut draft).await? {
                        Some(in_time) => break in_time,
                        None => continue,
                    },
                    "s" | "show" | "show all" => screen.line(self.lines(screen).join("\n"))?,
                    _ => {
                        screen.line("  Type y, n, e or s, then Enter. Ctrl-C cancels the turn.")?;
                    }
                },
                Typed::Interrupted => {
                    self.deny("the user cancelled the turn")?;
                    return Ok(false);
                }
                Typed::Ended => break self.answer(GateAnswer::deny("the input was closed"))?,
            }
        };
        if !in_time {
            note(screen, "too late: the call is no longer waiting")?;
        }
        Ok(true)
    }

    /// Asks for other arguments, starting with the last draft. `None` if they are invalid or nothing was typed: the question
    /// is still open then.
    async fn edit(
        &self,
        editor: &Editor,
        screen: &mut Screen,
        draft: &mut String,
    ) -> anyhow::Result<Option<bool>> {
        let Typed::Line(text) = editor.answer("  arguments: ", draft).await else {
            return Ok(None);
        };
        draft.clone_from(&text);
        let edited = match serde_json::from_str::<Value>(&text) {
            Ok(args) => {
                let answer = GateAnswer::edit(args).note(AT_TERMINAL);
                self.answer(by_user(answer))
                    .map_err(|error| why_not_accepted(&error))
            }
            Err(error) => Err(format!("not valid JSON: {error}")),
        };
        match edited {
            Ok(in_time) => Ok(Some(in_time)),
            Err(why) => {
                let why = format!("invalid arguments: {}", plain(&why));
                screen.quoting(style::BAD, "  ", QUOTED, &why)?;
                Ok(None)
            }
        }
    }

    fn show(&self, screen: &mut Screen) -> std::io::Result<()> {
        let tool = one_line(self.tool, 64);
        // For a call of a sub-agent: the tools that it runs in, outermost first.
        let outer = self.gate.question.get("outerTools");
        let outer = outer.and_then(Value::as_array).into_iter().flatten();
        let outer: Vec<&str> = outer.filter_map(Value::as_str).collect();
        let by = if outer.is_empty() {
            String::new()
        } else {
            format!(" (called by {})", one_line(&outer.join(" > "), 64))
        };
        screen.painted(style::WARN, format_args!("? {tool}{by} needs approval"))?;
        let lines = self.lines(screen);
        if lines.len() > SHOWN {
            // Only the beginning and the end: long arguments must not push the question off the screen.
            let (first, rest) = lines.split_at(SHOWN / 2);
            let (hidden, last) = rest.split_at(rest.len() - SHOWN / 2);
            let hidden = count(hidden.len() as u64);
            let more = format!("  … {hidden} more lines; type s to show all");
            let more = paint(style::WARN, more);
            screen.line([first, &[more], last].concat().join("\n"))?;
        } else {
            screen.line(lines.join("\n"))?;
        }
        let reason = format!("reason: {}", plain(self.text("reason")));
        screen.quoting(style::DIM, "  ", QUOTED, &reason)
    }

    pub(super) fn lines(&self, screen: &Screen) -> Vec<String> {
        lines(&self.args, screen.width())
    }
}

/// Arguments character by character, behind a margin: no space is lost at the end of a line.
fn lines(args: &str, width: Option<usize>) -> Vec<String> {
    let room = width.unwrap_or(160);
    let columns = room.saturating_sub(super::columns(QUOTED)).max(2);
    let args: Vec<_> = args.chars().map(|ch| (ch, Style::new())).collect();
    let lines = markdown::wrap(&args, columns, false).into_iter();
    let text = |line: Vec<_>| line.into_iter().map(|(ch, _)| ch).collect::<String>();
    lines
        .map(|line| format!("{QUOTED}{}", text(line)))
        .collect()
}

/// The arguments as a question shows them.
#[cfg(test)]
pub(crate) fn quoted_args(args: &Value, width: Option<usize>) -> String {
    lines(&shown_json(args), width).join("\n")
}

/// Prints how a question was settled.
pub(super) fn note(screen: &mut Screen, text: &str) -> std::io::Result<()> {
    screen.paragraph(style::WARN, "  ", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_has_the_first_name_that_is_valid() {
        let user = |names: &[(&str, &str)]| {
            let name = |variable: &str| {
                let found = names.iter().find(|(name, _)| *name == variable);
                found.map(|(_, value)| (*value).to_owned())
            };
            user_of(name).map(|user| user.to_string())
        };
        assert_eq!(
            user(&[("USER", "ada"), ("LOGNAME", "bob")]).as_deref(),
            Some("ada")
        );
        assert_eq!(
            user(&[("USER", ""), ("LOGNAME", "bob")]).as_deref(),
            Some("bob")
        );
        assert_eq!(
            user(&[("USERNAME", "Ada Lovelace")]).as_deref(),
            Some("Ada Lovelace")
        );
        assert_eq!(user(&[("USER", "a\u{1b}[2J")]), None);
        assert_eq!(user(&[]), None);
    }
}
