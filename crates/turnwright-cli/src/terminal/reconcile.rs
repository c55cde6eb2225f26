//! Asks what became of a call that was begun and never ended.

use serde_json::json;

use super::approval::{Question, note};
use super::style;
use super::{ApprovalPrompt, Editor, Screen, Typed, one_line};

/// Answers such a question. `false` if the user cancelled the turn.
pub(super) async fn answer(
    approval_prompt: &ApprovalPrompt,
    screen: &mut Screen,
    asked: &Question<'_>,
) -> anyhow::Result<bool> {
    if !screen.is_json() {
        let tool = one_line(asked.tool, 64);
        let what = format!("? {tool} was begun, and nobody knows whether it took effect");
        screen.painted(style::WARN, what)?;
        screen.line(asked.lines(screen).join("\n"))?;
        let begun = one_line(asked.text("begunAt"), 40);
        let begun = format!("begun at {begun}, cut off by the end of its program");
        screen.paragraph(style::DIM, "  ", &begun)?;
    }
    // That everything may run says nothing about what has run.
    match &approval_prompt.person {
        _ if approval_prompt.tell_model => {
            let text = "nobody is asked, by --tell-model: the model is told that nobody knows";
            note(screen, text)?;
            asked.answer(json!({ "found": "unknown" }).into())?;
            Ok(true)
        }
        Some(editor) => ask(editor, screen, asked).await,
        // An answer would be final, so the gate stays open until an operator can answer.
        None => {
            note(screen, "nobody is there to say what became of it")?;
            Ok(false)
        }
    }
}

async fn ask(editor: &Editor, screen: &mut Screen, asked: &Question<'_>) -> anyhow::Result<bool> {
    screen.rest();
    let tool = one_line(asked.tool, 40);
    let prompt = format!("  {tool}: done, not done or unknown? ");
    let result = "  what came of it (Enter for nothing): ";
    let found = loop {
        match editor.answer(&prompt, "").await {
            Typed::Line(line) => match line.trim().to_lowercase().as_str() {
                "d" | "done" => match editor.answer(result, "").await {
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
    if !asked.answer(found.into())? {
        note(screen, "too late: nobody waits for it any more")?;
    }
    Ok(true)
}
