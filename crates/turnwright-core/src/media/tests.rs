use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use base64::Engine as _;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::error::ErrorCode;
use crate::spool::MemoryReader;

/// Counts how often it is opened, returns pieces of a fixed size, and optionally fails after some of them.
#[derive(Debug)]
struct Counted {
    bytes: Vec<u8>,
    piece: usize,
    fail_after: Option<usize>,
    opened: Arc<AtomicUsize>,
}

impl Counted {
    fn new(bytes: Vec<u8>, piece: usize) -> Self {
        Counted {
            bytes,
            piece,
            fail_after: None,
            opened: Arc::default(),
        }
    }
}

#[async_trait]
impl MediaReader for Counted {
    async fn open(&self) -> io::Result<ByteStream> {
        self.opened.fetch_add(1, Ordering::SeqCst);
        let (sender, stream) = ByteStream::channel(1);
        let pieces: Vec<Vec<u8>> = self.bytes.chunks(self.piece).map(<[u8]>::to_vec).collect();
        let fail_after = self.fail_after;
        tokio::spawn(async move {
            for (n, piece) in pieces.into_iter().enumerate() {
                if fail_after == Some(n) {
                    let _ = sender.fail(io::Error::other("torn")).await;
                    return;
                }
                if sender.send(piece).await.is_err() {
                    return;
                }
            }
        });
        Ok(stream)
    }
}

fn picture(reader: impl MediaReader + 'static) -> Media {
    Media::retrieved_public(MediaKind::Image, "image/png", "p.png", reader)
        .id("m1")
        .source("https://example.com/p.png")
        .build()
        .unwrap()
}

#[test]
fn constructors_set_tier_and_hazard() {
    use MediaKind::{Audio, Document, Image, Video};
    use TrustTier::{FirstParty, ThirdPartyPrivate, ThirdPartyPublic};
    let reader = || MemoryReader::new("");
    type Make = fn(MediaKind, MemoryReader) -> MediaBuilder;
    let factories: [(Make, TrustTier); 4] = [
        (
            |k, r| Media::user_attachment(k, "a/b", "f", r),
            ThirdPartyPrivate,
        ),
        (|k, r| Media::tool_generated(k, "a/b", "f", r), FirstParty),
        (
            |k, r| Media::retrieved_public(k, "a/b", "f", r),
            ThirdPartyPublic,
        ),
        (
            |k, r| Media::retrieved_private(k, "a/b", "f", r),
            ThirdPartyPrivate,
        ),
    ];
    for (make, tier) in factories {
        for kind in [Image, Audio, Video, Document] {
            let media = make(kind, reader()).build().unwrap();
            let hazard = match kind {
                Document => ModalityHazard::ExtractableInstructions,
                _ => ModalityHazard::OpaquePerceptual,
            };
            assert_eq!(
                (media.tier(), media.descriptor().modality_hazard),
                (tier, hazard)
            );
            assert_eq!(media.is_untrusted(), tier != FirstParty);
        }
    }
    let inert = Media::labelled(
        Image,
        ThirdPartyPublic,
        ModalityHazard::Inert,
        "image/png",
        "pixel.png",
        reader(),
    );
    assert!(!inert.build().unwrap().is_untrusted());
}

#[test]
fn invalid_media_reports_every_invalid_field() {
    let bad = Media::tool_generated(MediaKind::Image, "png", "", MemoryReader::new(""))
        .id("\n")
        .build()
        .unwrap_err();
    assert_eq!(bad.code(), ErrorCode::INVALID_INITIAL_MEDIA_VALUE);
    assert_eq!(
        bad.message(),
        "invalid media: id: must not contain control or invisible characters; \
         mimeType: is not a MIME type such as `image/png`; filename: must not be empty"
    );
    for (mime_type, good) in [
        ("image/png", true),
        ("text/html; charset=utf-8", true),
        ("application/vnd.api+json", true),
        ("image/", false),
        ("/png", false),
        ("image png", false),
        ("image/p\"ng", false),
        ("image/t&#119;-agent", false),
        ("image/%74w-agent", false),
        ("text/plain; charset=%74", false),
        ("image/png\n", false),
        ("image/png; x=\u{202e}", false),
        ("", false),
    ] {
        let media = Media::tool_generated(MediaKind::Image, mime_type, "f", MemoryReader::new(""));
        assert_eq!(media.build().is_ok(), good, "{mime_type:?}");
    }
}

