//! A program that uses reqwest with its default TLS, and serde_json with all digits of numbers, beside Turnwright.

use serde_json::{json, Value};
use turnwright::models::fetch::Fetcher;
use turnwright::models::http::Client;
use turnwright::schema::Schema;

fn main() {
    reqwest::Client::builder().no_proxy().build().expect("reqwest's default TLS");
    Client::builder().no_proxy().build().expect("Turnwright's TLS");
    Fetcher::builder().build().expect("Turnwright's TLS");
    numbers();
    println!("both");
}

fn numbers() {
    let schema = Schema::from_document(json!({
        "type": "object", "properties": { "n": { "type": "number", "multipleOf": 0.25, "maximum": 2.5 }, "any": {} },
    }));
    let schema = schema.expect("a schema");
    let text = r#"{"n": 1.50}"#;
    let value: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(value["n"].to_string(), "1.50", "the feature is enabled");
    assert_eq!(schema.check(text).expect("a number").value(), &json!({ "n": 1.5 }));
    assert!(schema.check(value).is_ok());
    for wrong in ["1.3", "2.75", "1e400"] {
        assert!(schema.check(format!(r#"{{"n": {wrong}}}"#)).is_err(), "{wrong}");
    }
    // A fraction is not a level, and an object is not a number.
    let deep = format!(r#"{{"any": {}1.5{}}}"#, "[".repeat(127), "]".repeat(127));
    assert!(schema.check(deep).is_ok());
    let error = schema.check(r#"{"any": {"$serde_json::private::Number": "1.5"}}"#);
    let error = error.expect_err("a reserved key").to_string();
    assert!(error.contains("$serde_json::private::"), "{error}");
}
