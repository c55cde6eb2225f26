//! Runs a turn against a faulty server and records what happened.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::time::timeout;
use turnwright_core::record::Record;
use turnwright_core::store::ConversationId;
use turnwright_core::store::{MemoryStore, StoreExt as _};
use turnwright_core::{Error, Tool, ToolContext, TurnInput, TurnOutcome, TurnStatus};
use turnwright_models::http::{Body, Client, Request, Response, Transport};
use turnwright_models::retry::RetryPolicy;
use turnwright_models::{AnyCodec, ModelBuilder};
use turnwright_testkit::server::fault::{Fault, FaultPosition, TOOL};
use turnwright_testkit::server::model::Protocol;
use turnwright_testkit::server::{Answer, ReceivedRequest, Server};
use turnwright_testkit::store::storage_of;

use super::{BOUND, Ends};

/// The idle timeout for tests of silence: longer than any pause of a busy machine.
pub(super) const SILENT: Duration = Duration::from_secs(5);

/// The maximum event size for tests of endless comments, which arrive in small chunks: 8 MiB of them would take long.
pub(super) const COMMENTS: usize = 256 << 10;

/// Returns `true` if a client notices the fault only by waiting.
pub(super) fn is_silent(fault: Fault) -> bool {
    matches!(fault, Fault::Silence | Fault::HalfFrame)
}

/// What was observed of a turn.
pub(super) struct Seen {
    pub(super) requests: usize,
    pub(super) ends: Ends,
    /// The error and its causes.
    pub(super) error: String,
    /// The records of the conversation, one per line.
    pub(super) held: Vec<String>,
    /// The arguments of each run of the handler.
    pub(super) runs: Vec<String>,
    /// The maximum number of bytes read of one response body.
    pub(super) most: u64,
}

/// Timeouts and limits of a run.
pub(super) struct Rig {
    protocol: Protocol,
    request_timeout: Duration,
    idle_timeout: Duration,
    max_event_bytes: Option<usize>,
}

impl Rig {
    /// Returns short timeouts where a timeout ends the turn, otherwise practically infinite ones.
    pub(super) fn of(protocol: Protocol, fault: Fault, place: FaultPosition) -> Self {
        let before = fault == Fault::Silence && place == FaultPosition::BeforeFirstByte;
        let silent = is_silent(fault);
        Rig {
            protocol,
            request_timeout: if before { SILENT } else { BOUND },
            idle_timeout: if silent && !before { SILENT } else { BOUND },
            max_event_bytes: (fault == Fault::EndlessComments).then_some(COMMENTS),
        }
    }

    /// Runs a turn against a server with these answers.
    pub(super) async fn run(
        self,
        answers: impl Fn(&ReceivedRequest) -> Answer + Send + Sync + 'static,
    ) -> Seen {
        let server = Server::start(answers).await.unwrap();
        let taken = Taken::default();
        let transport = Counted {
            client: Client::builder().no_proxy().build().unwrap(),
            taken: Arc::clone(&taken),
        };
        let mut model = builder(self.protocol, &server.url())
            .transport(transport)
            .request_timeout(self.request_timeout)
            .idle_timeout(self.idle_timeout);
        if let Some(bytes) = self.max_event_bytes {
            model = model.max_event_bytes(bytes);
        }
        let (store, (tool, runs)) = (Arc::new(MemoryStore::default()), weather());
        let runner = turnwright_core::runner(model.build().unwrap())
            .tool(tool)
            .storage(storage_of(Arc::clone(&store)))
            .build()
            .unwrap();
        let ended = timeout(BOUND, runner.run(TurnInput::new("Go.").conversation("c"))).await;
        let (ends, error, held) = match ended {
            Ok(outcome) => {
                let held = held(&store, &outcome).await;
                (ends(&outcome.status), message_of(&outcome.status), held)
            }
            Err(_) => (
                Ends::Otherwise,
                "the turn did not end in time".to_owned(),
                vec![],
            ),
        };
        Seen {
            requests: server.requests().len(),
            ends,
            error,
            held,
            runs: runs.lock().unwrap().clone(),
            most: taken.lock().unwrap().iter().copied().max().unwrap_or(0),
        }
    }
}