#[test]
fn derived_text_is_never_trusted_more_than_its_media() {
    let media = picture(MemoryReader::new(""));
    let media = media.with_derived("caption", "a cat", TrustTier::FirstParty);
    assert_eq!(
        media.derived("caption").unwrap().trust_tier,
        TrustTier::ThirdPartyPublic
    );
    let own = Media::tool_generated(
        MediaKind::Audio,
        "audio/wav",
        "a.wav",
        MemoryReader::new(""),
    )
    .derived("transcript", "hello", TrustTier::ThirdPartyPrivate)
    .build()
    .unwrap();
    assert_eq!(
        own.derived("transcript").unwrap().trust_tier,
        TrustTier::ThirdPartyPrivate,
        "lower stays lower"
    );
    // Nor after it was stored.
    let mut stored = serde_json::to_value(&media).unwrap();
    stored["stash"]["caption"]["trustTier"] = json!("first-party");
    let known: MediaDescriptor = serde_json::from_value(stored).unwrap();
    let again = known.attach(MemoryReader::new("")).unwrap();
    assert_eq!(
        again.derived("caption").unwrap().trust_tier,
        TrustTier::ThirdPartyPublic
    );
}

#[tokio::test]
async fn serialisation_writes_metadata_and_does_not_read_the_bytes() {
    let reader = Counted::new(b"bytes".to_vec(), 2);
    let opened = Arc::clone(&reader.opened);
    let media = picture(reader).with_derived("caption", "a cat", TrustTier::ThirdPartyPublic);
    let stored = serde_json::to_value(&media).unwrap();
    assert_eq!(
        stored,
        json!({
            "id": "m1", "kind": "image", "mimeType": "image/png", "filename": "p.png",
            "source": "https://example.com/p.png",
            "trustTier": "third-party-public", "modalityHazard": "opaque-perceptual",
            "stash": { "caption": { "text": "a cat", "trustTier": "third-party-public" } },
        })
    );
    assert!(!format!("{media:?}").contains("a cat"));
    assert_eq!(opened.load(Ordering::SeqCst), 0, "lazy");
    assert_eq!(media.bytes().await.unwrap(), "bytes");
    assert_eq!(media.base64().await.unwrap(), "Ynl0ZXM=");
    assert_eq!(opened.load(Ordering::SeqCst), 2, "opened again each time");
    let mut tierless = stored;
    tierless.as_object_mut().unwrap().remove("trustTier");
    assert!(serde_json::from_value::<MediaDescriptor>(tierless).is_err());
}

#[tokio::test]
async fn a_reader_that_fails_midway_returns_an_error_and_no_partial_bytes() {
    let mut reader = Counted::new(vec![7; 10], 3);
    reader.fail_after = Some(2);
    let media = picture(reader);
    assert_eq!(media.bytes().await.unwrap_err().to_string(), "torn");
    assert_eq!(media.base64().await.unwrap_err().to_string(), "torn");
}

#[tokio::test]
async fn every_byte_reader_is_a_media_reader() {
    let reader: Arc<dyn ByteReader> = Arc::new(MemoryReader::new(vec![1_u8; 200_000]));
    let media = picture(reader);
    assert_eq!(media.byte_length(), Some(200_000));
    assert_eq!(media.bytes().await.unwrap(), vec![1_u8; 200_000]);
}

proptest! {
    #[test]
    fn base64_of_a_stream_equals_base64_of_all_bytes(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        piece in 1_usize..20,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let media = picture(Counted::new(bytes.clone(), piece));
        let encoded = runtime.block_on(media.base64()).unwrap();
        prop_assert_eq!(&encoded, &STANDARD.encode(&bytes));
    }
}

#[test]
fn content_takes_precedence_over_the_file_name() {
    let svg = b"<?xml version=\"1.0\"?>\n<!-- x -->\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>";
    let avif = b"\0\0\0\x1cftypavif\0\0\0\0";
    for (first, name, expected) in [
        (&b"%PDF-1.7\n"[..], "a.png", Some("application/pdf")),
        (svg, "a.txt", Some("image/svg+xml")),
        (b"<svgish>", "x", None),
        (avif, "a", Some("image/avif")),
        (b"\xff\xd8\xff\xe0", "a", Some("image/jpeg")),
        (b"plain", "notes.md", Some("text/markdown")),
        (b"<svg", "a", None),
        ("<své".as_bytes(), "a", None),
        (b"", "", None),
    ] {
        let found = sniff(first, name).map(|(_, mime_type)| mime_type);
        assert_eq!(found.as_deref(), expected, "{name}");
    }
}
