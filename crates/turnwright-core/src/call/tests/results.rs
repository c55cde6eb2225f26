//! Results that exist before the call is settled: artifacts and external results.

use super::*;
use crate::artifact::ArtifactKind;
use crate::artifact::Inline;
use crate::artifact::SpooledArtifact;
use crate::checksum::checksum;
use crate::media::{Media, MediaKind};
use crate::record::Record;
use crate::record::ToolCall;
use crate::render::{Part, Renderer};
use crate::schema::RepairKind;
use crate::spool::Spool as _;
use crate::spool::{ByteStream, MemoryReader, MemorySpool};
use crate::store::MemoryStore;
use crate::tool::{Content, IntoToolResult as _};
use crate::trust::ConversationSecret;

const LONG: usize = 10_000;

fn long_text() -> String {
    "0123456789\n".repeat(LONG / 11)
}

/// A dispatch of a conversation with this spool.
fn dispatch(spool: &MemorySpool, conversation: &str) -> DispatchContext {
    storing(spool, conversation).build()
}

fn storing(spool: &MemorySpool, conversation: &str) -> dispatch::DispatchContextBuilder {
    let secret = ConversationSecret::from_bytes([7; 32]);
    let spool = Arc::new(spool.clone());
    let storage = Storage::new(MemoryStore::default(), spool, secret);
    DispatchContext::builder()
        .storage(storage.unwrap())
        .conversation(conversation)
}

/// A tool that returns this artifact.
fn returning(artifact: SpooledArtifact) -> Tool {
    number("again")
        .artifact_kind(ArtifactKind::MARKDOWN)
        .handler_with(artifact, async |artifact, _, _| {
            SpooledArtifact::clone(&artifact)
        })
        .build()
        .unwrap()
}

async fn made_by_a_call(ctx: &DispatchContext) -> SpooledArtifact {
    let make = number("make")
        .handler(async |_, _| long_text())
        .build()
        .unwrap();
    let record = make.call_and_record(ctx, "{}").await;
    artifact_of(&record).clone()
}

