//! Bytes that stay, that go, and that were never kept.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;

use super::{again, reopen};
use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::dispatch::DispatchContext;
use crate::error::ErrorCode;
use crate::media::{Media, MediaDescriptor, MediaKind, MediaReader};
use crate::record::{Message, Record, Reopen, ToolCall, ToolResults};
use crate::spool::{ByteReader, MemoryReader, MemorySpool, Spool};
use crate::tool::{Body, Tool};

const INI: ArtifactKind = ArtifactKind::new("ini", || &[]);

fn call_with(artifact: SpooledArtifact) -> Record {
    let call = ToolCall::builder("t", "{}").id("c");
    let call = call.results(ToolResults::Artifacts(vec![artifact]));
    call.build().unwrap().into()
}

fn artifact_of(record: &Record) -> SpooledArtifact {
    let Record::ToolCall(call) = record else {
        panic!()
    };
    let ToolResults::Artifacts(artifacts) = call.results() else {
        panic!()
    };
    artifacts[0].clone()
}

#[tokio::test]
async fn a_result_is_stored_by_its_place_in_the_spool_and_found_there_again() {
    let spool = MemorySpool::default();
    let tool = Tool::dynamic("log", json!({ "type": "object" }))
        .description("Gives a log.")
        .artifact_kind(INI)
        .handler(|_: serde_json::Value, _| async { "a\nb\n".repeat(5_000) })
        .build()
        .unwrap();
    let ctx = DispatchContext::builder().spool(spool.clone()).build();
    let call = tool.executor(&ctx).settle("{}").await;
    let record = Record::from(Arc::clone(&call));
    let kept = record
        .artifacts()
        .iter()
        .filter_map(SpooledArtifact::spool_id);
    assert_eq!(kept.collect::<Vec<_>>(), spool.list().await.unwrap());
    assert!(record.to_value().unwrap().to_string().len() < 1_000);

    let reopen = Reopen::new(Arc::new(spool.clone())).kind(INI);
    let read = artifact_of(&again(&record, &reopen).unwrap());
    let spool_id = record.artifacts()[0].spool_id().unwrap();
    assert_eq!((read.kind(), read.spool_id()), (INI, Some(spool_id)));
    assert!(spool_id.ends_with(call.id()));
    assert_eq!(read.byte_length(), 20_000);
    assert_eq!(read.as_bytes().await.unwrap(), "a\nb\n".repeat(5_000));

    // A record loads without its bytes, and says so when they are asked for. If they come back, so do they.
    spool.delete(spool_id).await.unwrap();
    let bereft = artifact_of(&again(&record, &reopen).unwrap());
    assert_eq!(bereft.byte_length(), 20_000);
    let error = bereft.as_bytes().await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ArtifactUnreadable);
    let gone = format!("the spool keeps nothing under \"{spool_id}\" any more");
    assert!(error.message().contains(&gone), "{error}");
    let back = Body::Text("a\nb\n".repeat(5_000));
    spool.put(spool_id, back).await.unwrap();
    assert_eq!(bereft.as_bytes().await.unwrap().len(), 20_000);

    // Something else under the same id is not taken for it.
    spool
        .put(spool_id, Body::Text("other".into()))
        .await
        .unwrap();
    let other = artifact_of(&again(&record, &reopen).unwrap());
    let error = other.as_bytes().await.unwrap_err();
    assert!(error.message().contains("keeps 5 bytes"), "{error}");
}

#[tokio::test]
async fn a_result_that_no_spool_keeps_goes_into_its_record() {
    let tool = Tool::dynamic("log", json!({ "type": "object" }))
        .description("Gives a log.")
        .handler(|_: serde_json::Value, _| async { vec![0xff_u8; 9_000] })
        .build()
        .unwrap();
    let ctx = DispatchContext::standalone();
    let call = tool.executor(&ctx).settle("{}").await;
    let read = again(&call.into(), &reopen()).unwrap();
    let read = artifact_of(&read).as_bytes().await.unwrap();
    assert_eq!(read, vec![0xff; 9_000]);
}

