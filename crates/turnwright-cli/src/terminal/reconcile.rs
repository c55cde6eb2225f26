//! Asks whether a call that was interrupted took effect.

use serde_json::json;

use super::approval::{Question, by_user, note};
use super::style;
use super::{ApprovalPrompt, Editor, Screen, Typed, one_line};

/// Answers such a question. `false` if the user cancelled the turn.
pub(super) async fn answer(
    approval_prompt: &ApprovalPrompt,
    screen: &mut Screen,
    asked: &Question<'_>,
) -> anyhow::Result<bool> {
    let tool = one_line(asked.tool, 64);
    let what = format!("? {tool} was interrupted: did it take effect?");
    screen.painted(style::WARN, what)?;
    screen.line(asked.lines(screen).join("\n"))?;
    let started = one_line(asked.text("startedAt"), 40);
    let started = format!("started at {started}; its process ended before the call did");
    screen.paragraph(style::DIM, "  ", &started)?;
    // `--yes` approves calls; it does not say what happened to them.
    match &approval_prompt.editor {
        _ if approval_prompt.tell_model => {
            let text = "--tell-model: the model is told that the effect is unknown";
            note(screen, text)?;
            asked.answer(json!({ "found": "unknown" }).into())?;
            Ok(true)
        }
        Some(editor) => ask(editor, screen, asked).await,
        // An answer would be final, so the gate stays open until an operator can answer.
        None => {
            note(screen, "no terminal to ask whether it took effect")?;
            Ok(false)
        }
    }
}

async fn ask(editor: &Editor, screen: &mut Screen, asked: &Question<'_>) -> anyhow::Result<bool> {
    screen.rest();
    let tool = one_line(asked.tool, 40);
    let prompt = format!("  {tool}: done, not done or unknown? ");
    let result = "  result (optional): ";
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
                    let help = "Type d if it took effect, n if it did not and should run again, u if you cannot tell.";
                    screen.paragraph(anstyle::Style::new(), "  ", help)?;
                }
            },
            Typed::Interrupted => return Ok(false),
            Typed::Ended => break json!({ "found": "unknown" }),
        }
    };
    if !asked.answer(by_user(found.into()))? {
        note(screen, "too late: the call is no longer waiting")?;
    }
    Ok(true)
}
