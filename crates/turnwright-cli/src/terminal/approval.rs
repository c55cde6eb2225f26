//! Asks for approval of calls.

use serde_json::Value;
use turnwright::gate::{Gates, OpenGate};

use super::flow::columns_of;
use super::style::{self, paint};
use super::{Editor, Screen, Typed, json, one_line, plain};
use crate::units::count;

/// The prefix of lines that a model wrote, so that no argument can look like the question.
const QUOTED: &str = "  │ ";

/// The number of argument lines shown at first.
const SHOWN: usize = 12;

/// The source of approvals.
pub(crate) struct ApprovalPrompt {
    /// The person at the terminal. Without one, calls are denied.
    pub(super) person: Option<Editor>,
    /// Whether `--yes` approves everything.
    given: bool,
    /// Whether unknown results of calls are reported to the model instead of asking.
    pub(super) tell_model: bool,
}

/// What is kept of whoever said yes.
const BEFOREHAND: &str = "beforehand, by --yes";
const PERSON: &str = "by the person at the terminal";

/// The content of an approval question.
struct Asked<'g> {
    tool: &'g str,
    args: String,
    reason: &'g str,
    /// For a call of a sub-agent: the tools around it, outermost first.
    outer_tools: Vec<&'g str>,
}

impl ApprovalPrompt {
    /// Asks this person, unless `given` approves everything.
    pub(crate) fn new(given: bool, person: Option<Editor>) -> Self {
        ApprovalPrompt {
            person,
            given,
            tell_model: false,
        }
    }

    /// Denies everything.
    pub(crate) fn nobody() -> Self {
        ApprovalPrompt::new(false, None)
    }

    /// Sets whether unknown results of calls are reported to the model instead of asking.
    pub(crate) fn tell_model(mut self, tell: bool) -> Self {
        self.tell_model = tell;
        self
    }

    /// Answers at a gate. `false` if whoever was asked called the turn off.
    pub(crate) async fn answer(
        &self,
        screen: &mut Screen,
        gate: &OpenGate,
        gates: &Gates,
    ) -> anyhow::Result<bool> {
        if let Some(answered) = super::reconcile::answer(self, screen, gate, gates).await? {
            return Ok(answered);
        }
        let Some(asked) = Asked::of(gate) else {
            gates.reject(&gate.id, "this is not answered here");
            return Ok(true);
        };
        if !screen.is_json() {
            asked.show(screen)?;
        }
        match &self.person {
            _ if self.given => {
                note(screen, style::CARE, &format!("allowed {BEFOREHAND}"))?;
                gates.resolve(&gate.id, allowed(BEFOREHAND))?;
            }
            None => {
                note(
                    screen,
                    style::CARE,
                    "refused: there is no terminal to ask at; --yes allows it beforehand",
                )?;
                gates.refuse(&gate.id, "there is nobody to ask")?;
            }
            Some(editor) => return person(editor, screen, &asked, gate, gates).await,
        }
        Ok(true)
    }
}

async fn person(
    editor: &Editor,
    screen: &mut Screen,
    asked: &Asked<'_>,
    gate: &OpenGate,
    gates: &Gates,
) -> anyhow::Result<bool> {
    screen.rest();
    let mut draft = asked.args.clone();
    let in_time = loop {
        match editor.answer(&asked.question(), "").await {
            Typed::Line(line) => match line.trim().to_lowercase().as_str() {
                "y" | "yes" => break gates.resolve(&gate.id, allowed(PERSON))?,
                "n" | "no" => {
                    break gates.refuse(&gate.id, "the person at the terminal said no")?;
                }
                "e" | "edit" => match edited(editor, screen, &mut draft, gate, gates).await? {
                    Some(in_time) => break in_time,
                    None => continue,
                },
                "s" | "see" => asked.show_all(screen)?,
                _ => screen.line("  Type y, n, e or s, and Enter. Ctrl-C calls the turn off.")?,
            },
            Typed::Interrupted => {
                gates.refuse(&gate.id, "the person at the terminal called it off")?;
                return Ok(false);
            }
            Typed::Ended => break gates.refuse(&gate.id, "nobody is there any more")?,
        }
    };
    if !in_time {
        note(screen, style::CARE, "too late: the call no longer waits")?;
    }
    Ok(true)
}

