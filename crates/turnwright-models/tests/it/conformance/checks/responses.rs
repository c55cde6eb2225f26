//! Text and reasoning.

use turnwright_core::{ErrorCode, EventKind};

use crate::conformance::exchange::{Exchange, answered, events, failed, pieces};
use crate::conformance::{Outcome, ensure, same};
use turnwright_testkit::server::model::{self, Protocol, Reply};

const TEXT: &str = "It is forty-two, as always.";

/// Quotes, line ends of all kinds, what looks like frames, and characters of two to four bytes.
const ODD: &str = "\"q\" \\ / \u{8}\t\r\n\ndata: [DONE]\n\nevent: error\r\n\u{2028}\u{feff}ß 漢字 🎉 e\u{301} {\"a\":1} </x>";

pub(super) async fn streamed(exchange: &Exchange<'_>) -> Outcome {
    exchange.replies([model::text(TEXT, 5)]);
    let runner = exchange.runner()?.build()?;
    let (events, outcome) = events(runner.start("What is it?")).await;
    answered(&outcome, TEXT)?;
    let pieces = pieces(&events);
    same("the text of all pieces", pieces.concat().as_str(), TEXT)?;
    ensure(pieces.len() > 1, || {
        "the text was shown in one piece".to_owned()
    })
}

pub(super) async fn complete(exchange: &Exchange<'_>) -> Outcome {
    for stream in [false, true] {
        exchange.replies([model::text(TEXT, 5)]);
        let runner = exchange
            .runner_with(|setup| setup.stream = stream)?
            .build()?;
        answered(&runner.run("What is it?").await, TEXT)?;
    }
    Ok(())
}

pub(super) async fn any_characters(exchange: &Exchange<'_>) -> Outcome {
    for (stream, pieces) in [(true, 1), (true, ODD.len()), (false, 1)] {
        exchange.replies([model::text(ODD, pieces)]);
        let runner = exchange
            .runner_with(|setup| setup.stream = stream)?
            .build()?;
        answered(&runner.run(ODD).await, ODD)?;
    }
    Ok(())
}

pub(super) async fn reasoning(exchange: &Exchange<'_>) -> Outcome {
    for stream in [true, false] {
        exchange.replies([model::text(TEXT, 3).with_reasoning("Hm, let me see.")]);
        let runner = exchange
            .runner_with(|setup| setup.stream = stream)?
            .build()?;
        let (events, outcome) = events(runner.start("What is it?")).await;
        answered(&outcome, TEXT)?;
        let thoughts: Vec<&str> = outcome.thoughts().map(|item| item.text()).collect();
        same("the thoughts", thoughts, ["Hm, let me see."])?;
        let shown = events
            .iter()
            .any(|event| matches!(event.kind, EventKind::Thought(_)));
        ensure(shown, || "there is no event for the thought".to_owned())?;
    }
    Ok(())
}

pub(super) async fn refusal(exchange: &Exchange<'_>) -> Outcome {
    let code = match exchange.protocol {
        // It has no form for a refusal.
        Protocol::Ollama => return Ok(()),
        // The API does not say that the model refuses, only that a filter stopped it.
        Protocol::Gemini => ErrorCode::MODEL_RESPONSE_INCOMPLETE,
        _ => ErrorCode::MODEL_DECLINED,
    };
    for stream in [true, false] {
        exchange.replies([Reply::default().with_refusal("I cannot help with that.")]);
        let runner = exchange
            .runner_with(|setup| setup.stream = stream)?
            .build()?;
        failed(&runner.run("Help me.").await, code)?;
    }
    Ok(())
}
