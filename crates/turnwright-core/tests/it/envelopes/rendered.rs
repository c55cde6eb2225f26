//! Hostile records, rendered as a model reads them. File names, MIME types, sources, names of agents and users and derived texts are
//! content too.

use std::sync::Arc;

use serde_json::json;
use turnwright_core::artifact::{ArtifactKind, SpooledArtifact};
use turnwright_core::media::{Media, MediaKind};
use turnwright_core::record::{Message, Retrievable, ToolCall, ToolResults};
use turnwright_core::render::{Part, Renderer};
use turnwright_core::spool::MemoryReader;
use turnwright_core::trust::{ConversationSecret, TrustTier, remove_hidden};

use super::hostile::{Rng, hostile};
use super::parser::parse;
use super::{number_from, readers};

const CASES: u64 = 200;
const SEED: u64 = 0x7265_6E64;
const TIERS: [TrustTier; 3] = [
    TrustTier::ThirdPartyPublic,
    TrustTier::ThirdPartyPrivate,
    TrustTier::FirstParty,
];

/// An envelope that must be found: its tag, and its content or one of its attributes.
struct Meant {
    tag: &'static str,
    content: Option<String>,
    attribute: Option<(&'static str, String)>,
}

fn meant(trusted: bool, content: impl Into<Option<String>>) -> Meant {
    Meant {
        tag: if trusted {
            "tw-trusted"
        } else {
            "tw-untrusted"
        },
        content: content.into(),
        attribute: None,
    }
}

#[test]
fn hostile_records_are_rendered_as_intended() {
    let seed = number_from("TURNWRIGHT_SEED").unwrap_or(SEED);
    let cases = number_from("TURNWRIGHT_ENVELOPE_CASES").map_or(CASES, |cases| cases / 5);
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_time().build().unwrap();
    let mut envelopes = 0;
    for case in 0..cases {
        envelopes += runtime.block_on(judge(seed, case));
    }
    crate::say(format_args!(
        "TURNWRIGHT_SEED={seed}: {cases} prompts of hostile records, {envelopes} envelopes"
    ));
    assert!(envelopes > cases);
}

async fn judge(seed: u64, case: u64) -> u64 {
    let rng = &mut Rng::of_case(seed, case);
    let key = std::array::from_fn(|_| rng.below(256) as u8);
    let shows = rng.below(2) == 0;
    let renderer = Renderer::new(ConversationSecret::from_bytes(key))
        .accepted_media(move |_: &Media| shows)
        .naming_users(|_| true);
    let (mut prompt, mut expected) = (String::new(), Vec::new());
    for _ in 0..1 + rng.below(4) {
        let (parts, envelopes) = record(rng, &renderer, shows).await;
        expected.extend(envelopes);
        for part in parts {
            prompt.push_str(match &part {
                Part::Text(text) => text,
                _ => "(media)",
            });
            // Separate them like a protocol does: two harmless texts could form a tag together.
            prompt.push_str("\n[next]\n");
        }
    }
    let found = parse(&prompt, &key);
    let place = format!("TURNWRIGHT_SEED={seed}, case {case}: {prompt:?}");
    assert_eq!(
        found
            .iter()
            .map(|entry| entry.tag.as_str())
            .collect::<Vec<_>>(),
        expected.iter().map(|entry| entry.tag).collect::<Vec<_>>(),
        "{place}"
    );
    let mut bare = prompt.clone();
    for (found, meant) in found.iter().zip(&expected) {
        if let Some(content) = &meant.content {
            let shown = match meant.tag {
                "tw-untrusted" | "tw-agent" => remove_hidden(content),
                _ => content.as_str().into(),
            };
            assert_eq!(found.content, shown, "{place}");
        }
        if let Some((name, value)) = &meant.attribute {
            let attribute = found.attributes.iter().find(|(entry, _)| entry == name);
            assert_eq!(attribute.map(|(_, entry)| entry), Some(value), "{place}");
        }
        // Remove the intended tags once, from the front. Whatever looks like them elsewhere stays.
        let name = format!("<{}-", found.tag);
        let at = bare.find(&name).unwrap();
        let nonce = bare[at + name.len()..at + name.len() + 20].to_owned();
        bare.replace_range(at..at + name.len() + 20, "<!");
        let closing = format!("</{}-{nonce}>", found.tag);
        let at = bare.find(&closing).unwrap();
        bare.replace_range(at..at + closing.len(), "</!>");
    }
    for (reader, reading) in readers::readings(&bare, case) {
        let read = readers::tag_name(&reading);
        assert_eq!(read, None, "({reader}) {place}");
    }
    expected.len() as u64
}

/// A record, its rendering, and the intended envelopes.
async fn record(rng: &mut Rng, renderer: &Renderer, shows: bool) -> (Vec<Part>, Vec<Meant>) {
    let text = hostile(rng, &[]);
    let trusted = rng.below(2) == 0;
    let tier = *rng.pick(&TIERS);
    match rng.below(7) {
        0 => {
            let call = call(rng, ToolResults::Failure(text.clone()), trusted, true);
            let parts = renderer.tool_call(&call).await;
            (parts, vec![meant(trusted, text)])
        }
        1 => {
            let call = call(rng, ToolResults::Refusal(text), trusted, true);
            (renderer.tool_call(&call).await, Vec::new())
        }
        2 => {
            let inline = rng.below(2) == 0;
            let artifact = SpooledArtifact::in_memory(text.clone(), ArtifactKind::TEXT);
            let call = call(rng, ToolResults::Artifacts(vec![artifact]), trusted, inline);
            let parts = renderer.tool_call(&call).await;
            let content = inline.then_some(text);
            (parts, vec![meant(trusted && inline, content)])
        }
        3 => {
            let builder = match rng.below(4) {
                0 => Message::user(some(text.clone())),
                2 => {
                    // The part of it that a name can contain.
                    let name: String = hostile(rng, &[])
                        .chars()
                        .filter(|c| matches!(c, ' '..='~' | '·' | 'à'..='ÿ'))
                        .take(60)
                        .collect();
                    let name = format!("user{name}");
                    let message = Message::user(some(text.clone())).name(name.clone());
                    let envelope = Meant {
                        tag: "tw-sender",
                        content: Some(some(text)),
                        attribute: Some(("name", name)),
                    };
                    return (renderer.message(&message.build().unwrap()), vec![envelope]);
                }
                1 => Message::assistant(some(text.clone())),
                _ => {
                    let name = format!("agent {}", hostile(rng, &[]));
                    let message = Message::agent(name.clone(), some(text.clone())).build();
                    let envelope = Meant {
                        tag: "tw-agent",
                        content: Some(some(text)),
                        attribute: Some(("name", name)),
                    };
                    return (renderer.message(&message.unwrap()), vec![envelope]);
                }
            };
            (renderer.message(&builder.build().unwrap()), Vec::new())
        }
        4 => {
            let source = hostile(rng, &[]);
            let found = Retrievable::text(some(text.clone()), tier)
                .source(source.clone())
                .build()
                .unwrap();
            let envelope = Meant {
                attribute: Some(("source", source)),
                ..meant(tier == TrustTier::FirstParty, some(text))
            };
            (renderer.retrievable(&found).await, vec![envelope])
        }
        _ => {
            let media = media(rng, tier);
            let mut envelopes = vec![Meant {
                attribute: Some(("filename", media.filename().to_owned())),
                ..meant(!media.is_untrusted(), None)
            }];
            if !shows {
                envelopes.extend(
                    media
                        .descriptor()
                        .stash
                        .iter()
                        .map(|(name, derived)| Meant {
                            attribute: Some(("derived", name.clone())),
                            ..meant(
                                derived.trust_tier == TrustTier::FirstParty,
                                derived.text.to_owned(),
                            )
                        }),
                );
            }
            let call = call(rng, ToolResults::Media(vec![media]), true, true);
            (renderer.tool_call(&call).await, envelopes)
        }
    }
}

fn call(rng: &mut Rng, results: ToolResults, trusted: bool, inline: bool) -> Arc<ToolCall> {
    let tool = format!("tool {}", hostile(rng, &[]));
    ToolCall::builder(tool, json!({}))
        .results(results)
        .trusted(trusted)
        .inline(inline)
        .build()
        .unwrap()
}

fn media(rng: &mut Rng, tier: TrustTier) -> Media {
    let kinds = [MediaKind::Image, MediaKind::Audio, MediaKind::Document];
    let kind = *rng.pick(&kinds);
    let hazard = kind.hazard();
    let name = some(hostile(rng, &[]));
    // The part of it that a MIME type can contain.
    let token: String = hostile(rng, &[])
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || ".+-_".contains(*c))
        .take(60)
        .collect();
    let mime_type = format!("image/x{token}");
    let reader = MemoryReader::new("bytes");
    let mut builder = Media::labelled(kind, tier, hazard, mime_type, name, reader);
    for n in 0..rng.below(3) {
        let name = format!("{n}{}", hostile(rng, &[]));
        builder = builder.derived(name, hostile(rng, &[]), *rng.pick(&TIERS));
    }
    builder.build().unwrap()
}

/// A text that is not empty.
fn some(text: String) -> String {
    if text.is_empty() {
        "·".to_owned()
    } else {
        text
    }
}