#[test]
fn what_is_too_large_for_a_record_and_in_no_spool_says_what_to_do() {
    let most = 1024 * 1024;
    let fits = SpooledArtifact::in_memory(vec![b'x'; most], ArtifactKind::TEXT);
    assert!(call_with(fits).to_value().is_ok());
    let large = SpooledArtifact::in_memory(vec![b'x'; most + 1], ArtifactKind::TEXT);
    let error = call_with(large).to_value().unwrap_err();
    assert_eq!(error.code(), ErrorCode::Store);
    assert_eq!(
        error.message(),
        "the tool_call cannot be stored: an artifact of 1048577 bytes is in no spool, and a record \
         holds 1048576 at most: put it into one with `SpooledArtifact::keep`"
    );
}

#[test]
fn what_cannot_be_read_at_once_and_is_in_no_spool_says_what_to_do() {
    #[derive(Debug)]
    struct Far;
    #[async_trait]
    impl ByteReader for Far {
        fn len(&self) -> u64 {
            3
        }
        async fn read(&self, _: std::ops::Range<u64>) -> io::Result<bytes::Bytes> {
            Ok("abc".into())
        }
    }
    let far = SpooledArtifact::new(Arc::new(Far), ArtifactKind::TEXT);
    let error = call_with(far).to_value().unwrap_err();
    assert!(
        error.message().contains("cannot be read at once: put it"),
        "{error}"
    );
}

#[test]
fn a_kind_that_nobody_named_is_an_error_that_names_it_unless_it_was_given_up() {
    let record = call_with(SpooledArtifact::in_memory("[a]", INI));
    let error = again(&record, &reopen()).unwrap_err();
    assert_eq!(
        error.message(),
        "the stored tool_call \"c\" cannot be read: results.artifacts[0].kind: there is no artifact kind \
         \"ini\" here: name it with `Reopen::kind`, or read what is of no known kind as text with \
         `Reopen::unknown_kinds_as_text`"
    );
    let lenient = reopen().unknown_kinds_as_text();
    let read = artifact_of(&again(&record, &lenient).unwrap());
    assert_eq!(read.kind(), ArtifactKind::TEXT);
    let known = artifact_of(&again(&record, &lenient.kind(INI)).unwrap());
    assert_eq!(known.kind(), INI);
}

fn message_with_media() -> Record {
    let media = MemoryReader::new("pixels");
    let media = Media::user_attachment(MediaKind::Image, "image/png", "a.png", media).id("pic");
    let message = Message::user("see").media(media.build().unwrap());
    message.build().unwrap().into()
}

fn media_of(record: &Record) -> Media {
    let Record::Message(message) = record else {
        panic!()
    };
    message.media()[0].clone()
}

#[tokio::test]
async fn media_load_without_their_bytes_and_say_so_when_these_are_read() {
    let read = media_of(&again(&message_with_media(), &reopen()).unwrap());
    assert_eq!(read.byte_length(), Some(6));
    let error = read.bytes().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the bytes of the media \"pic\" are not in its record: say with `Reopen::media` where they are"
    );
    let nowhere = reopen().media(|_| async { Ok(None) });
    let read = media_of(&again(&message_with_media(), &nowhere).unwrap());
    let error = read.bytes().await.unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("they are no longer where they were"),
        "{error}"
    );
    let broken = reopen().media(|_| async { Err(io::Error::other("disk on fire")) });
    let read = media_of(&again(&message_with_media(), &broken).unwrap());
    assert_eq!(read.bytes().await.unwrap_err().to_string(), "disk on fire");
}

#[tokio::test]
async fn media_find_their_bytes_where_they_are_said_to_be() {
    let found = reopen().media(|media: MediaDescriptor| async move {
        let bytes = format!("bytes of {} ({})", media.id(), media.mime_type());
        Ok(Some(
            Arc::new(MemoryReader::new(bytes)) as Arc<dyn MediaReader>
        ))
    });
    let read = media_of(&again(&message_with_media(), &found).unwrap());
    assert_eq!(read.bytes().await.unwrap(), "bytes of pic (image/png)");
    assert_eq!(read.bytes().await.unwrap(), "bytes of pic (image/png)");
}
