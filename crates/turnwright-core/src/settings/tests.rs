use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::error::ErrorCode;

/// Settings in which each field is set or not.
fn any_settings() -> impl Strategy<Value = ModelSettings> {
    let numbers = (
        proptest::option::of(0.0..2.0),
        proptest::option::of(0.0..1.0),
        proptest::option::of(1_u64..9),
        proptest::option::of(0_i64..9),
    );
    let penalties = (
        proptest::option::of(-2.0..2.0),
        proptest::option::of(-2.0..2.0),
    );
    let effort = prop_oneof![Just(ReasoningEffort::Low), Just(ReasoningEffort::High)];
    let choice = prop_oneof![Just(ToolChoice::Auto), Just(ToolChoice::Tool("t".into()))];
    let words = (
        proptest::option::of(proptest::collection::vec("[a-c]{1,2}", 0..2)),
        proptest::option::of(effort),
        proptest::option::of(any::<bool>()),
        proptest::option::of(choice),
    );
    let keys = proptest::collection::vec(("[pq]", "[a-c]", 0..9), 0..4);
    (numbers, penalties, words, keys).prop_map(|(numbers, penalties, words, keys)| {
        let mut settings = ModelSettings::new();
        settings.temperature = numbers.0;
        settings.top_p = numbers.1;
        settings.max_output_tokens = numbers.2;
        settings.seed = numbers.3;
        settings.presence_penalty = penalties.0;
        settings.frequency_penalty = penalties.1;
        settings.stop_sequences = words.0;
        settings.reasoning_effort = words.1;
        settings.parallel_tool_calls = words.2;
        settings.tool_choice = words.3;
        let add = |settings: ModelSettings, (protocol, name, value): (String, String, i32)| {
            settings.provider(protocol, json!({ name: value }))
        };
        keys.into_iter().fold(settings, add)
    })
}

/// Every setting that is set, by its path.
fn paths(settings: &ModelSettings) -> Vec<(String, Value)> {
    let Value::Object(fields) = serde_json::to_value(settings).unwrap() else {
        panic!("settings are an object");
    };
    let mut paths = Vec::new();
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("provider", Value::Object(protocols)) => {
                for (protocol, options) in protocols {
                    for (key, value) in options.as_object().unwrap() {
                        paths.push((format!("{protocol}.{key}"), value.clone()));
                    }
                }
            }
            (_, value) => paths.push((name, value)),
        }
    }
    paths
}

proptest! {
    /// The precedence, field by field: the highest level that sets a field decides.
    #[test]
    fn the_highest_level_that_sets_a_field_decides(levels in proptest::collection::vec(any_settings(), 1..4)) {
        let merged = levels.iter().cloned().reduce(|upper, lower| upper.over(&lower)).unwrap();
        let expected = |path: &str| {
            levels.iter().find_map(|level| paths(level).into_iter().find(|(one, _)| one == path))
        };
        for level in &levels {
            for (path, _) in paths(level) {
                let found = paths(&merged).into_iter().find(|(one, _)| *one == path);
                prop_assert_eq!(found, expected(&path));
            }
        }
        for (path, _) in paths(&merged) {
            prop_assert!(expected(&path).is_some(), "{path} is set at no level");
        }
    }

    #[test]
    fn stored_settings_are_read_as_they_were(settings in any_settings()) {
        let stored = serde_json::to_string(&settings).unwrap();
        prop_assert_eq!(serde_json::from_str::<ModelSettings>(&stored).unwrap(), settings);
    }
}

#[test]
fn all_invalid_values_are_reported_at_once() {
    let settings = ModelSettings::new()
        .temperature(2.5)
        .top_p(f64::NAN)
        .max_output_tokens(0)
        .stop_sequences([""])
        .presence_penalty(-3.0)
        .tool_choice(ToolChoice::Tool(String::new()))
        .provider("p", 5);
    let error = settings.validate().unwrap_err();
    assert_eq!(error.code(), ErrorCode::INVALID_MODEL_CONFIG);
    for expected in [
        "settings.temperature: must be from 0 to 2 (got 2.5)",
        "settings.top_p: must be from 0 to 1 (got NaN)",
        "settings.max_output_tokens: must be at least 1",
        "settings.stop_sequences",
        "settings.presence_penalty",
        "settings.tool_choice",
        "the options of \"p\" must be a JSON object",
    ] {
        assert!(error.message().contains(expected), "{expected}: {error}");
    }
    assert!(ModelSettings::new().temperature(0.0).validate().is_ok());
}

#[test]
fn provider_options_are_merged_by_key_and_the_last_value_wins() {
    let settings = ModelSettings::new()
        .provider("p", json!({ "a": 1, "b": 1 }))
        .provider("p", json!({ "b": 2 }))
        .provider("q", json!({ "c": 3 }));
    let of = |protocol| {
        settings
            .provider_options(protocol)
            .cloned()
            .map(Value::from)
    };
    assert_eq!(of("p"), Some(json!({ "a": 1, "b": 2 })));
    assert_eq!((of("q"), of("r")), (Some(json!({ "c": 3 })), None));
    let shown = format!(
        "{:?}",
        ModelSettings::new().provider("p", json!({ "key": "hunter2" }))
    );
    assert!(
        shown.contains("key") && !shown.contains("hunter2"),
        "{shown}"
    );
}

#[test]
fn the_instructions_of_a_turn_come_after_those_of_its_runner() {
    let of = |text: &str| {
        let mut settings = TurnSettings::default();
        settings.instruct(text.to_owned());
        settings
    };
    let merged = |turn: &str, runner: &str| of(turn).under_runner(&of(runner)).instructions;
    assert_eq!(merged("B", "A").as_deref(), Some("A\n\nB"));
    assert_eq!(merged("", "A").as_deref(), Some("A"));
    assert_eq!(merged("B", " \n").as_deref(), Some("B"));
    assert_eq!(merged("", ""), None);
    // A value that the same turn set before is replaced.
    assert_eq!(of("C").over(&of("B")).instructions.as_deref(), Some("C"));
}

#[test]
fn limits_of_a_turn_take_precedence_one_by_one() {
    let runner = Budget::new().tokens(10).time(Duration::from_secs(1));
    let turn = Budget::new().tokens(99).tool_calls(3);
    let expected = Budget::new()
        .tokens(99)
        .tool_calls(3)
        .time(Duration::from_secs(1));
    assert_eq!(turn.over(&runner), expected);
    assert!(Budget::new().is_unlimited() && !expected.is_unlimited());
}
