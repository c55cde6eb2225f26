//! Size limits of results.

use crate::record::Record;
use crate::record::RecordKind;
use crate::spool::Body;
use crate::spool::ByteStream;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use proptest::prelude::*;
use tokio::sync::Notify;

use super::*;
use crate::render::{Part, Renderer};
use crate::spool::{ByteReader, MemorySpool, Spool};
use crate::trust::ConversationSecret;

/// A spool that counts the bytes it receives.
#[derive(Clone, Default)]
struct Counting {
    inner: MemorySpool,
    came: Arc<AtomicUsize>,
}

#[async_trait]
impl Spool for Counting {
    async fn put(&self, id: &str, content: Body) -> io::Result<Arc<dyn ByteReader>> {
        let mut all = Vec::new();
        match content {
            Body::Text(text) => all.extend_from_slice(text.as_bytes()),
            Body::Bytes(bytes) => all.extend_from_slice(&bytes),
            Body::Stream(mut stream) => {
                while let Some(piece) = stream.next().await {
                    all.extend_from_slice(&piece?);
                    self.came.fetch_max(all.len(), Ordering::SeqCst);
                }
            }
        }
        self.came.fetch_max(all.len(), Ordering::SeqCst);
        self.inner.put(id, Body::Bytes(all.into())).await
    }

    async fn open(&self, id: &str) -> io::Result<Option<Arc<dyn ByteReader>>> {
        self.inner.open(id).await
    }

    async fn delete(&self, id: &str) -> io::Result<bool> {
        self.inner.delete(id).await
    }

    async fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list().await
    }

    fn is_persistent(&self) -> bool {
        self.inner.is_persistent()
    }

    fn can_reopen(&self) -> bool {
        self.inner.can_reopen()
    }
}

/// A tool whose stream never ends, and a notification that its producer has stopped.
fn endless(piece: &'static [u8]) -> (ToolBuilder<Value>, Arc<Notify>) {
    let stopped = Arc::new(Notify::new());
    let reported = Arc::clone(&stopped);
    let tool = number("endless").handler(move |_: Value, _: ToolContext| {
        let (sender, stream) = ByteStream::channel(1);
        let reported = Arc::clone(&reported);
        tokio::spawn(async move {
            while sender.send(piece).await.is_ok() {}
            reported.notify_one();
        });
        async move { stream }
    });
    (tool, stopped)
}

async fn shown(call: &ToolCall) -> String {
    let renderer = Renderer::new(ConversationSecret::from_bytes([7; 32]));
    let parts = renderer.tool_call(call).await;
    let texts = parts.into_iter().map(|part| match part {
        Part::Text(text) => text,
        Part::Media(_) => panic!("no media here"),
    });
    texts.collect()
}

#[tokio::test]
async fn an_endless_stream_is_truncated_and_its_producer_stopped() {
    let spool = Counting::default();
    let ctx = DispatchContext::builder()
        .storage(Storage::of_spool(spool.clone()))
        .conversation("c")
        .max_result_bytes(1_000_000)
        .build();
    let watched = watch(ctx);
    let (tool, stopped) = endless(&[b'x'; 999]);
    let tool = tool.build().unwrap();
    let call = tool.call_and_record(&watched.ctx, "{}").await;
    stopped.notified().await;

    assert!(call.is_truncated() && !call.is_error());
    assert_eq!(call.handles()[0].byte_length(), 1_000_000);
    assert_eq!(
        spool.came.load(Ordering::SeqCst),
        1_000_000,
        "no more reached the spool"
    );

    let text = shown(&call).await;
    let notice = "The result was truncated after 1000000 bytes. The rest was discarded.";
    assert!(text.ends_with(notice), "{text}");
    let events = watched.events.lock();
    let warning = events
        .iter()
        .find(|event| event["event"] == "warning")
        .unwrap();
    let message = warning["message"].as_str().unwrap();
    assert!(
        message.contains("`endless` was truncated at 1000000 bytes"),
        "{message}"
    );
}

#[tokio::test]
async fn the_limit_of_a_tool_precedes_that_of_the_runner() {
    let ctx = DispatchContext::builder().max_result_bytes(10).build();
    for (own, expected) in [(None, 10), (Some(4), 4), (Some(40), 26)] {
        let mut tool = number("alphabet")
            .handler(|_: Value, _: ToolContext| async { "abcdefghijklmnopqrstuvwxyz" });
        if let Some(own) = own {
            tool = tool.max_result_bytes(own);
        }
        let call = tool.build().unwrap().call_and_record(&ctx, "{}").await;
        let text = call.text().await.unwrap();
        assert_eq!((text.len(), call.is_truncated()), (expected, expected < 26));
        assert!(call.is_inline());
    }
    let error = number("none")
        .handler(|_: Value, _: ToolContext| async {})
        .max_result_bytes(0)
        .build();
    assert!(
        error
            .unwrap_err()
            .message()
            .contains("max_result_bytes: must not be zero")
    );
}