#[tokio::test]
async fn an_artifact_of_this_conversation_is_not_copied() {
    let spool = MemorySpool::default();
    let ctx = dispatch(&spool, "one");
    let made = made_by_a_call(&ctx).await;
    let record = returning(made.clone()).call_and_record(&ctx, "{}").await;
    let again = artifact_of(&record);
    assert_eq!(again.spool_id(), made.spool_id());
    assert_eq!(again.kind(), ArtifactKind::TEXT, "it keeps its kind");
    assert_eq!(spool.list().await.unwrap().len(), 1);
    assert_eq!(record.handles().len(), 1);

    // A later turn of the conversation that loaded the record from the store.
    let later = dispatch(&spool, "one");
    later.records().hydrate([Record::from(Arc::clone(&record))]);
    let record = returning(made).call_and_record(&later, "{}").await;
    assert_eq!(artifact_of(&record).spool_id(), again.spool_id());
    assert_eq!(spool.list().await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_artifact_of_another_conversation_is_copied() {
    let spool = MemorySpool::default();
    let other = dispatch(&spool, "other");
    let made = made_by_a_call(&other).await;
    let ctx = dispatch(&spool, "one");
    let record = returning(made.clone()).call_and_record(&ctx, "{}").await;
    let copy = artifact_of(&record);
    assert_ne!(copy.spool_id(), made.spool_id());
    assert_eq!(copy.kind(), ArtifactKind::TEXT);

    // The other conversation is deleted.
    spool.delete(made.spool_id().unwrap()).await.unwrap();
    assert_eq!(record.text().await, Some(long_text()));
    let id = copy.spool_id().unwrap();
    assert!(spool.open(id).await.unwrap().is_some());
}

#[tokio::test]
async fn an_artifact_spooled_by_a_handler_is_queried_and_returned_without_a_copy() {
    let spool = MemorySpool::default();
    let ctx = dispatch(&spool, "one");
    let keep = number("keep")
        .handler(async |_, ctx| {
            let artifact = ctx.spool(long_text(), ArtifactKind::TEXT).await?;
            assert_eq!(artifact.head(1).await?.lines[0].text(), "0123456789");
            Ok(artifact)
        })
        .build()
        .unwrap();
    let record = keep.call_and_record(&ctx, "{}").await;
    let ids = spool.list().await.unwrap();
    assert_eq!(artifact_of(&record).spool_id(), Some(&*ids[0]));
    assert_eq!(ids.len(), 1);
}

#[tokio::test]
async fn in_memory_artifacts_are_shared_and_small_ones_inline() {
    let ctx = DispatchContext::standalone();
    let small = SpooledArtifact::in_memory("small", ArtifactKind::JSON);
    let record = returning(small).call_and_record(&ctx, "{}").await;
    assert!(record.is_inline());
    assert_eq!(artifact_of(&record).kind(), ArtifactKind::JSON);

    let reader = Arc::new(MemoryReader::new(long_text()));
    let weak = Arc::downgrade(&reader);
    let large = SpooledArtifact::new(reader, ArtifactKind::TEXT);
    let record = returning(large).call_and_record(&ctx, "{}").await;
    assert!(!record.is_inline());
    let (held, own) = (artifact_of(&record).reader(), weak.upgrade().unwrap());
    assert!(std::ptr::addr_eq(Arc::as_ptr(held), Arc::as_ptr(&own)));
}

#[tokio::test]
async fn an_artifact_that_is_too_long_is_truncated() {
    let spool = MemorySpool::default();
    let ctx = storing(&spool, "one").max_result_bytes(5_000).build();
    let long = SpooledArtifact::in_memory(long_text(), ArtifactKind::TEXT);
    let record = returning(long).call_and_record(&ctx, "{}").await;
    assert!(record.is_truncated());
    assert_eq!(artifact_of(&record).byte_length(), 5_000);
}

#[tokio::test]
async fn an_output_can_be_read_in_one_step() {
    let (sender, stream) = ByteStream::channel(1);
    let sent = tokio::spawn(async move {
        sender.send("one ").await.unwrap();
        sender.send("two").await.unwrap();
    });
    let output = stream.into_tool_result().unwrap();
    assert_eq!((output.as_text(), output.as_bytes()), (None, None));
    assert_eq!(
        output.into_text().await.unwrap().as_deref(),
        Some("one two")
    );
    sent.await.unwrap();

    let artifact = SpooledArtifact::in_memory("text", ArtifactKind::TEXT);
    let output = ToolOutput::artifact(artifact);
    assert!(matches!(output.content, Content::Artifact(_)));
    assert_eq!(
        output.into_bytes().await.unwrap().as_deref(),
        Some(&b"text"[..])
    );
    let output = ToolOutput::bytes(vec![0xff]);
    assert_eq!(output.as_bytes(), Some(&[0xff][..]));
    assert_eq!(output.into_text().await.unwrap(), None);
    let output = ToolOutput::media([]);
    assert_eq!(output.into_bytes().await.unwrap(), None);
}

#[tokio::test]
async fn a_result_can_have_text_and_media() {
    let ctx = DispatchContext::standalone();
    let image = || {
        let bytes = MemoryReader::new("png");
        Media::retrieved_public(MediaKind::Image, "image/png", "a.png", bytes).build()
    };
    let output = ToolOutput::text("A cat.").with_media([image().unwrap()]);
    assert_eq!(output.as_media().len(), 1);
    let call = ctx
        .propose("look", "{}")
        .settle_with(Ok::<_, ToolError>(output))
        .await;
    assert_eq!(call.text().await.as_deref(), Some("A cat."));
    assert_eq!(call.media()[0].filename(), "a.png");
    let renderer = Renderer::new(ConversationSecret::from_bytes([7; 32]));
    let renderer = renderer.accepted_media(|_| true);
    let parts = renderer.tool_call(&call).await;
    let is_media = |part: &Part| matches!(part, Part::Media(_));
    assert!(matches!(&parts[0], Part::Text(text) if text.contains("A cat.")));
    assert_eq!(parts.iter().filter(|part| is_media(part)).count(), 1);

    // Media beside media are all of the result.
    let output = ToolOutput::media([image().unwrap()]).with_media([image().unwrap()]);
    let call = ctx
        .propose("look", "{}")
        .settle_with(Ok::<_, ToolError>(output))
        .await;
    assert!(matches!(call.results(), ToolResults::Media(media) if media.len() == 2));
}

#[tokio::test]
async fn an_external_result_becomes_a_record_in_one_step() {
    let ctx = DispatchContext::standalone();
    let call = ctx
        .propose("web.search", r#"{"query": "rust"}"#)
        .with_provider_id("ws_1")
        .settle_with(long_text())
        .await;
    assert_eq!(
        (call.tool(), call.provider_id()),
        ("web.search", Some("ws_1"))
    );
    assert!(call.is_complete() && !call.is_error() && !call.is_trusted());
    assert_eq!(
        call.checksum(),
        checksum("web.search", r#"{"query":"rust"}"#)
    );
    assert_eq!(call.handles().len(), 1, "large content is a handle");
    assert_eq!(
        call.bytes().await.unwrap().unwrap().len(),
        call.artifacts()[0].byte_length() as usize
    );
    assert_eq!(ctx.records().all::<ToolCall>()[0].id(), call.id());

    // Arguments are recorded as received, whatever they are.
    let call = ctx.propose("web.search", "no JSON").settle_with(7).await;
    assert_eq!(call.args().text(), Some("no JSON"));
    assert_eq!(call.text().await.as_deref(), Some("7"));

    let failed: Result<(), _> =
        Err(ToolError::unavailable("503 from 10.0.0.7").for_model("The search is down."));
    let call = ctx.propose("web.search", "{}").settle_with(failed).await;
    assert!(call.is_error());
    assert_eq!(call.text().await.as_deref(), Some("The search is down."));
}

#[tokio::test]
async fn an_external_result_is_stored_like_that_of_the_tool_but_never_trusted() {
    let own = number("notes")
        .artifact_kind(ArtifactKind::MARKDOWN)
        .inline(Inline::Never)
        .trusted(true)
        .handler(async |_, _| -> String { panic!("the handler is not reached") })
        .build();
    let tools = ToolRegistry::new([own.unwrap()]).unwrap();
    let ctx = DispatchContext::builder().tools(tools).build();
    // Neither checked nor run: the schema does not accept negative numbers.
    let call = ctx
        .propose("notes", r#"{"n": -1}"#)
        .settle_with("# a")
        .await;
    assert_eq!(call.handles()[0].kind(), ArtifactKind::MARKDOWN);
    assert!(!call.is_trusted());
}

#[tokio::test]
async fn no_arguments_taken_for_an_empty_object_are_kept_as_a_repair() {
    let tool = number("note").handler(|_: Value, _: ToolContext| async { "ok" });
    let tools = ToolRegistry::new([tool.build().unwrap()]).unwrap();
    let ctx = DispatchContext::builder().tools(tools).build();
    let proposed = ctx.propose("note", "null").empty_args_as_object();
    let checked = proposed.check().await.unwrap();
    let mut repairs = checked.stage.args.repairs().iter();
    let repair = repairs.find(|repair| repair.kind == RepairKind::NoArguments);
    let repair = repair.expect("a repair");
    assert_eq!(
        (&repair.before, &repair.after),
        (&Some(Value::Null), &Some(json!({})))
    );
    let refused = ctx.propose("note", "null").check().await;
    assert!(refused.is_err(), "only where the caller says so");
}
