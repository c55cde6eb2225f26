use opentelemetry_semantic_conventions::attribute as agreed;
use serde_json::{Value, json};

use super::{METRICS, content, names};
use crate::error::{Error, ErrorCode};
use crate::record::Message;
use crate::tool::ToolOutput;

/// The package marks all names for generative AI as deprecated, because they moved to another repository. Those that are really
/// obsolete are listed below.
#[expect(deprecated, reason = "the names moved and did not change")]
const OURS: [(&str, &str); 32] = [
    (names::OPERATION, agreed::GEN_AI_OPERATION_NAME),
    (names::PROVIDER, agreed::GEN_AI_PROVIDER_NAME),
    (names::MODEL, agreed::GEN_AI_REQUEST_MODEL),
    (names::OUTPUT_TYPE, agreed::GEN_AI_OUTPUT_TYPE),
    (names::STREAM, agreed::GEN_AI_REQUEST_STREAM),
    (names::MAX_TOKENS, agreed::GEN_AI_REQUEST_MAX_TOKENS),
    (names::SEED, agreed::GEN_AI_REQUEST_SEED),
    (names::TEMPERATURE, agreed::GEN_AI_REQUEST_TEMPERATURE),
    (names::TOP_P, agreed::GEN_AI_REQUEST_TOP_P),
    (
        names::PRESENCE_PENALTY,
        agreed::GEN_AI_REQUEST_PRESENCE_PENALTY,
    ),
    (
        names::FREQUENCY_PENALTY,
        agreed::GEN_AI_REQUEST_FREQUENCY_PENALTY,
    ),
    (names::STOP_SEQUENCES, agreed::GEN_AI_REQUEST_STOP_SEQUENCES),
    (names::RESPONSE_ID, agreed::GEN_AI_RESPONSE_ID),
    (names::RESPONSE_MODEL, agreed::GEN_AI_RESPONSE_MODEL),
    (
        names::FINISH_REASONS,
        agreed::GEN_AI_RESPONSE_FINISH_REASONS,
    ),
    (
        names::TIME_TO_FIRST_CHUNK,
        agreed::GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK,
    ),
    (names::CONVERSATION, agreed::GEN_AI_CONVERSATION_ID),
    (names::AGENT, agreed::GEN_AI_AGENT_NAME),
    (names::TOKEN_TYPE, agreed::GEN_AI_TOKEN_TYPE),
    (names::INPUT_TOKENS, agreed::GEN_AI_USAGE_INPUT_TOKENS),
    (
        names::CACHED_INPUT_TOKENS,
        agreed::GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
    ),
    (
        names::CACHE_WRITE_TOKENS,
        agreed::GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS,
    ),
    (names::OUTPUT_TOKENS, agreed::GEN_AI_USAGE_OUTPUT_TOKENS),
    (
        names::REASONING_TOKENS,
        agreed::GEN_AI_USAGE_REASONING_OUTPUT_TOKENS,
    ),
    (names::INPUT_MESSAGES, agreed::GEN_AI_INPUT_MESSAGES),
    (names::OUTPUT_MESSAGES, agreed::GEN_AI_OUTPUT_MESSAGES),
    (names::TOOL, agreed::GEN_AI_TOOL_NAME),
    (names::TOOL_TYPE, agreed::GEN_AI_TOOL_TYPE),
    (names::TOOL_DESCRIPTION, agreed::GEN_AI_TOOL_DESCRIPTION),
    (names::TOOL_CALL, agreed::GEN_AI_TOOL_CALL_ID),
    (names::TOOL_ARGUMENTS, agreed::GEN_AI_TOOL_CALL_ARGUMENTS),
    (names::TOOL_RESULT, agreed::GEN_AI_TOOL_CALL_RESULT),
];

const GENERAL: [(&str, &str); 3] = [
    (names::ERROR_TYPE, agreed::ERROR_TYPE),
    (names::SERVER, agreed::SERVER_ADDRESS),
    (names::PORT, agreed::SERVER_PORT),
];

/// Replaced or removed names.
#[expect(deprecated, reason = "the test checks that they are not used")]
const GIVEN_UP: [&str; 10] = [
    agreed::GEN_AI_SYSTEM,
    agreed::GEN_AI_PROMPT,
    agreed::GEN_AI_COMPLETION,
    agreed::GEN_AI_USAGE_PROMPT_TOKENS,
    agreed::GEN_AI_USAGE_COMPLETION_TOKENS,
    agreed::GEN_AI_OPENAI_REQUEST_RESPONSE_FORMAT,
    agreed::GEN_AI_OPENAI_REQUEST_SEED,
    agreed::GEN_AI_OPENAI_REQUEST_SERVICE_TIER,
    agreed::GEN_AI_OPENAI_RESPONSE_SERVICE_TIER,
    agreed::GEN_AI_OPENAI_RESPONSE_SYSTEM_FINGERPRINT,
];

#[test]
fn names_for_generative_ai_follow_the_conventions() {
    for (ours, theirs) in OURS {
        assert_eq!(ours, theirs);
    }
    let gen_ai = names::ALL.iter().filter(|name| name.starts_with("gen_ai."));
    for name in gen_ai {
        assert!(
            OURS.iter().any(|(ours, _)| ours == name),
            "{name} is unchecked"
        );
        assert!(!GIVEN_UP.contains(name), "{name} is obsolete");
    }
    for (ours, theirs) in GENERAL {
        assert_eq!(ours, theirs);
    }
}

