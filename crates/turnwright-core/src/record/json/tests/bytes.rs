//! Bytes that persist, that are gone, and that were never stored.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use proptest::prelude::*;
use serde_json::json;

use super::{again, resolver};
use crate::artifact::{ArtifactKind, Inline, SpooledArtifact};
use crate::error::ErrorCode;
use crate::media::{Media, MediaDescriptor, MediaKind, MediaReader};
use crate::record::{ByteResolver, Message, Record, ToolCall, ToolResults};
use crate::spool::{Body, ByteReader, ByteStream, DiskSpool, MemoryReader, MemorySpool, Spool};
use crate::storage::Storage;
use crate::store::MemoryStore;
use crate::tool::context::DispatchContext;
use crate::tool::{Tool, ToolOutput};
use crate::trust::ConversationSecret;

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
async fn a_result_is_stored_by_its_spool_id_and_found_again() {
    let spool = MemorySpool::default();
    let tool = Tool::dynamic("log", json!({ "type": "object" }))
        .description("Gives a log.")
        .artifact_kind(INI)
        .handler(|_: serde_json::Value, _| async { "a\nb\n".repeat(5_000) })
        .build()
        .unwrap();
    let ctx = DispatchContext::builder()
        .storage(Storage::of_spool(spool.clone()))
        .conversation("c")
        .build();
    let call = tool.call_and_record(&ctx, "{}").await;
    let record = Record::from(Arc::clone(&call));
    let in_spool = record
        .artifacts()
        .iter()
        .filter_map(SpooledArtifact::spool_id);
    assert_eq!(in_spool.collect::<Vec<_>>(), spool.list().await.unwrap());
    assert!(record.to_value().unwrap().to_string().len() < 1_000);

    let resolver = ByteResolver::new(Arc::new(spool.clone())).kind(INI);
    let read = artifact_of(&again(&record, &resolver).unwrap());
    let spool_id = record.artifacts()[0].spool_id().unwrap();
    assert_eq!((read.kind(), read.spool_id()), (INI, Some(spool_id)));
    assert!(spool_id.ends_with(call.id()));
    assert_eq!(read.byte_length(), 20_000);
    assert_eq!(read.as_bytes().await.unwrap(), "a\nb\n".repeat(5_000));

    // A record loads without its bytes, and reports that when they are read. If the bytes come back, they are readable again.
    spool.delete(spool_id).await.unwrap();
    let bereft = artifact_of(&again(&record, &resolver).unwrap());
    assert_eq!(bereft.byte_length(), 20_000);
    let error = bereft.as_bytes().await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ARTIFACT_UNREADABLE);
    let gone = format!("the spool has no entry \"{spool_id}\" any more");
    assert!(error.message().contains(&gone), "{error}");
    let back = Body::Text("a\nb\n".repeat(5_000));
    spool.put(spool_id, back).await.unwrap();
    assert_eq!(bereft.as_bytes().await.unwrap().len(), 20_000);

    // Other content with the same id is not accepted.
    spool
        .put(spool_id, Body::Text("other".into()))
        .await
        .unwrap();
    let other = artifact_of(&again(&record, &resolver).unwrap());
    let error = other.as_bytes().await.unwrap_err();
    assert!(error.message().contains("has 5 bytes"), "{error}");
}

#[tokio::test]
async fn a_result_that_is_not_in_a_spool_is_stored_in_its_record() {
    let tool = Tool::dynamic("log", json!({ "type": "object" }))
        .description("Gives a log.")
        .handler(|_: serde_json::Value, _| async { vec![0xff_u8; 9_000] })
        .build()
        .unwrap();
    let ctx = DispatchContext::standalone();
    let call = tool.call_and_record(&ctx, "{}").await;
    let read = again(&call.into(), &resolver()).unwrap();
    let read = artifact_of(&read).as_bytes().await.unwrap();
    assert_eq!(read, vec![0xff; 9_000]);
}

#[test]
fn a_large_result_that_is_not_in_a_spool_is_an_error_with_advice() {
    let most = 1024 * 1024;
    let fits = SpooledArtifact::in_memory(vec![b'x'; most], ArtifactKind::TEXT);
    assert!(call_with(fits).to_value().is_ok());
    let large = SpooledArtifact::in_memory(vec![b'x'; most + 1], ArtifactKind::TEXT);
    let error = call_with(large).to_value().unwrap_err();
    assert_eq!(error.code(), ErrorCode::STORE_ERROR);
    assert_eq!(
        error.message(),
        "the tool_call cannot be stored: settled.results: an artifact of 1048577 bytes is not in a spool, and a record \
         can hold at most 1048576: write it to one with `SpooledArtifact::write`, or configure a spool \
         for the runner"
    );
}

#[test]
fn a_remote_result_that_is_not_in_a_spool_is_an_error_with_advice() {
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

        fn read_now(&self, _at: u64, _into: &mut [u8]) -> Option<io::Result<usize>> {
            None
        }
    }
    let far = SpooledArtifact::new(Arc::new(Far), ArtifactKind::TEXT);
    let error = call_with(far).to_value().unwrap_err();
    assert!(
        error
            .message()
            .contains("cannot be read synchronously: write it"),
        "{error}"
    );
}