/// Other arguments, begun as they were left. None if they do not fit, or nothing was typed: then the question is still open.
async fn edited(
    editor: &Editor,
    screen: &mut Screen,
    draft: &mut String,
    gate: &OpenGate,
    gates: &Gates,
) -> anyhow::Result<Option<bool>> {
    let Typed::Line(text) = editor.answer("  arguments: ", draft).await else {
        return Ok(None);
    };
    draft.clone_from(&text);
    let fits = match serde_json::from_str::<Value>(&text) {
        Ok(args) => gates.resolve(&gate.id, edit(&args)).map_err(|error| {
            // What the tool says of them, without who said it to whom.
            let message = error.message();
            let (_, faults) = message
                .split_once("refused the arguments: ")
                .unwrap_or(("", message));
            faults.to_owned()
        }),
        Err(error) => Err(format!("it is not JSON: {error}")),
    };
    match fits {
        Ok(in_time) => Ok(Some(in_time)),
        Err(why) => {
            let why = format!("that does not fit: {}", plain(&why));
            screen.quoting(style::BAD, "  ", QUOTED, &why)?;
            Ok(None)
        }
    }
}

/// A yes. Why it was one is kept with it.
fn allowed(reason: &str) -> Value {
    serde_json::json!({ "decision": "approve", "reason": reason })
}

fn edit(args: &Value) -> Value {
    serde_json::json!({ "decision": "edit", "args": args, "reason": PERSON })
}

impl<'g> Asked<'g> {
    /// None if the gate is none of an approval.
    fn of(gate: &'g OpenGate) -> Option<Self> {
        if &*gate.name != "approval" {
            return None;
        }
        let text = |name: &str| gate.question.get(name).and_then(Value::as_str);
        let outer = gate.question.get("outerTools").and_then(Value::as_array);
        Some(Asked {
            tool: text("tool")?,
            // A model wrote them: a terminal must not show one thing and mean another.
            args: json(gate.question.get("args")?),
            reason: text("reason").unwrap_or_default(),
            outer_tools: outer
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect(),
        })
    }

    /// What is answered. It names the tool: what stands above it may be long.
    fn question(&self) -> String {
        format!("  {}: yes, no, edit or see all? ", one_line(self.tool, 64))
    }

    fn show(&self, screen: &mut Screen) -> std::io::Result<()> {
        let tool = one_line(self.tool, 64);
        let by = match self.outer_tools.is_empty() {
            true => String::new(),
            false => format!(
                " (called by {})",
                one_line(&self.outer_tools.join(" > "), 64)
            ),
        };
        screen.line(paint(style::CARE, format_args!("? {tool}{by} asks to run")))?;
        let lines = self.lines(screen);
        match lines.len() > SHOWN {
            false => write_lines(screen, &lines)?,
            // Their beginning and their end: what is in between must not push the question off the screen.
            true => {
                let (first, rest) = lines.split_at(SHOWN / 2);
                let (hidden, last) = rest.split_at(rest.len() - SHOWN / 2);
                write_lines(screen, first)?;
                let more = format!(
                    "  … {} more lines: `s` shows all",
                    count(hidden.len() as u64)
                );
                screen.line(paint(style::CARE, more))?;
                write_lines(screen, last)?;
            }
        }
        let because = format!("because {}", plain(self.reason));
        screen.quoting(style::DIM, "  ", QUOTED, &because)
    }

    fn show_all(&self, screen: &mut Screen) -> std::io::Result<()> {
        write_lines(screen, &self.lines(screen))
    }

    fn lines(&self, screen: &Screen) -> Vec<String> {
        lines(&self.args, screen.width())
    }
}

/// Arguments sign by sign, behind a margin: no space is lost where a line ends.
pub(super) fn lines(args: &str, width: Option<usize>) -> Vec<String> {
    let room = width.unwrap_or(160);
    let columns = room.saturating_sub(super::columns(QUOTED)).max(2);
    let (mut lines, mut line, mut used) = (Vec::new(), QUOTED.to_owned(), 0);
    for sign in args.chars() {
        let width = columns_of(sign);
        if used + width > columns {
            lines.push(std::mem::replace(&mut line, QUOTED.to_owned()));
            used = 0;
        }
        line.push(sign);
        used += width;
    }
    lines.push(line);
    lines
}

/// The arguments as a question shows them.
#[cfg(test)]
pub(crate) fn quoted_args(args: &Value, width: Option<usize>) -> String {
    lines(&json(args), width).join("\n")
}

pub(super) fn write_lines(screen: &mut Screen, lines: &[String]) -> std::io::Result<()> {
    for line in lines {
        screen.line(line)?;
    }
    Ok(())
}

pub(super) fn note(screen: &mut Screen, style: anstyle::Style, text: &str) -> std::io::Result<()> {
    match screen.is_json() {
        true => Ok(()),
        false => screen.paragraph(style, "  ", text),
    }
}
