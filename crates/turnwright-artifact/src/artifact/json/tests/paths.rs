use proptest::prelude::*;
use serde_json::{Value, json};
use serde_json_path::PathElement;

use super::super::JsonPath;
use super::{costs_too_much, generate, path};

fn found(text: &str, document: &Value) -> Vec<Value> {
    let path = path(text);
    let nodes = path.query(document).unwrap();
    nodes.into_iter().map(|node| node.value.clone()).collect()
}

#[test]
fn a_negative_index_in_a_filter_is_rejected() {
    for text in ["$[?@[-1] == 2]", "$[?@ == $[ -1 ]]", "$[?@.a[?@[-2]]]"] {
        let error = JsonPath::parse(text).unwrap_err();
        assert!(error.model_text().contains("cannot be negative"), "{error}");
    }
    let document = json!([[1, 2], [2, 1], [3]]);
    assert_eq!(found("$[-1]", &document), [json!([3])]);
    assert_eq!(found("$[?value(@[-1:]) == 2]", &document), [json!([1, 2])]);
    assert_eq!(
        found("$[?@[0] != '[-1]']", &document).len(),
        3,
        "text is text"
    );
}

#[test]
fn names_use_the_escapes_of_the_standard() {
    let document = json!({ "it's \"\\\u{8}\u{b}\n/é\u{2028}": 1 });
    let path = path("$.*");
    let nodes = path.query(&document).unwrap();
    assert_eq!(nodes[0].path, "$['it\\'s \"\\\\\\b\\u000b\\n/é\u{2028}']");
    let again = JsonPath::parse(&nodes[0].path).unwrap();
    assert_eq!(again.query(&document).unwrap(), nodes);
}

#[test]
fn filtered_and_sliced_append_to_the_path() {
    let items = path("$.items");
    assert_eq!(
        items.filtered("?@.a == 1").unwrap().to_string(),
        "$.items[?@.a == 1]"
    );
    assert_eq!(
        items.sliced(Some(1), None, Some(-2)).unwrap().to_string(),
        "$.items[1::-2]"
    );
    assert_eq!(
        items.sliced(None, Some(3), None).unwrap().to_string(),
        "$.items[:3]"
    );
    let document = json!({ "items": [{ "a": 1 }, { "a": 2 }] });
    let ones = items.filtered("@.a == 1").unwrap();
    assert_eq!(ones.query(&document).unwrap()[0].path, "$['items'][0]");
}

fn judged(text: &str, document: &Value) -> Option<Vec<(String, Value)>> {
    let path = serde_json_path::JsonPath::parse(text).ok()?;
    let nodes = path.query_located(document);
    let located = nodes.into_iter().map(|node| {
        let mut at = String::from("$");
        for element in node.location().iter() {
            match element {
                PathElement::Name(name) => {
                    let name = name
                        .replace('\\', "\\\\")
                        .replace('\'', "\\'")
                        .replace('\t', "\\t");
                    at += &format!("['{name}']");
                }
                PathElement::Index(index) => at += &format!("[{index}]"),
            }
        }
        (at, node.node().clone())
    });
    Some(located.collect())
}

proptest! {

    #[test]
    fn results_match_another_implementation(document in generate::value(), text in generate::path(true)) {
        let path = JsonPath::parse(&text).unwrap();
        let nodes = path.query(&document);
        // Paths that are rejected because of their cost are not compared.
        prop_assume!(!costs_too_much(&nodes));
        let nodes = nodes.unwrap();
        let ours: Vec<_> = nodes.into_iter().map(|node| (node.path, node.value.clone())).collect();
        let theirs = judged(&text, &document);
        prop_assert!(theirs.is_some(), "{}", text);
        prop_assert_eq!(Some(ours), theirs, "{} of {}", text, document);
    }

    #[test]
    fn every_normalised_path_selects_its_node(document in generate::value(), text in generate::path(true)) {
        let path = JsonPath::parse(&text).unwrap();
        let nodes = path.query(&document);
        prop_assume!(!costs_too_much(&nodes));
        for node in nodes.unwrap() {
            let back = JsonPath::parse(&node.path).unwrap();
            prop_assert!(back.is_singular());
            prop_assert_eq!(back.query(&document).unwrap(), vec![node]);
        }
    }

    #[test]
    fn any_text_is_a_path_or_rejected_with_a_reason(text in "[$@.\\[\\]()?!*'\"a-c0-9:,&|=<>~ -]{0,40}") {
        let theirs = serde_json_path::JsonPath::parse(&text).is_ok();
        match JsonPath::parse(&text) {
            Ok(path) => {
                prop_assert!(theirs, "only we accept {}", text);
                prop_assert_eq!(path.to_string(), text);
            }
            Err(error) => {
                prop_assert!(!theirs, "only they accept {}", text);
                prop_assert!(error.model_text().contains("Valid paths:"));
            }
        }
    }
}
