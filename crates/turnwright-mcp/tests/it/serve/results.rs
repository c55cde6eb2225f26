//! Large results and media.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rmcp::model::{ContentBlock, ReadResourceRequestParams, ResourceContents};
use serde_json::{Value, json};
use turnwright_core::media::MediaKind;
use turnwright_core::spool::MemoryReader;
use turnwright_core::{Media, Tool, ToolOutput};
use turnwright_mcp::McpService;
use turnwright_mcp::serve::ServeLimits;

use super::person::{Connected, LIFECYCLES, Lifecycle, Person, text_of};

fn returns(name: &str, content: Vec<u8>) -> Tool {
    Tool::dynamic(name, json!({ "type": "object" }))
        .description("Returns much.")
        .handler_with(content, async |content, _: Value, _| {
            ToolOutput::bytes(Vec::clone(&content))
        })
        .build()
        .unwrap()
}

/// Reads a resource to its end and returns its bytes and the number of pieces.
async fn read_all(connected: &Connected, uri: &str) -> (Vec<u8>, usize) {
    let (mut all, mut pieces, mut next) = (Vec::new(), 0, Some(uri.to_owned()));
    while let Some(uri) = next {
        let read = ReadResourceRequestParams::new(uri);
        let read = connected.client.read_resource(read).await.unwrap();
        let [contents] = read.contents.as_slice() else {
            panic!("{read:?}")
        };
        let meta = match contents {
            ResourceContents::TextResourceContents { text, meta, .. } => {
                all.extend_from_slice(text.as_bytes());
                meta
            }
            ResourceContents::BlobResourceContents { blob, meta, .. } => {
                all.extend(BASE64_STANDARD.decode(blob).unwrap());
                meta
            }
            other => panic!("{other:?}"),
        };
        let meta = &meta.as_ref().unwrap().0;
        next = meta
            .get("turnwright/next")
            .map(|uri| uri.as_str().unwrap().to_owned());
        pieces += 1;
    }
    (all, pieces)
}

#[tokio::test]
async fn a_large_result_is_a_link_that_is_read_in_pieces() {
    let text: String = (0..60_000).map(|n| format!("Zeile {n} ü\n")).collect();
    let binary: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
    let limits = ServeLimits {
        read_bytes: 100_001,
        ..ServeLimits::default()
    };
    for lifecycle in LIFECYCLES {
        for content in [text.clone().into_bytes(), binary.clone()] {
            let service = McpService::of([returns("much", content.clone())]).unwrap();
            let service = service.limits(limits.clone());
            let connected = Connected::over_streams(service, Person::absent(), lifecycle).await;
            let result = connected.call("much", json!({})).await.unwrap();
            assert!(text_of(&result).len() < 2_000);
            let link = result
                .content
                .iter()
                .find_map(|block| block.as_resource_link());
            let link = link.unwrap();
            assert_eq!(link.size, Some(content.len() as u64));
            let (read, pieces) = read_all(&connected, &link.uri).await;
            assert!(read == content, "{} of {} bytes", read.len(), content.len());
            assert!(pieces > content.len() / 100_001, "{pieces}");
            // A part of it.
            let part = format!("{}?offset=1000&length=10", link.uri);
            let part = ReadResourceRequestParams::new(part);
            let part = connected.client.read_resource(part).await.unwrap();
            let part = serde_json::to_value(&part.contents[0]).unwrap();
            let bytes = match part["text"].as_str() {
                Some(text) => text.as_bytes().to_vec(),
                None => BASE64_STANDARD
                    .decode(part["blob"].as_str().unwrap())
                    .unwrap(),
            };
            assert_eq!(bytes, content[1000..1010]);
        }
    }
}

#[tokio::test]
async fn a_small_result_is_text() {
    let service = McpService::of([returns("little", b"a few words".to_vec())]).unwrap();
    let connected = Connected::over_streams(service, Person::absent(), Lifecycle::Sessions).await;
    let result = connected.call("little", json!({})).await.unwrap();
    assert_eq!(result.content.len(), 1);
    assert_eq!(text_of(&result), "a few words");
}

#[tokio::test]
async fn a_result_that_is_too_large_says_so() {
    let limits = ServeLimits {
        result_bytes: 1_000,
        ..ServeLimits::default()
    };
    let service = McpService::of([returns("much", vec![b'x'; 5_000])]).unwrap();
    let connected = Connected::over_streams(
        service.limits(limits),
        Person::absent(),
        Lifecycle::Sessions,
    )
    .await;
    let result = connected.call("much", json!({})).await.unwrap();
    assert!(
        text_of(&result).contains("too large"),
        "{}",
        text_of(&result)
    );
    assert!(text_of(&result).len() < 2_000);
}

