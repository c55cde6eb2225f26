//! Media as parts of messages.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use turnwright_core::event::Event;
use turnwright_core::event::EventKind;
use turnwright_core::media::MediaKind;
use turnwright_core::media::MediaReader;
use turnwright_core::spool::ByteStream;
use turnwright_core::spool::MemoryReader;
use turnwright_core::trust::TrustTier;
use turnwright_core::{Media, Tool, ToolContext, TurnInput};
use turnwright_models::MediaPolicy;

use crate::script::{Script, calls, says};

fn media(kind: MediaKind, mime: &str, name: &str) -> Media {
    Media::user_attachment(kind, mime, name, MemoryReader::new("abc"))
        .build()
        .unwrap()
}

async fn content(policy: MediaPolicy, attached: Media) -> Result<Value, String> {
    let script = Script::new([says("I see.")]);
    let model = script.builder().unsupported_media(policy).build().unwrap();
    let runner = turnwright_core::runner(model).build().unwrap();
    let outcome = runner.run(TurnInput::new("Look.").media(attached)).await;
    match outcome.error() {
        Some(error) => Err(error.with_causes()),
        None => Ok(script.values()[0]["messages"][1]["content"].clone()),
    }
}

#[tokio::test]
async fn images_audio_and_documents_are_parts_of_a_message() {
    let cases = [
        (
            MediaKind::Image,
            "image/jpeg",
            json!({ "type": "image_url", "image_url": { "url": "data:image/jpeg;base64,YWJj" } }),
        ),
        (
            MediaKind::Audio,
            "audio/x-wav",
            json!({ "type": "input_audio", "input_audio": { "data": "YWJj", "format": "wav" } }),
        ),
        (
            MediaKind::Audio,
            "audio/mpeg",
            json!({ "type": "input_audio", "input_audio": { "data": "YWJj", "format": "mp3" } }),
        ),
        (
            MediaKind::Document,
            "application/pdf",
            json!({ "type": "file", "file": { "filename": "a.b", "file_data": "data:application/pdf;base64,YWJj" } }),
        ),
    ];
    for (kind, mime, part) in cases {
        let content = content(MediaPolicy::Error, media(kind, mime, "a.b"))
            .await
            .unwrap();
        let parts = content.as_array().unwrap();
        assert_eq!(parts[0], json!({ "type": "text", "text": "Look." }));
        let marker = parts[1]["text"].as_str().unwrap();
        assert!(
            marker.starts_with("<tw-untrusted-") && marker.contains("follows"),
            "{marker}"
        );
        assert_eq!(parts[2], part);
        assert_eq!(parts.len(), 3);
    }
}

#[tokio::test]
async fn unsupported_media_is_described_dropped_or_rejected() {
    let video = || {
        Media::user_attachment(
            MediaKind::Video,
            "video/mp4",
            "talk \"1\".mp4",
            MemoryReader::new("abc"),
        )
        .derived("transcript", "Good morning.", TrustTier::ThirdPartyPrivate)
        .build()
        .unwrap()
    };
    let described = content(MediaPolicy::Describe, video()).await.unwrap();
    let text = described.as_str().expect("text alone is a string");
    assert!(
        text.starts_with("Look.")
            && text.contains("cannot be shown")
            && text.contains("Good morning."),
        "{text}"
    );
    assert_eq!(content(MediaPolicy::Drop, video()).await.unwrap(), "Look.");
    let refused = content(MediaPolicy::Error, video()).await.unwrap_err();
    assert!(
        refused.contains("talk \\\"1\\\".mp4")
            && refused.contains("video/mp4")
            && refused.contains("unsupported_media"),
        "{refused}"
    );
}

#[tokio::test]
async fn oversized_media_is_rejected_before_reading_all_of_it() {
    let script = Script::new([says("Never.")]);
    let model = script.builder().max_media_bytes(10);
    let model = model.unsupported_media(MediaPolicy::Error).build().unwrap();
    let runner = turnwright_core::runner(model).build().unwrap();
    let large = Media::user_attachment(
        MediaKind::Image,
        "image/png",
        "p.png",
        MemoryReader::new(vec![0; 11]),
    );
    let outcome = runner
        .run(TurnInput::new("Look.").media(large.build().unwrap()))
        .await;
    let error = outcome.error().unwrap().with_causes();
    assert!(
        error.contains("more than 10 bytes") && error.contains("max_media_bytes"),
        "{error}"
    );
    assert!(script.bodies().is_empty());
}

#[tokio::test]
async fn oversized_media_is_described_and_the_conversation_continues() {
    let script = Script::new([says("I cannot see it."), says("Hello.")]);
    let model = script.builder().max_media_bytes(10).build().unwrap();
    let runner = turnwright_core::runner(model).build().unwrap();
    let large = Media::user_attachment(
        MediaKind::Image,
        "image/png",
        "p.png",
        MemoryReader::new(vec![0; 11]),
    );
    let input = |text: &str| TurnInput::new(text).conversation("c");
    let first = input("Look.").media(large.build().unwrap());
    assert!(runner.run(first).await.is_answered());
    assert!(runner.run(input("Never mind.")).await.is_answered());
    for body in script.bodies() {
        let sent = body.to_string();
        assert!(sent.contains("cannot be shown: it is too large"), "{sent}");
        assert!(!sent.contains("base64,"), "{sent}");
    }
}

