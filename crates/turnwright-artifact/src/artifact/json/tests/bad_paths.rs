use serde_json::{Value, json};

use super::super::JsonPath;
use super::{path, refused};
use crate::error::ErrorCode;

fn refusal(text: &str) -> String {
    refused(JsonPath::parse(text), ErrorCode::ARTIFACT_QUERY)
}

fn refusal_of_condition(text: &str) -> String {
    refused(path("$").filtered(text), ErrorCode::ARTIFACT_QUERY)
}

#[test]
fn the_error_for_an_invalid_path_has_its_position_and_valid_examples() {
    assert_eq!(
        refusal("$.items[0.name"),
        "Invalid JSONPath `$.items[0.name`: expected `]` or `,` at character 9. Valid paths: `$.items[0].name`, \
         `$.items[?@.price > 10]['first name']`."
    );
    assert!(
        refusal("$.é☺[0").contains("unexpected end at character 6"),
        "{}",
        refusal("$.é☺[0")
    );
}

#[test]
fn paths_in_the_syntax_of_other_tools_get_a_hint() {
    for (text, hint) in [
        ("", "Use `$` for the whole document"),
        ("items", "Start the path with `$`: `$.items`."),
        (".a.b", "Start the path with `$`: `$.a.b`."),
        (".[0].a", "Start the path with `$`"),
        ("a[\"b\"]", "Start the path with `$`: `$.a[\"b\"]`."),
        ("[0].a", "Start the path with `$`: `$[0].a`."),
        ("@.a", "Start the path with `$`: `$.a`."),
        ("/a/0/b~1c", "Start the path with `$`: `$['a'][0]['b/c']`."),
        (" $.a", "Remove the spaces"),
        ("$.items.0", "Write an index in brackets: `[0]`."),
        (
            "$[name]",
            "Write a name in brackets with quotes: `['name']`.",
        ),
        ("$.first-name", "`['first-name']`"),
    ] {
        let refusal = refusal(text);
        assert!(
            refusal.contains(hint) || text == ".[0].a" && refusal.contains("starts with `$`"),
            "{text}: {refusal}"
        );
        assert!(refusal.contains("Valid paths: `$."), "{text}: {refusal}");
    }
}

#[test]
fn the_error_for_an_invalid_condition_has_a_hint() {
    for (text, hint) in [
        ("@.a = 1", "Use `==` for equality."),
        ("@.a == 1 and @.b", "Use `&&` for and."),
        ("@.a == 1 or @.b", "Use `||` for or."),
        ("not @.a", "Use `!` for not"),
        ("@.a =~ 'x'", "`match(@.name"),
        ("name == 'x'", "`@.name`"),
        ("@.name == x", "Put strings in quotes"),
        ("!@.a == 1", "Put parentheses around"),
        ("@.a[*] == 1", "can match many nodes"),
        ("@.a, ?@.b", "expected a single condition"),
        ("contains(@.a, 'x')", "The available functions are"),
        ("match(@.a, 'x') == true", "already return true or false"),
        ("@.a[-1] == 1", "`value(@.a[-1:]) == 1`"),
        ("", "Invalid filter condition"),
    ] {
        let refusal = refusal_of_condition(text);
        assert!(refusal.contains(hint), "{text}: {refusal}");
        assert!(
            refusal.contains("Valid conditions: `@."),
            "{text}: {refusal}"
        );
    }
}

#[test]
fn a_condition_cannot_leave_its_brackets() {
    refusal_of_condition("@.a].secret[?@.b");
    refusal_of_condition("@.a]");
}

#[test]
fn the_error_for_a_long_path_is_short() {
    let long = format!("$.{}-", "é".repeat(2000));
    assert!(refusal(&long).len() < 1000, "{}", refusal(&long));
    assert!(refusal(&"x".repeat(100_000)).contains("a path can have at most 4096 bytes"));
}