/// Returns a builder for the server at this address: three attempts without delay.
pub(super) fn builder(protocol: Protocol, url: &str) -> ModelBuilder<AnyCodec> {
    let protocol: turnwright_models::Protocol = protocol.name().parse().unwrap();
    protocol
        .builder_at(crate::base_url(protocol, url))
        .api_key("sk-1234567890")
        .model("test-model")
        .no_proxy()
        .retry(soon())
}

pub(super) fn soon() -> RetryPolicy {
    let wait = Duration::from_millis(1);
    RetryPolicy::new().attempts(3).first_wait(wait)
}

/// Returns the tool that the replies call, and the arguments of its runs.
pub(super) fn weather() -> (Tool, Arc<Mutex<Vec<String>>>) {
    let runs = Arc::<Mutex<Vec<String>>>::default();
    let noted = Arc::clone(&runs);
    let schema = json!({
        "type": "object",
        "properties": {
            "city": { "type": "string" },
            "days": { "type": "integer" },
            "units": { "enum": ["celsius", "fahrenheit"] },
        },
        "required": ["city", "days", "units"],
    });
    let tool = Tool::dynamic(TOOL, schema)
        .description("Says what the weather will be.")
        .handler(move |args: Value, _: ToolContext| {
            noted.lock().unwrap().push(args.to_string());
            async { "sunny" }
        });
    (tool.build().unwrap(), runs)
}

fn ends(ended: &TurnStatus) -> Ends {
    match ended {
        TurnStatus::Answered => Ends::Answered,
        TurnStatus::Nacked(error) => Ends::Nacked(error.code()),
        TurnStatus::Failed(error) => Ends::Failed(error.code()),
        _ => Ends::Otherwise,
    }
}

fn message_of(ended: &TurnStatus) -> String {
    ended
        .error()
        .map_or_else(String::new, |item| item.with_causes())
}

/// Returns the stored records of the turn's conversation, one per line.
pub(super) async fn held(store: &MemoryStore, outcome: &TurnOutcome) -> Vec<String> {
    let conversation_id = ConversationId::new(Arc::clone(&outcome.conversation));
    let mut lines = Vec::new();
    for record in store.records(&conversation_id).await.unwrap() {
        lines.push(match record {
            Record::Message(item) => format!("{:?}: {}", item.author(), item.text()),
            Record::Ledger(item) => format!("ledger: {} {}", item.tool, item.state.as_str()),
            Record::ToolCall(item) => {
                let arguments = item.args().text().unwrap_or_default().to_owned();
                if item.is_complete() {
                    let gave = item.text().await.unwrap_or_default();
                    format!("made: {} {arguments} gave {gave}", item.tool())
                } else {
                    format!("not made: {} {arguments}", item.tool())
                }
            }
            // The state and the lease of the turn are the same for all.
            Record::Turn(_) | Record::Lease(_) => continue,
            other => format!("{} {}", other.kind(), other.id()),
        });
    }
    lines
}

type Taken = Arc<Mutex<Vec<u64>>>;

/// An HTTP transport that counts the bytes read of each response.
#[derive(Debug)]
struct Counted {
    client: Client,
    taken: Taken,
}

#[async_trait]
impl Transport for Counted {
    async fn send(&self, request: Request) -> Result<Response, Error> {
        let response = self.client.send(request).await?;
        let place = {
            let mut taken = self.taken.lock().unwrap();
            taken.push(0);
            taken.len() - 1
        };
        let taken = Arc::clone(&self.taken);
        let pieces = stream::unfold(response.body, move |mut body| {
            let taken = Arc::clone(&taken);
            async move {
                let piece = body.next().await?;
                let size = piece.as_ref().map_or(0, |item| item.len() as u64);
                taken.lock().unwrap()[place] += size;
                Some((piece, body))
            }
        });
        Ok(Response::new(
            response.status,
            response.headers,
            Body::new(pieces),
        ))
    }
}
