//! What models read about a conversation that was compacted.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use turnwright_core::middleware::{SummaryRequest, compact};
use turnwright_core::record::{ByteResolver, Record, RecordKind};
use turnwright_core::spool::MemorySpool;
use turnwright_core::*;

use super::Texts;
use super::scenes::{renderer, shown};

/// A summary as a store has it.
fn stored(tier: &str, model: Option<&str>, counts: [u64; 3]) -> Value {
    let message = json!({ "kind": "message", "id": "m" });
    json!({
        "v": 1, "kind": "retrievable", "id": "ID", "trustTier": tier, "inline": true, "source": "summary",
        "createdAt": "2026-01-01T00:00:00.000000000Z", "updatedAt": "2026-01-01T00:00:00.000000000Z",
        "content": { "text": "The user wants a flight to Rome. Two were found." },
        "covers": {
            "turnId": "t", "model": model, "first": message, "last": message,
            "exchanges": counts[0], "summarised": counts[1], "omitted": counts[2],
        },
    })
}

async fn summary(tier: &str, model: Option<&str>, counts: [u64; 3]) -> String {
    let resolver = ByteResolver::new(Arc::new(MemorySpool::default()));
    let value = stored(tier, model, counts);
    let record = Record::from_value(RecordKind::Retrievable, &value, &resolver);
    let Ok(Record::Retrievable(found)) = record else {
        panic!("{record:?}");
    };
    let id = match tier {
        "first-party" => "ID".to_owned(),
        _ => {
            let text = shown(&renderer().retrievable(&found).await, "ID");
            text.split("id=\"").nth(1).map_or("ID".to_owned(), |rest| {
                rest.split('"').next().unwrap_or_default().to_owned()
            })
        }
    };
    shown(&renderer().retrievable(&found).await, &id)
}

/// The system prompt of a model that summarises.
async fn task() -> String {
    let asked: Arc<Mutex<String>> = Arc::default();
    let into = Arc::clone(&asked);
    let by = move |request: SummaryRequest| {
        *into.lock() = request.instructions();
        async { Ok("Short.".to_owned()) }
    };
    let runner = runner(|ctx: DispatchContext| async move {
        ctx.answer("word ".repeat(500)).await?;
        Ok(())
    })
    .dispatch_input(compact(2_000).summarise_by(by))
    .build()
    .unwrap();
    let mut chat = runner.conversation("chat");
    while asked.lock().is_empty() {
        assert!(chat.say("Go on.").await.is_answered());
    }
    let asked = asked.lock();
    let (task, _) = asked.split_once("\n\nSome content is enclosed").unwrap();
    task.to_owned()
}

pub(super) async fn all() -> Texts {
    let small = Some("small-1");
    vec![
        (
            "A summary that covers text of third parties",
            summary("third-party-public", small, [12, 80, 0]).await,
        ),
        (
            "A summary of what the user and the model said",
            summary("first-party", small, [1, 1, 0]).await,
        ),
        (
            "A summary after which something could not be summarised",
            summary("third-party-private", small, [14, 80, 1]).await,
        ),
        (
            "A conversation whose beginning was removed",
            summary("third-party-public", None, [9, 0, 31]).await,
        ),
        (
            "An exchange whose beginning was removed",
            summary("third-party-public", None, [0, 0, 12]).await,
        ),
        ("The task of a model that summarises", task().await),
    ]
}