#[test]
fn an_unknown_kind_is_read_as_text_and_keeps_its_name() {
    let record = call_with(SpooledArtifact::in_memory("[a]", INI));
    let read = again(&record, &resolver()).unwrap();
    let artifact = artifact_of(&read);
    assert_eq!(artifact.kind(), ArtifactKind::TEXT);
    assert_eq!(artifact.unknown_kind(), Some("ini"));
    assert_eq!(artifact.of_kind(INI).unknown_kind(), None);
    assert_eq!(artifact.of_kind(ArtifactKind::TEXT).unknown_kind(), None);
    // Stored again, it can be read by a process that knows the kind.
    let known = artifact_of(&again(&read, &resolver().kind(INI)).unwrap());
    assert_eq!((known.kind(), known.unknown_kind()), (INI, None));
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
async fn media_load_without_their_bytes_and_fail_when_read() {
    let read = media_of(&again(&message_with_media(), &resolver()).unwrap());
    assert_eq!(read.byte_length(), Some(6));
    let error = read.bytes().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the bytes of the media \"pic\" are not in its record: set `ByteResolver::media` to find them"
    );
    let nowhere = resolver().media(|_| async { Ok(None) });
    let read = media_of(&again(&message_with_media(), &nowhere).unwrap());
    let error = read.bytes().await.unwrap_err();
    assert!(
        error.to_string().ends_with("and they no longer exist"),
        "{error}"
    );
    let broken = resolver().media(|_| async { Err(io::Error::other("disk on fire")) });
    let read = media_of(&again(&message_with_media(), &broken).unwrap());
    assert_eq!(read.bytes().await.unwrap_err().to_string(), "disk on fire");
}

#[tokio::test]
async fn media_find_their_bytes_with_the_resolver() {
    let found = resolver().media(|media: MediaDescriptor| async move {
        let bytes = format!("bytes of {} ({})", media.id, media.mime_type);
        Ok(Some(
            Arc::new(MemoryReader::new(bytes)) as Arc<dyn MediaReader>
        ))
    });
    let read = media_of(&again(&message_with_media(), &found).unwrap());
    assert_eq!(read.bytes().await.unwrap(), "bytes of pic (image/png)");
    assert_eq!(read.bytes().await.unwrap(), "bytes of pic (image/png)");
}

/// A temporary directory, deleted on drop.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    fn spool(&self) -> Arc<dyn Spool> {
        Arc::new(DiskSpool::at(self.0.path()))
    }

    fn files(&self) -> Vec<std::path::PathBuf> {
        match std::fs::read_dir(self.0.path()) {
            Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
            Err(_) => Vec::new(),
        }
    }
}

/// The record of a call that returns this output.
async fn settled(spool: &Arc<dyn Spool>, inline: Inline, output: Body) -> Record {
    let output = parking_lot::Mutex::new(Some(output));
    let tool = Tool::dynamic("give", json!({ "type": "object" }))
        .description("Returns something.")
        .inline(inline)
        .handler(move |_: serde_json::Value, _| {
            let output = output.lock().take().unwrap();
            async move { ToolOutput::from(output) }
        })
        .build()
        .unwrap();
    let secret = ConversationSecret::from_bytes([7; 32]);
    let storage = Storage::new(MemoryStore::default(), Arc::clone(spool), secret);
    let ctx = DispatchContext::builder()
        .storage(storage.unwrap())
        .conversation("c")
        .build();
    tool.call_and_record(&ctx, "{}").await.into()
}

fn in_pieces(content: &[u8], size: usize) -> Body {
    let (sender, stream) = ByteStream::channel(1);
    let pieces: Vec<Vec<u8>> = content.chunks(size).map(<[u8]>::to_vec).collect();
    tokio::spawn(async move {
        for piece in pieces {
            if sender.send(piece).await.is_err() {
                return;
            }
        }
    });
    Body::Stream(stream)
}

fn is_inline(record: &Record) -> bool {
    matches!(record, Record::ToolCall(call) if call.is_inline())
}

