//! Typed answers of Chat Completions.

use serde_json::{Value, json};

use crate::script::{Script, says};

#[tokio::test]
async fn typed_answer_uses_response_format_and_is_validated() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct City {
        /// Its name.
        name: String,
        people: u32,
    }
    let script = Script::new([
        says(r#"{"name": "Bern"}"#),
        says(r#"{"name": "Bern", "people": 134000}"#),
    ]);
    let runner = turnwright_core::runner(script.model()).build().unwrap();
    let city = runner.ask::<City>("Which city?").await.unwrap();
    assert_eq!((city.name.as_str(), city.people), ("Bern", 134_000));
    let values = script.values();
    let format = &values[0]["response_format"];
    assert_eq!(format["type"], "json_schema");
    assert_eq!(format["json_schema"]["name"], "City");
    assert_eq!(
        format["json_schema"]["schema"]["required"],
        json!(["name", "people"])
    );
    assert_eq!(values[1]["response_format"], *format);
    let expected = values[1]["messages"].as_array().unwrap().last().unwrap();
    assert!(
        expected["content"].as_str().unwrap().contains("/people"),
        "{expected}"
    );
}

#[tokio::test]
async fn response_format_of_the_options_replaces_that_of_a_typed_answer() {
    use turnwright_models::chat_completions::Options;

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Yes {
        yes: bool,
    }
    let own = json!({ "type": "json_object" });
    for (option, expected) in [(own.clone(), Some(&own)), (Value::Null, None)] {
        let script = Script::new([says(r#"{"yes": true}"#)]);
        let options = Options::new().response_format(option);
        let model = script.builder().options(options).build().unwrap();
        let runner = turnwright_core::runner(model).build().unwrap();
        let answer = runner.ask::<Yes>("Is it?").await;
        assert!(answer.unwrap().yes);
        assert_eq!(script.values()[0].get("response_format"), expected);
        // As text: of two fields with one name, a parser shows only the last.
        let times = script.bodies()[0].matches("\"response_format\"").count();
        assert_eq!(times, usize::from(expected.is_some()));
    }
}

#[tokio::test]
async fn typed_answer_schema_can_be_in_the_prompt() {
    use turnwright_models::TypedAnswers;

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Yes {
        yes: bool,
    }
    for (how, format) in [
        (TypedAnswers::JsonObject, json!({ "type": "json_object" })),
        (TypedAnswers::Prompt, Value::Null),
    ] {
        let script = Script::new([says(r#"{"yes": true}"#)]);
        let model = script.builder().typed_answers(how).build().unwrap();
        let runner = turnwright_core::runner(model).instructions("Be exact.");
        let runner = runner.build().unwrap();
        assert!(runner.ask::<Yes>("Is it?").await.unwrap().yes);
        let sent = &script.values()[0];
        assert_eq!(sent["response_format"], format);
        let system = sent["messages"][0]["content"].as_str().unwrap();
        assert!(
            system.contains("Be exact.")
                && system.contains("Your final answer must be JSON only, without any other text. It must match this JSON Schema:\n{")
                && system.contains("\"yes\""),
            "{system}"
        );
    }
}
