//! A model server in the test's own process, and a place for what is kept.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use turnwright_testkit::server::model::Reply;
use turnwright_testkit::server::{Answer, ReceivedRequest, Server, Step};

/// What is answered to a request for a reply.
pub(crate) enum Plays {
    Reply(Reply),
    Answer(Answer),
}

impl From<Reply> for Plays {
    fn from(reply: Reply) -> Self {
        Plays::Reply(reply)
    }
}

impl From<Answer> for Plays {
    fn from(answer: Answer) -> Self {
        Plays::Answer(answer)
    }
}

/// A model server on loopback that plays a script.
pub(crate) struct Model {
    server: Server,
    /// The server runs as long as this does.
    _runtime: Runtime,
}

impl Model {
    /// Plays this, one for each request for a reply. It says that it has one model, `scripted`.
    pub(crate) fn plays(script: impl IntoIterator<Item = impl Into<Plays>>) -> Self {
        Model::with_models(&["scripted"], script)
    }

    /// The same, with models of these names.
    pub(crate) fn with_models(
        models: &[&str],
        script: impl IntoIterator<Item = impl Into<Plays>>,
    ) -> Self {
        let script: Vec<Plays> = script.into_iter().map(Into::into).collect();
        let models: Vec<Value> = models.iter().map(|id| json!({ "id": id })).collect();
        let models = json!({ "object": "list", "data": models });
        let next = AtomicUsize::new(0);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let start = Server::start(move |request| {
            if request.route() == "/v1/models" {
                return Answer::json(200, models.clone());
            }
            match script.get(next.fetch_add(1, Ordering::SeqCst)) {
                Some(Plays::Reply(reply)) => reply.answer(request),
                Some(Plays::Answer(answer)) => answer.clone(),
                None => Answer::json(
                    400,
                    json!({ "error": { "message": "the script has ended" } }),
                ),
            }
        });
        Model {
            server: runtime.block_on(start).unwrap(),
            _runtime: runtime,
        }
    }

    /// Its base URL.
    pub(crate) fn url(&self) -> String {
        format!("{}/v1", self.server.url())
    }

    /// What it was asked for, in order.
    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        let mut all = self.server.requests();
        all.retain(|request| request.route().ends_with("/chat/completions"));
        all
    }

    /// The messages of a request.
    pub(crate) fn messages(&self, request: usize) -> Vec<Value> {
        let body = self.requests()[request].json().unwrap();
        body["messages"].as_array().unwrap().clone()
    }
}

/// A stream that says this, and then nothing more: it does not end.
pub(crate) fn says_and_hangs(text: &str) -> Answer {
    let chunk = json!({
        "object": "chat.completion.chunk",
        "choices": [{ "index": 0, "delta": { "role": "assistant", "content": text } }],
    });
    Answer::sse([chunk.to_string()]).step(Step::Hang)
}