#[test]
fn every_other_name_is_ours_or_belongs_to_the_bridge() {
    let known = ["gen_ai.", "turnwright.", "otel."];
    let attributes = names::ALL.iter().filter(|name| metric_of(name).is_none());
    let is_general = |name: &&str| GENERAL.iter().any(|(general, _)| general == name);
    for name in attributes.filter(|name| !is_general(name)) {
        assert!(known.iter().any(|start| name.starts_with(start)), "{name}");
    }
}

/// Returns the instrument and the name of a metric.
fn metric_of(name: &'static str) -> Option<(&'static str, &'static str)> {
    let (instrument, name) = name.split_once('.')?;
    matches!(instrument, "histogram" | "monotonic_counter").then_some((instrument, name))
}

#[test]
fn every_metric_is_defined_once() {
    let emitted: Vec<_> = names::ALL
        .iter()
        .filter_map(|name| metric_of(name))
        .collect();
    let defined = METRICS.iter().map(|metric| {
        let instrument = if metric.boundaries.is_empty() {
            "monotonic_counter"
        } else {
            "histogram"
        };
        (instrument, metric.name)
    });
    assert_eq!(emitted, defined.collect::<Vec<_>>());
    for metric in METRICS {
        assert!(metric.boundaries.is_sorted(), "{}", metric.name);
    }
}

const MOST: usize = 8 * 1024;
/// Space for a note and the frame of a message in addition to the content.
const NOTE: usize = 256;

#[test]
fn a_long_text_is_shortened_at_a_character_boundary_with_a_note() {
    assert_eq!(content::text("short"), "short");
    let full = "x".repeat(MOST);
    assert_eq!(content::text(&full), full);
    // Three bytes each: the limit falls inside a character.
    let long = "€".repeat(10_000);
    let cut = content::text(&long);
    assert!(cut.starts_with("€€€") && cut.len() < MOST + NOTE);
    let held = MOST / 3 * 3;
    let note = format!("… ({} more bytes omitted)", long.len() - held);
    assert!(cut.ends_with(&note), "{}", &cut[cut.len() - 60..]);
}

#[test]
fn long_arguments_are_shortened() {
    assert_eq!(
        content::arguments(&json!({ "city": "Paris" })),
        r#"{"city":"Paris"}"#
    );
    for shift in 0..4 {
        let args = json!({ "x".repeat(shift): "😀".repeat(10_000) });
        let full = args.to_string();
        let cut = content::arguments(&args);
        let (held, note) = cut.split_once("… (").unwrap();
        assert!(full.starts_with(held) && held.len() <= MOST && held.len() > MOST - 4);
        let omitted = full.len() - held.len();
        assert_eq!(note, format!("{omitted} more bytes omitted)"));
    }
}

#[test]
fn results_that_are_not_text_show_only_their_form() {
    let shown = |output: ToolOutput| content::result(&Ok(output)).into_owned();
    assert_eq!(shown(ToolOutput::text("8 degrees")), "8 degrees");
    assert_eq!(shown(ToolOutput::bytes(vec![0; 12])), "(12 bytes)");
    let failed = Error::new(ErrorCode::TOOL_DOWNSTREAM_ERROR, "password is hunter2");
    let failed = failed.with_model_text("There is no such user.");
    assert_eq!(content::result(&Err(failed)), "There is no such user.");
}

fn shown(texts: &[String]) -> (String, Vec<Value>) {
    let messages: Vec<_> = texts
        .iter()
        .map(|text| Message::user(text.as_str()).build().unwrap())
        .collect();
    let json = content::messages(messages.iter().map(AsRef::as_ref));
    let read = serde_json::from_str(&json).unwrap();
    (json, read)
}

#[test]
fn messages_are_recorded_in_order_and_in_the_standard_format() {
    let (_, read) = shown(&["one".to_owned(), "two".to_owned()]);
    let text =
        |text: &str| json!({ "role": "user", "parts": [{ "type": "text", "content": text }] });
    assert_eq!(read, [text("one"), text("two")]);
}

#[test]
fn of_many_messages_the_latest_are_recorded_and_the_others_counted() {
    let texts: Vec<String> = (0..500).map(|n| format!("message {n}")).collect();
    let (json, read) = shown(&texts);
    assert!(json.len() < MOST + NOTE, "{}", json.len());
    assert_eq!(read.last().unwrap()["parts"][0]["content"], "message 499");
    let omitted = 500 - (read.len() - 1);
    assert_eq!(
        read[0]["parts"][0],
        json!({ "type": "omitted", "content": format!("{omitted} earlier messages") })
    );
    assert_eq!(read[1]["parts"][0]["content"], format!("message {omitted}"));
}

#[test]
fn a_message_that_is_too_long_is_shortened_and_stays_valid_json() {
    for text in ["\u{1}", "\"", "€", "a\n"] {
        let (json, read) = shown(&["early".to_owned(), text.repeat(20_000)]);
        assert!(json.len() < MOST + NOTE, "{}", json.len());
        let content = read[1]["parts"][0]["content"].as_str().unwrap();
        assert!(content.starts_with(text) && content.ends_with("more bytes omitted)"));
        assert_eq!(read[0]["parts"][0]["type"], "omitted");
    }
}