#[test]
fn the_nesting_of_paths_is_limited() {
    for (open, close) in [
        ("(", ")"),
        ("!(", ")"),
        ("@[?", "]"),
        ("length(", ")"),
        ("count(@[?", "]) > 1"),
        ("$..[?", "]"),
    ] {
        for levels in [40, 200, 400] {
            let text = format!("$[?{}@.a{}]", open.repeat(levels), close.repeat(levels));
            let refusal = refusal(&text);
            assert!(
                refusal.contains("nested") || refusal.contains("4096 bytes"),
                "{refusal}"
            );
        }
        // Also without closing brackets.
        refusal(&format!("$[?{}", open.repeat(400)));
    }
    let deepest = format!("$[?{}@.a{}]", "(".repeat(31), ")".repeat(31));
    assert_eq!(path(&deepest).query(&json!([{ "a": 1 }])).unwrap().len(), 1);
    refusal(&format!("$[?{}@.a{}]", "(".repeat(32), ")".repeat(32)));
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

/// Runs with as little stack as the threads of a runtime have.
fn with_little_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    thread.spawn(work).unwrap().join().unwrap();
}

#[test]
fn a_path_that_multiplies_its_nodes_ends() {
    let text = format!("${}", "[*,*]".repeat(100));
    let error = path(&text).query(&nested(120)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ARTIFACT_QUERY);
    assert!(error.model_text().contains("too many steps"), "{error}");
}

#[test]
fn the_cost_of_filters_is_counted() {
    let twice = "[0,0]".repeat(40);
    for text in [
        format!("$[?@{twice}]"),
        format!("$[?count(@{twice})>0]"),
        format!("$[?count(${twice})>0]"),
    ] {
        let refusal = refused(path(&text).query(&nested(100)), ErrorCode::ARTIFACT_QUERY);
        assert!(refusal.contains("too many steps"), "{refusal}");
    }
    let large = json!({ "s": "x".repeat(4_000_000), "b": vec![1; 5_000], "a": vec![1; 5_000] });
    for text in ["$.a[?$==$]", "$.a[?$.b==$.b]", "$.a[?length($.s)>5]"] {
        let refusal = refused(path(text).query(&large), ErrorCode::ARTIFACT_QUERY);
        assert!(refusal.contains("too many steps"), "{refusal}");
    }
}

#[test]
fn the_cost_of_patterns_is_counted() {
    assert!(refusal("$[?match(@, '((x{1,90}){1,90}){1,90}')]").contains("too large"));
    let patterns = json!(vec![json!({ "a": "x", "p": "(\\w{1,50}){1,9}" }); 2_000]);
    for text in ["$[?search(@.a, @.p)]", "$[?search(value(@..a), $[0].p)]"] {
        let refusal = refused(path(text).query(&patterns), ErrorCode::ARTIFACT_QUERY);
        assert!(refusal.contains("matches a pattern"), "{refusal}");
    }
    let document = json!(["a,b", "(", "b"]);
    assert_eq!(
        path("$[?match(@, \"a,.\")]")
            .query(&document)
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        path("$[?search(@, '\\\\(')]")
            .query(&document)
            .unwrap()
            .len(),
        1
    );
    let many = json!(vec!["x"; 220_000]);
    let refusal = refused(
        path("$[?search(@, 'x')]").query(&many),
        ErrorCode::ARTIFACT_QUERY,
    );
    assert!(refusal.contains("matches a pattern"), "{refusal}");
}

#[test]
fn filters_that_refer_to_the_root_end_and_need_little_stack() {
    with_little_stack(|| {
        let text = "$..[?$..[?$..[?$..[?$..[?@.nope]]]]]";
        let refusal = refused(path(text).query(&nested(127)), ErrorCode::ARTIFACT_QUERY);
        assert!(refusal.contains("too many steps"), "{refusal}");
    });
}

#[test]
fn the_deepest_document_needs_little_stack() {
    with_little_stack(|| {
        let document = nested(128);
        let text = format!("${}", "[0]".repeat(128));
        assert_eq!(path(&text).query(&document).unwrap().len(), 1);
        assert_eq!(path("$..*").query(&document).unwrap().len(), 128);
        // Every level has one node less below it.
        assert_eq!(
            path("$..[0]..[0]").query(&document).unwrap().len(),
            128 * 127 / 2
        );
    });
}

#[test]
fn patterns_run_in_linear_time_and_invalid_ones_match_nothing() {
    let text = "a".repeat(50_000);
    let document = json!([text, "("]);
    let hostile = path("$[?match(@, '(a*)*(a*)*b')]");
    assert!(hostile.query(&document).unwrap().is_empty());
    assert!(
        path("$[?search(@, '(')]")
            .query(&document)
            .unwrap()
            .is_empty()
    );
}