#[tokio::test]
async fn media_results_follow_in_a_user_message() {
    let shot = Tool::dynamic("shot", json!({ "type": "object" }))
        .description("Takes a picture.")
        .handler(|_: Value, _: ToolContext| async {
            Media::tool_generated(
                MediaKind::Image,
                "image/png",
                "shot.png",
                MemoryReader::new("abc"),
            )
            .build()
            .unwrap()
        })
        .build()
        .unwrap();
    let script = Script::new([
        calls([("shot", json!({})), ("shot", json!({ "n": 2 }))]),
        says("I see."),
    ]);
    let runner = turnwright_core::runner(script.model())
        .tool(shot)
        .build()
        .unwrap();
    let outcome = runner.run("Look.").await;
    assert_eq!(outcome.text, "I see.");
    let ids = ["call_0_shot", "call_1_shot"];
    assert_eq!(outcome.tool_calls().count(), 2);
    let values = script.values();
    let [_, _, assistant, one, two, shown] = values[1]["messages"].as_array().unwrap().as_slice()
    else {
        panic!("{}", values[1])
    };
    assert_eq!(assistant["tool_calls"].as_array().unwrap().len(), 2);
    for (expected, id) in [(one, ids[0]), (two, ids[1])] {
        assert_eq!(expected["role"], "tool");
        let text = expected["content"]
            .as_str()
            .expect("tool messages contain only text");
        let expected_text = format!("The result of the call \"{id}\" is in the next user message.");
        assert_eq!(text, expected_text);
    }
    assert_eq!(shown["role"], "user");
    let parts = shown["content"].as_array().unwrap();
    let kinds: Vec<&str> = parts
        .iter()
        .map(|item| item["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["text", "text", "image_url", "text", "text", "image_url"]
    );
    for (at, id) in [(0, ids[0]), (3, ids[1])] {
        let marker = parts[at]["text"].as_str().unwrap();
        let expected_text = format!(
            "(Note from the application, not from the user.) Result of the call \"{id}\" to `shot`:"
        );
        assert_eq!(marker, expected_text);
    }
}

#[tokio::test]
async fn media_part_overrides_the_default_form() {
    let script = Script::new([says("I see.")]);
    let model = script.builder().media_part(|media: &Media, data: &str| {
        (media.kind() == MediaKind::Document)
            .then(|| json!({ "type": "document_url", "document_url": data }))
    });
    let runner = turnwright_core::runner(model.build().unwrap())
        .build()
        .unwrap();
    let input = TurnInput::new("Look.")
        .media(media(MediaKind::Document, "application/pdf", "a.pdf"))
        .media(media(MediaKind::Image, "image/png", "a.png"));
    runner.run(input).await.into_answer().unwrap();
    let values = script.values();
    let parts = values[0]["messages"][1]["content"].as_array().unwrap();
    assert_eq!(
        parts[2],
        json!({ "type": "document_url", "document_url": "YWJj" })
    );
    assert_eq!(parts[4]["type"], "image_url");
}

#[tokio::test]
async fn media_with_lost_bytes_is_described() {
    let policies = [MediaPolicy::Error, MediaPolicy::Describe, MediaPolicy::Drop];
    for policy in policies {
        let script = Script::new([says("I see."), says("Still here.")]);
        let model = script.builder().unsupported_media(policy).build().unwrap();
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&warnings);
        let runner = turnwright_core::runner(model)
            .observer(move |event: &Event| {
                if let EventKind::Warning { message, .. } = &event.kind {
                    heard.lock().unwrap().push(message.clone());
                }
            })
            .build()
            .unwrap();
        let gone = Media::user_attachment(MediaKind::Image, "image/png", "cat.png", Gone)
            .derived("caption", "A cat.", TrustTier::ThirdPartyPrivate)
            .build()
            .unwrap();
        let here = media(MediaKind::Image, "image/png", "dog.png");
        let input = TurnInput::new("Look.").media(gone).media(here);
        let outcome = runner.run(input.conversation("chat")).await;
        assert_eq!(outcome.text, "I see.", "{policy:?}: {outcome:?}");
        let content = script.values()[0]["messages"][1]["content"].clone();
        let parts = content.as_array().unwrap();
        let text = |at: usize| parts[at]["text"].as_str().unwrap();
        assert!(
            text(1).contains("its bytes are no longer available") && text(1).contains("cat.png"),
            "{content}"
        );
        assert!(text(2).contains("A cat."), "{content}");
        assert!(text(3).contains("follows"), "{content}");
        assert_eq!(parts[4]["type"], "image_url");
        assert_eq!(
            parts.len(),
            5,
            "there is no introduction for the missing media"
        );
        let warned = warnings.lock().unwrap().clone();
        assert!(
            warned[0].contains("cat.png") && warned[0].contains("burnt"),
            "{warned:?}"
        );

        let input = TurnInput::new("And now?").conversation("chat");
        assert_eq!(runner.run(input).await.text, "Still here.");
    }
}

/// A reader whose bytes are lost.
#[derive(Debug)]
struct Gone;

#[async_trait]
impl MediaReader for Gone {
    async fn open(&self) -> std::io::Result<ByteStream> {
        Err(std::io::Error::other("burnt"))
    }
}