#[tokio::test]
async fn a_truncated_result_is_stored_as_such_and_its_notice_is_outside_of_the_envelope() {
    let ctx = DispatchContext::builder().max_result_bytes(5).build();
    let tool = number("say")
        .handler(|_: Value, _: ToolContext| async { "ééé" })
        .build()
        .unwrap();
    let call = tool.call_and_record(&ctx, "{}").await;
    assert_eq!(
        call.text().await.as_deref(),
        Some("éé"),
        "no character is split"
    );
    let text = shown(&call).await;
    assert!(text.contains("éé\n</tw-untrusted-"), "{text}");
    assert!(
        text.ends_with(">\nThe result was truncated after 4 bytes. The rest was discarded."),
        "{text}"
    );

    let reopen = record::ByteResolver::new(Arc::new(MemorySpool::default()));
    let value = Record::from(Arc::clone(&call)).to_value().unwrap();
    let again = Record::from_value(RecordKind::ToolCall, &value, &reopen).unwrap();
    assert!(again.downcast::<ToolCall>().unwrap().is_truncated());
    // Older records do not have the field.
    let mut before = value;
    before["settled"]
        .as_object_mut()
        .unwrap()
        .remove("truncated");
    let again = Record::from_value(RecordKind::ToolCall, &before, &reopen).unwrap();
    assert!(!again.downcast::<ToolCall>().unwrap().is_truncated());
}

#[tokio::test]
async fn a_failed_stream_is_not_a_truncated_result() {
    let ctx = DispatchContext::builder().max_result_bytes(3).build();
    let tool = number("torn").handler(|_: Value, _: ToolContext| async {
        let (sender, stream) = ByteStream::channel(4);
        sender.send("abc").await.unwrap();
        sender.fail(io::Error::other("torn")).await.unwrap();
        stream
    });
    let call = tool.build().unwrap().call_and_record(&ctx, "{}").await;
    assert!(call.is_error() && !call.is_truncated());
}

#[tokio::test]
async fn a_full_memory_spool_fails_the_call_and_stops_the_producer() {
    let ctx = DispatchContext::builder()
        .storage(Storage::of_spool(MemorySpool::with_capacity(10_000)))
        .conversation("c")
        .build();
    let watched = watch(ctx);
    let (tool, stopped) = endless(&[b'x'; 999]);
    let call = tool
        .build()
        .unwrap()
        .call_and_record(&watched.ctx, "{}")
        .await;
    stopped.notified().await;
    assert!(call.is_error() && !call.is_truncated());
    let events = watched.events.lock();
    let error = events
        .iter()
        .find(|event| event["event"] == "error")
        .unwrap();
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("capacity is 10000 bytes") && message.contains("DiskSpool"),
        "{message}"
    );
}

/// Reads all bytes of a body.
async fn bytes_of(body: Body) -> Vec<u8> {
    match body {
        Body::Text(text) => text.into_bytes(),
        Body::Bytes(bytes) => bytes.to_vec(),
        Body::Stream(mut stream) => {
            let mut all = Vec::new();
            while let Some(piece) = stream.next().await {
                all.extend_from_slice(&piece.unwrap());
            }
            all
        }
    }
}

/// Splits bytes into a stream of pieces.
fn pieces(bytes: &[u8], sizes: Vec<usize>) -> Body {
    let (sender, stream) = ByteStream::channel(1);
    let (mut rest, mut sizes) = (Bytes::copy_from_slice(bytes), sizes.into_iter().cycle());
    tokio::spawn(async move {
        while !rest.is_empty() {
            let size = sizes.next().unwrap_or(1).min(rest.len());
            if sender.send(rest.split_to(size)).await.is_err() {
                return;
            }
        }
    });
    Body::Stream(stream)
}

fn is(truncated: &AtomicBool) -> bool {
    truncated.load(Ordering::Acquire)
}

proptest! {
    #[test]
    fn all_forms_of_content_are_truncated_alike(
        text in "[aé€🦀]{0,12}",
        tail in proptest::collection::vec(any::<u8>(), 0..6),
        most in 0_u64..40,
        mut sizes in proptest::collection::vec(0_usize..5, 1..5),
    ) {
        sizes.push(1);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let bytes = [text.as_bytes(), &tail].concat();
            let (body, truncated) = Body::Bytes(bytes.clone().into()).bounded(most);
            let held = bytes_of(body).await;
            prop_assert!(bytes.starts_with(&held));
            prop_assert_eq!(is(&truncated), bytes.len() as u64 > most);
            if is(&truncated) {
                prop_assert!(held.len() as u64 + 3 >= most && held.len() as u64 <= most);
            } else {
                prop_assert_eq!(&held, &bytes);
            }
            let (body, truncated_too) = pieces(&bytes, sizes.clone()).bounded(most);
            prop_assert_eq!(bytes_of(body).await, held);
            prop_assert_eq!(is(&truncated_too), is(&truncated));

            let (body, truncated) = Body::Text(text.clone()).bounded(most);
            let held = String::from_utf8(bytes_of(body).await).unwrap();
            let most = usize::try_from(most).unwrap();
            prop_assert_eq!(&held, &text[..text.floor_char_boundary(most)]);
            prop_assert_eq!(is(&truncated), text.len() > most);
            Ok(())
        })?;
    }
}