#[tokio::test]
async fn the_oldest_results_are_dropped() {
    let limits = ServeLimits {
        inline_bytes: 100,
        results: 2,
        ..ServeLimits::default()
    };
    let service = McpService::of([returns("much", vec![b'x'; 5_000])]).unwrap();
    let connected = Connected::over_streams(
        service.limits(limits),
        Person::absent(),
        Lifecycle::Sessions,
    )
    .await;
    let mut uris = Vec::new();
    for _ in 0..3 {
        let result = connected.call("much", json!({})).await.unwrap();
        let link = result
            .content
            .iter()
            .find_map(|block| block.as_resource_link());
        uris.push(link.unwrap().uri.clone());
    }
    let oldest = ReadResourceRequestParams::new(uris[0].clone());
    assert!(connected.client.read_resource(oldest).await.is_err());
    assert_eq!(read_all(&connected, &uris[2]).await.0.len(), 5_000);
    // They are not listed: another client must not find them.
    assert!(
        connected
            .client
            .list_all_resources()
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn bad_uris_are_errors() {
    let service = McpService::of([]).unwrap();
    let connected = Connected::over_streams(service, Person::absent(), Lifecycle::Sessions).await;
    for uri in [
        "turnwright://results/",
        "turnwright://results/00",
        "turnwright://results/00?offset=x",
        "turnwright://results/00?length=0",
        "turnwright://results/../00",
        "file:///etc/passwd",
        "",
    ] {
        let read = ReadResourceRequestParams::new(uri);
        assert!(connected.client.read_resource(read).await.is_err(), "{uri}");
    }
}

#[tokio::test]
async fn media_are_content_of_their_type() {
    let media = |kind, mime: &str, name: &str, bytes: &'static str| {
        Media::user_attachment(kind, mime, name, MemoryReader::new(bytes))
            .build()
            .unwrap()
    };
    let all = [
        media(MediaKind::Image, "image/png", "a.png", "png"),
        media(MediaKind::Audio, "audio/wav", "a.wav", "wav"),
        media(MediaKind::Document, "text/plain", "a.txt", "plain"),
        media(MediaKind::Document, "application/pdf", "a.pdf", "%PDF"),
    ];
    let shows = Tool::dynamic("shows", json!({ "type": "object" }))
        .description("Shows.")
        .handler_with(all, async |all, _: Value, _| {
            ToolOutput::media(all.iter().cloned())
        })
        .build();
    let service = McpService::of([shows.unwrap()]).unwrap();
    let connected = Connected::over_streams(service, Person::absent(), Lifecycle::Sessions).await;
    let result = connected.call("shows", json!({})).await.unwrap();
    let [
        ContentBlock::Image(image),
        ContentBlock::Audio(audio),
        ContentBlock::Resource(text),
        ContentBlock::Resource(pdf),
    ] = result.content.as_slice()
    else {
        panic!("{:?}", result.content)
    };
    assert_eq!(
        (image.data.as_str(), image.mime_type.as_str()),
        ("cG5n", "image/png")
    );
    assert_eq!(audio.mime_type, "audio/wav");
    assert_eq!(text.get_text(), "plain");
    let pdf = serde_json::to_value(pdf).unwrap();
    assert_eq!(pdf["resource"]["mimeType"], "application/pdf");
    assert_eq!(pdf["resource"]["blob"], "JVBERg==");
}

#[tokio::test]
async fn large_media_are_links() {
    let limits = ServeLimits {
        media_bytes: 1_000,
        ..ServeLimits::default()
    };
    let reader = MemoryReader::new(vec![7; 5_000]);
    let image = Media::user_attachment(MediaKind::Image, "image/png", "large.png", reader);
    let image = image.build().unwrap();
    let shows = Tool::dynamic("shows", json!({ "type": "object" }))
        .description("Shows.")
        .handler_with(image, async |image, _: Value, _| {
            ToolOutput::media([Media::clone(&image)])
        })
        .build();
    let service = McpService::of([shows.unwrap()]).unwrap().limits(limits);
    let connected = Connected::over_streams(service, Person::absent(), Lifecycle::Sessions).await;
    let result = connected.call("shows", json!({})).await.unwrap();
    let link = result
        .content
        .iter()
        .find_map(|block| block.as_resource_link());
    let link = link.unwrap();
    assert_eq!(link.mime_type.as_deref(), Some("image/png"));
    assert_eq!(read_all(&connected, &link.uri).await.0, [7; 5_000]);
}