#[tokio::test]
async fn small_results_are_in_their_record_and_need_no_file() {
    let folder = Folder::new();
    let spool = folder.spool();
    let text = "twelve bytes";
    let large = "x".repeat(60_000);
    let cases = [
        (Inline::ByLimit, Body::Text(text.into()), true),
        (Inline::ByLimit, Body::Bytes(text.into()), true),
        (Inline::ByLimit, in_pieces(text.as_bytes(), 5), true),
        (Inline::Never, Body::Text(text.into()), false),
        (Inline::ByLimit, Body::Bytes(vec![0xff; 4096].into()), false),
        (Inline::Always, Body::Bytes(vec![0xff; 4096].into()), true),
        (Inline::Always, Body::Text(large.clone()), true),
        (
            Inline::UpTo(60_000),
            in_pieces(large.as_bytes(), 7_000),
            true,
        ),
        (Inline::ByLimit, Body::Text(String::new()), true),
    ];
    for (case, (inline, body, is)) in cases.into_iter().enumerate() {
        let record = settled(&spool, inline, body).await;
        assert_eq!(is_inline(&record), is, "case {case}");
        assert_eq!(artifact_of(&record).spool_id(), None, "case {case}");
        let read = again(&record, &ByteResolver::new(Arc::clone(&spool))).unwrap();
        let before = artifact_of(&record).as_bytes().await.unwrap();
        assert_eq!(artifact_of(&read).as_bytes().await.unwrap(), before);
        assert_eq!(is_inline(&read), is, "case {case}");
    }
    assert_eq!(folder.files(), Vec::<std::path::PathBuf>::new());
    // Whether inline or not: large content goes to the spool.
    let huge = Body::Text("x".repeat(70_000));
    let huge = settled(&spool, Inline::Always, huge).await;
    assert!(is_inline(&huge));
    let handle = Body::Text("x".repeat(5_000));
    let handle = settled(&spool, Inline::Never, handle).await;
    assert_eq!(handle.spool_ids().count() + huge.spool_ids().count(), 2);
    assert_eq!(folder.files().len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn every_tool_output_can_be_read_from_its_record(
        length in prop_oneof![0..200_usize, 4_090..4_100_usize, 65_530..65_545_usize, 90_000..300_000_usize],
        fill in prop_oneof![Just(b'a'), Just(0xff_u8)],
        form in 0..3_u8,
        size in 1_000..100_000_usize,
        inline in prop_oneof![
            Just(Inline::ByLimit), Just(Inline::Always), Just(Inline::Never), Just(Inline::UpTo(65_536)), Just(Inline::UpTo(200_000))
        ],
    ) {
        let folder = Folder::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let content: Vec<u8> = (0..length).map(|at| if at % 61 == 0 { b'\n' } else { fill }).collect();
        let is_text = std::str::from_utf8(&content).is_ok();
        let (record, read) = runtime.block_on(async {
            let spool = folder.spool();
            let body = match form {
                0 if is_text => Body::Text(String::from_utf8(content.clone()).unwrap()),
                0 | 1 => Body::Bytes(content.clone().into()),
                _ => in_pieces(&content, size),
            };
            let record = settled(&spool, inline, body).await;
            let read = again(&record, &ByteResolver::new(spool)).unwrap();
            let read = artifact_of(&read).as_bytes().await.unwrap();
            (record, read)
        });
        prop_assert_eq!(&read[..], &content[..]);
        let expected = match inline {
            Inline::Always => true,
            Inline::Never => false,
            Inline::UpTo(most) => is_text && length as u64 <= most,
            _ => is_text && length <= 4096,
        };
        prop_assert_eq!(is_inline(&record), expected);
        let spooled = length > if expected { 65_536 } else { 4_096 };
        prop_assert_eq!(record.spool_ids().count(), usize::from(spooled));
        let digest = record.to_value().unwrap()["settled"]["results"]["artifacts"][0]["sha256"].is_string();
        prop_assert_eq!(digest, spooled);
    }
}

#[tokio::test]
async fn bytes_that_were_replaced_by_others_of_equal_length_are_not_read() {
    for form in 0..2 {
        let folder = Folder::new();
        let spool = folder.spool();
        let content = "a result of the tool\n".repeat(10_000);
        let body = match form {
            0 => Body::Text(content.clone()),
            _ => in_pieces(content.as_bytes(), 30_000),
        };
        let record = settled(&spool, Inline::ByLimit, body).await;
        let resolver = ByteResolver::new(Arc::clone(&spool));
        let read = artifact_of(&again(&record, &resolver).unwrap());
        assert_eq!(read.as_bytes().await.unwrap(), content);

        let forged = "b".repeat(content.len());
        std::fs::write(&folder.files()[0], &forged).unwrap();
        // Written into the same file: another process notices.
        let later = ByteResolver::new(Arc::clone(&spool));
        let error = artifact_of(&again(&record, &later).unwrap());
        let error = error.as_bytes().await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::ARTIFACT_UNREADABLE);
        assert!(
            error.message().contains("not those that were stored"),
            "{error}"
        );
        // Replaced by another file: this process notices too.
        let file = folder.files().remove(0);
        std::fs::write(folder.0.path().join("forged"), &forged).unwrap();
        std::fs::rename(folder.0.path().join("forged"), file).unwrap();
        let again_here = artifact_of(&again(&record, &resolver).unwrap());
        assert!(again_here.as_bytes().await.is_err());

        // A spool that is not persistent gives no digest.
        let mut old = record.to_value().unwrap();
        let artifact = old["settled"]["results"]["artifacts"][0]
            .as_object_mut()
            .unwrap();
        assert!(artifact.remove("sha256").is_some());
        let old = Record::from_value(record.kind(), &old, &later).unwrap();
        assert_eq!(artifact_of(&old).as_bytes().await.unwrap(), forged);
    }
}
