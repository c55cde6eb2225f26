//! Bytes on the wire for responses that are too large or no longer awaited.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::timeout;
use turnwright_core::runner::Limit;
use turnwright_core::store::MemoryStore;
use turnwright_core::{Budget, ErrorCode, EventKind, TurnInput, TurnStatus};
use turnwright_models::retry::RetryPolicy;
use turnwright_testkit::server::Server;
use turnwright_testkit::server::fault::{Fault, FaultPosition, HUGE};
use turnwright_testkit::server::model::Protocol;
use turnwright_testkit::store::storage_of;

use super::BOUND;
use super::rig::{builder, held, weather};

/// A relay between client and server: forwards both directions, counts the bytes sent to the client, and notices when
/// the client closes.
struct Relay {
    address: SocketAddr,
    sent: Arc<AtomicU64>,
    gone: Arc<Notify>,
    _open: JoinSet<()>,
}

impl Relay {
    async fn to(server: &Server) -> Relay {
        // Limits what the system buffers.
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_send_buffer_size(64 << 10).unwrap();
        socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
        let listener = socket.listen(16).unwrap();
        let (address, server) = (listener.local_addr().unwrap(), server.address());
        let (sent, gone) = (Arc::<AtomicU64>::default(), Arc::<Notify>::default());
        let (counts, tells) = (Arc::clone(&sent), Arc::clone(&gone));
        let mut open = JoinSet::new();
        open.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (counts, tells) = (Arc::clone(&counts), Arc::clone(&tells));
                connections.spawn(pass(client, server, counts, tells));
            }
        });
        Relay {
            address,
            sent,
            gone,
            _open: open,
        }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until a client has closed its connection.
    async fn closed(&self) {
        let closed = timeout(BOUND, self.gone.notified()).await;
        closed.expect("the connection is closed");
    }
}

async fn pass(client: TcpStream, server: SocketAddr, sent: Arc<AtomicU64>, gone: Arc<Notify>) {
    let server = TcpStream::connect(server).await.unwrap();
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let down = async {
        let mut piece = vec![0; 16 << 10];
        while let Ok(size @ 1..) = from_server.read(&mut piece).await {
            if to_client.write_all(&piece[..size]).await.is_err() {
                return;
            }
            sent.fetch_add(size as u64, Ordering::Relaxed);
        }
    };
    let up = async {
        let mut piece = vec![0; 16 << 10];
        while let Ok(size @ 1..) = from_client.read(&mut piece).await {
            if to_server.write_all(&piece[..size]).await.is_err() {
                break;
            }
        }
        gone.notify_one();
    };
    tokio::join!(down, up);
}

/// Returns how many bytes were sent before the client closed the connection.
async fn sent(protocol: Protocol, fault: Fault, place: FaultPosition, limit: Option<usize>) -> u64 {
    let server = Server::start(move |_| fault.answer(protocol, place))
        .await
        .unwrap();
    let relay = Relay::to(&server).await;
    let mut model = builder(protocol, &relay.url()).retry(RetryPolicy::never());
    if let Some(bytes) = limit {
        model = model.max_event_bytes(bytes);
    }
    let runner = turnwright_core::runner(model.build().unwrap())
        .build()
        .unwrap();
    let outcome = timeout(BOUND, runner.run("Go.")).await.expect("in time");
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::WIRE_ERROR, "{fault}, {place}");
    relay.closed().await;
    relay.sent.load(Ordering::Relaxed)
}

#[tokio::test]
async fn endless_event_is_not_read_beyond_the_limit() {
    for &place in FaultPosition::ALL {
        endless_event(Protocol::ChatCompletions, place).await;
    }
    for &protocol in Protocol::ALL {
        endless_event(protocol, FaultPosition::InText).await;
    }
}

async fn endless_event(protocol: Protocol, place: FaultPosition) {
    const MIB: u64 = 1 << 20;
    // The socket buffers of both ends add to this.
    let most = sent(protocol, Fault::HugeFrame, place, None).await;
    assert!(
        (8 * MIB..HUGE / 2).contains(&most),
        "{protocol}, {place}: {most}"
    );
    let less = sent(protocol, Fault::HugeFrame, place, Some(64 << 10)).await;
    assert!(
        (64 << 10..2 * MIB).contains(&less),
        "{protocol}, {place}: {less}"
    );
    let comments = sent(protocol, Fault::EndlessComments, place, Some(64 << 10)).await;
    assert!(
        (64 << 10..2 * MIB).contains(&comments),
        "{protocol}, {place}: {comments}"
    );
}

#[tokio::test]
async fn cancelling_a_turn_closes_a_hanging_connection() {
    let all = Protocol::ALL.iter().flat_map(|&protocol| {
        let places = [FaultPosition::InText, FaultPosition::InArguments];
        places.map(|place| (protocol, place))
    });
    // Nothing of such a call arrives before its arguments are complete.
    let shown = all.filter(|(protocol, place)| {
        !matches!(protocol, Protocol::Gemini | Protocol::Ollama) || *place == FaultPosition::InText
    });
    for (protocol, place) in shown {
        let server = Server::script([Fault::Silence.answer(protocol, place)])
            .await
            .unwrap();
        let relay = Relay::to(&server).await;
        let (store, (tool, runs)) = (Arc::new(MemoryStore::default()), weather());
        let runner = turnwright_core::runner(builder(protocol, &relay.url()).build().unwrap())
            .tool(tool)
            .storage(storage_of(Arc::clone(&store)))
            .build()
            .unwrap();
        let mut turn = runner.start(TurnInput::new("Go.").conversation("c"));
        loop {
            let event = timeout(BOUND, turn.next()).await.expect("in time");
            match event.expect("the stream continues").kind {
                EventKind::MessageDelta(_) | EventKind::ToolCallDelta { .. } => break,
                _ => {}
            }
        }
        turn.cancel().unwrap();
        let outcome = timeout(BOUND, turn.outcome()).await.expect("in time");
        assert!(
            matches!(outcome.status, TurnStatus::Aborted { .. }),
            "{place}: {}",
            outcome.status
        );
        relay.closed().await;
        assert_eq!(server.requests().len(), 1, "{place}");
        assert_eq!(
            held(&store, &outcome).await,
            ["User: Go."],
            "{place}: nothing of it is complete"
        );
        assert!(runs.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn deadline_closes_a_hanging_connection() {
    let protocol = Protocol::ChatCompletions;
    for &place in FaultPosition::ALL {
        let server = Server::script([Fault::Silence.answer(protocol, place)])
            .await
            .unwrap();
        let relay = Relay::to(&server).await;
        let runner = turnwright_core::runner(builder(protocol, &relay.url()).build().unwrap())
            .build()
            .unwrap();
        let input = TurnInput::new("Go.").budget(Budget::new().time(Duration::from_secs(1)));
        let outcome = timeout(BOUND, runner.run(input)).await.expect("in time");
        assert!(
            matches!(outcome.status, TurnStatus::Limit(Limit::Time(_))),
            "{place}: {}",
            outcome.status
        );
        relay.closed().await;
        assert_eq!(
            server.requests().len(),
            1,
            "{place}: there is no second attempt"
        );
    }
}
