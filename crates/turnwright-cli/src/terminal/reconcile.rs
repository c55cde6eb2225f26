//! What became of a call that was begun and never ended: somebody may know.

use serde_json::{Value, json};
use turnwright::gate::{Gates, OpenGate};

use super::approval::{note, write_lines};
use super::style::{self, paint};
use super::{ApprovalPrompt, Editor, Screen, Typed, json as shown_json, one_line};

/// What is asked, for people.
struct Asked<'g> {
    tool: &'g str,
    args: String,
    begun: &'g str,
}

/// Answers at such a gate. `None` if it is none of these, `false` if whoever was asked called the turn off.
pub(super) async fn answer(
    approval_prompt: &ApprovalPrompt,
    screen: &mut Screen,
    gate: &OpenGate,
    gates: &Gates,
) -> anyhow::Result<Option<bool>> {
    let Some(asked) = Asked::of(gate) else {
        return Ok(None);
    };
    if !screen.is_json() {
        asked.show(screen)?;
    }
    // That everything may run says nothing about what has run.
    match &approval_prompt.person {
        _ if approval_prompt.tell_model => {
            let text = "nobody is asked, by --tell-model: the model is told that nobody knows";
            note(screen, style::CARE, text)?;
            gates.resolve(&gate.id, json!({ "found": "unknown" }))?;
            Ok(Some(true))
        }
        Some(editor) => person(editor, screen, &asked, gate, gates).await.map(Some),
        // An answer would be for good: it stays open until somebody can be asked.
        None => {
            let text = "nobody is there to say what became of it";
            note(screen, style::CARE, text)?;
            Ok(Some(false))
        }
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
    let question = format!(
        "  {}: done, not done or unknown? ",
        one_line(asked.tool, 40)
    );
    let found = loop {
        match editor.answer(&question, "").await {
            Typed::Line(line) => match line.trim().to_lowercase().as_str() {
                "d" | "done" => match editor
                    .answer("  what came of it (Enter for nothing): ", "")
                    .await
                {
                    Typed::Line(text) if text.trim().is_empty() => break json!({ "found": "done" }),
                    Typed::Line(text) => break json!({ "found": "done", "result": text }),
                    _ => continue,
                },
                "n" | "not done" | "not_done" => break json!({ "found": "not_done" }),
                "u" | "unknown" => break json!({ "found": "unknown" }),
                _ => {
                    let help = "Type d if it took effect, n if it did not: then it is run again. u if you cannot tell.";
                    screen.paragraph(anstyle::Style::new(), "  ", help)?;
                }
            },
            Typed::Interrupted => return Ok(false),
            Typed::Ended => break json!({ "found": "unknown" }),
        }
    };
    if !gates.resolve(&gate.id, found)? {
        note(
            screen,
            style::CARE,
            "too late: nobody waits for it any more",
        )?;
    }
    Ok(true)
}

impl<'g> Asked<'g> {
    fn of(gate: &'g OpenGate) -> Option<Self> {
        if &*gate.name != turnwright::reconcile::GATE {
            return None;
        }
        let text = |name: &str| gate.question.get(name).and_then(Value::as_str);
        Some(Asked {
            tool: text("tool")?,
            args: shown_json(gate.question.get("args")?),
            begun: text("begunAt").unwrap_or_default(),
        })
    }

    fn show(&self, screen: &mut Screen) -> std::io::Result<()> {
        let tool = one_line(self.tool, 64);
        let what = format!("? {tool} was begun, and nobody knows whether it took effect");
        screen.line(paint(style::CARE, what))?;
        write_lines(screen, &super::approval::lines(&self.args, screen.width()))?;
        let begun = one_line(self.begun, 40);
        screen.paragraph(
            style::DIM,
            "  ",
            &format!("begun at {begun}, cut off by the end of its program"),
        )
    }
}
