//! Who says yes or no when a call asks for it.

use serde_json::Value;
use turnwright::gate::{Gates, OpenGate};

use super::style::{self, paint};
use super::{Editor, Screen, Typed, json, plain};

/// Who is asked.
pub(crate) enum Consent {
    /// Whoever sits at the terminal.
    Person(Editor),
    /// Nobody: everything was allowed beforehand.
    Given,
    /// Nobody is there, and that is a no.
    Nobody,
}

/// What an approval asks, for people.
struct Asked<'g> {
    tool: &'g str,
    args: String,
    reason: &'g str,
}

impl Consent {
    /// Answers at a gate. `false` if whoever was asked called the turn off.
    pub(crate) async fn answer(
        &self,
        screen: &mut Screen,
        gate: &OpenGate,
        gates: &Gates,
    ) -> anyhow::Result<bool> {
        let Some(asked) = Asked::of(gate) else {
            gates.reject(&gate.id, "only approvals are answered here");
            return Ok(true);
        };
        if !screen.is_json() {
            asked.show(screen)?;
        }
        match self {
            Consent::Given => {
                note(screen, style::CARE, "allowed beforehand, by --yes")?;
                gates.approve(&gate.id)?;
            }
            Consent::Nobody => {
                note(
                    screen,
                    style::CARE,
                    "refused: there is no terminal to ask at; --yes allows it beforehand",
                )?;
                gates.refuse(&gate.id, "there is nobody to ask")?;
            }
            Consent::Person(editor) => return person(editor, screen, &asked, gate, gates).await,
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
    let in_time = loop {
        match editor.answer("  yes, no or edit? ", "").await {
            Typed::Line(line) => match line.trim().to_lowercase().as_str() {
                "y" | "yes" => break gates.approve(&gate.id)?,
                "n" | "no" => {
                    break gates.refuse(&gate.id, "the person at the terminal said no")?;
                }
                "e" | "edit" => match edited(editor, screen, asked, gate, gates).await? {
                    Some(in_time) => break in_time,
                    None => continue,
                },
                _ => screen.line("  Type y, n or e, and Enter.")?,
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

/// Other arguments. None if they do not fit, or nothing was typed: then the question is still open.
async fn edited(
    editor: &Editor,
    screen: &mut Screen,
    asked: &Asked<'_>,
    gate: &OpenGate,
    gates: &Gates,
) -> anyhow::Result<Option<bool>> {
    let Typed::Line(text) = editor.answer("  arguments: ", &asked.args).await else {
        return Ok(None);
    };
    let fits = match serde_json::from_str::<Value>(&text) {
        Ok(args) => gates
            .approve_edited(&gate.id, args)
            .map_err(|error| error.message().to_owned()),
        Err(error) => Err(format!("it is not JSON: {error}")),
    };
    match fits {
        Ok(in_time) => Ok(Some(in_time)),
        Err(why) => {
            let why = format!("that does not fit: {}", plain(&why));
            screen.paragraph(style::BAD, "  ", &why)?;
            Ok(None)
        }
    }
}

impl<'g> Asked<'g> {
    /// None if the gate is none of an approval.
    fn of(gate: &'g OpenGate) -> Option<Self> {
        if &*gate.name != "approval" {
            return None;
        }
        let text = |name: &str| gate.question.get(name).and_then(Value::as_str);
        Some(Asked {
            tool: text("tool")?,
            // A model wrote them: a terminal must not show one thing and mean another.
            args: json(gate.question.get("args")?),
            reason: text("reason").unwrap_or_default(),
        })
    }

    fn show(&self, screen: &mut Screen) -> std::io::Result<()> {
        let wants = paint(
            style::CARE,
            format_args!("? {} asks to run", plain(self.tool)),
        );
        screen.line(wants)?;
        screen.paragraph(anstyle::Style::new(), "  ", &self.args)?;
        let because = format!("because {}", plain(self.reason));
        screen.paragraph(style::DIM, "  ", &because)
    }
}

fn note(screen: &mut Screen, style: anstyle::Style, text: &str) -> std::io::Result<()> {
    match screen.is_json() {
        true => Ok(()),
        false => screen.paragraph(style, "  ", text),
    }
}
