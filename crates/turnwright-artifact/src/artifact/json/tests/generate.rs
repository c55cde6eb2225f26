//! Random documents and paths.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A document with few names and values, so that paths often match.
pub(super) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..4i64).prop_map(Value::from),
        Just(json!(0.5)),
        prop_oneof![Just(""), Just("a"), Just("b"), Just("ab\nz"), Just("é☺")]
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let name = prop_oneof![
            Just("a"),
            Just("b"),
            Just("c"),
            Just("x y"),
            Just("it's\t\\")
        ];
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((name, inner), 0..5).prop_map(|members| {
                let members = members.into_iter();
                let named = members.map(|(name, value)| (name.to_owned(), value));
                Value::Object(named.collect::<Map<_, _>>())
            }),
        ]
    })
}

/// Any path. Its filters refer to `$` only if `root` is set.
pub(super) fn path(root: bool) -> impl Strategy<Value = String> {
    vec(segment(root), 0..4).prop_map(|segments| format!("${}", segments.concat()))
}

fn segment(root: bool) -> impl Strategy<Value = String> {
    let bracketed = move || {
        vec(selector(root), 1..4).prop_map(|selectors| format!("[{}]", selectors.join(",")))
    };
    prop_oneof![
        4 => bracketed(),
        1 => bracketed().prop_map(|text| format!("..{text}")),
        2 => Just(".a".to_owned()),
        1 => Just(".*".to_owned()),
        1 => Just("..b".to_owned()),
        1 => Just("..*".to_owned()),
        3 => Just("[*]".to_owned()),
    ]
}

fn selector(root: bool) -> impl Strategy<Value = String> {
    let bound = || {
        prop_oneof![
            Just(String::new()),
            (-6..7i64).prop_map(|number| number.to_string())
        ]
    };
    let step = prop_oneof![
        Just(String::new()),
        (-3..4i64).prop_map(|text| format!(":{text}")),
    ];
    prop_oneof![
        Just("'a'".to_owned()),
        Just("\"x y\"".to_owned()),
        Just("'it\\'s\\t\\\\'".to_owned()),
        Just("*".to_owned()),
        (-5..6i64).prop_map(|number| number.to_string()),
        (bound(), bound(), step).prop_map(|(start, end, step)| format!("{start}:{end}{step}")),
        condition(root).prop_map(|text| format!("?{text}")),
    ]
}

pub(super) fn condition(root: bool) -> impl Strategy<Value = String> {
    const PLAIN: &[&str] = &[
        "@.a",
        "@",
        "@.a==1",
        "@>0",
        "@<='a'",
        "@.a==@.b",
        "@!=@.c",
        "@.*",
        "@..a",
        "count(@.*)>1",
        "length(@)==2",
        "match(@,'a.*')",
        "search(@.b,'[ab]')",
        "value(@..a)==1",
        "@[?@==1]",
        "@['x y'] < 2",
        "null==@[0]",
        "value(@[-1:])==true",
    ];
    const ROOT: &[&str] = &["$[0].a==@.a", "count($[*])>2", "$..b", "@==value($[-1:])"];
    let some = if root {
        [PLAIN, ROOT].concat()
    } else {
        PLAIN.to_vec()
    };
    let basic = proptest::sample::select(some).prop_map(str::to_owned);
    basic.prop_recursive(3, 6, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} && {b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}||{b}")),
            inner.prop_map(|text| format!("!({text})")),
        ]
    })
}
