//! What a running call reports: progress and log entries.

use std::borrow::Cow;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use turnwright_core::event::{Event, EventBus, EventKind, Level};

/// How many notices may wait to be sent. A call never waits for a slow client: further ones are dropped.
const QUEUE: usize = 256;

#[derive(Debug)]
pub(super) enum Notice {
    Progress(String),
    Log {
        level: Level,
        logger: Option<Cow<'static, str>>,
        data: Value,
    },
}

/// Which notices a client wants.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted {
    pub(super) progress: bool,
    /// The lowest level of log entries, if any.
    pub(super) logs: Option<Level>,
}

/// Creates an event bus for one call that passes on what is wanted.
pub(super) fn observed(above: &EventBus, wanted: Wanted) -> (EventBus, mpsc::Receiver<Notice>) {
    let (sender, notices) = mpsc::channel(QUEUE);
    let events = above.below();
    if wanted.progress || wanted.logs.is_some() {
        events.observe(move |event| {
            if let Some(notice) = notice(event, wanted) {
                // Full, or the client is gone.
                let _ = sender.try_send(notice);
            }
        });
    }
    (events, notices)
}

fn notice(event: &Event, wanted: Wanted) -> Option<Notice> {
    match &event.kind {
        EventKind::ToolExecutionProgress { message, .. } if wanted.progress => {
            Some(Notice::Progress(message.clone()))
        }
        EventKind::Log {
            level,
            kind,
            message,
            payload,
            ..
        } if wanted.logs.is_some_and(|lowest| *level >= lowest) => Some(Notice::Log {
            level: *level,
            logger: kind.clone(),
            data: match payload {
                None => json!(message),
                Some(payload) => json!({ "message": message, "data": payload }),
            },
        }),
        _ => None,
    }
}
