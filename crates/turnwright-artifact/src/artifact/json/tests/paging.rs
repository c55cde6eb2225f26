use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{JsonPath, SpooledJsonArtifact};
use super::{generate, items, noted, of_kind, path, wait};
use crate::artifact::{ArtifactKind, ArtifactLimits};
use crate::error::ToolError;
use crate::schema::clip;

/// Values of all sizes, under names of all sizes.
fn sized() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        4 => "[a-zé\"\n☺]{0,20}",
        1 => (0..3000usize).prop_map(|n| "é".repeat(n)),
    ];
    let name = prop_oneof![4 => "[a-c'\n]{1,3}", 1 => (0..2000usize).prop_map(|n| "k\\".repeat(n))];
    prop_oneof![
        text.clone().prop_map(Value::from),
        vec((name, text), 0..6).prop_map(|members| {
            let members = members
                .into_iter()
                .map(|(name, text)| (name, Value::from(text)));
            Value::Object(members.collect())
        }),
        (0..200usize).prop_map(|n| json!(vec![n; n])),
    ]
}

fn artifact(records: &[Value], lines: bool, limit: usize) -> SpooledJsonArtifact {
    let (text, kind) = if lines {
        let lines: Vec<String> = records.iter().map(Value::to_string).collect();
        (lines.join("\n"), ArtifactKind::JSON_LINES)
    } else {
        (json!(records).to_string(), ArtifactKind::JSON)
    };
    let artifact = of_kind(text, kind);
    SpooledJsonArtifact::new(
        artifact
            .0
            .with_limits(ArtifactLimits::default().page(limit)),
    )
}

async fn every_answer(artifact: &SpooledJsonArtifact, text: &str, condition: &str) -> Vec<String> {
    let mut answers = Vec::new();
    let tools = super::super::queries().iter();
    for tool in tools {
        let mut args = json!({ "path": text });
        match tool.name() {
            "artifact_json_filter" => args["where"] = condition.into(),
            "artifact_json_pluck" => args["fields"] = json!(["a", "x y", "[*]", "..*"]),
            "artifact_json_slice" => args["step"] = (-1).into(),
            _ => {}
        }
        let answer: Result<String, ToolError> = tool.run(artifact.0.clone(), args).await;
        answers.push(answer.unwrap_or_else(|error| error.model_text().to_owned()));
    }
    answers
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn no_answer_exceeds_the_limit(
        records in vec(sized(), 0..40),
        lines in any::<bool>(),
        limit in 1024..6000usize,
        text in generate::path(true),
        condition in generate::condition(true),
    ) {
        let artifact = artifact(&records, lines, limit);
        for answer in wait(every_answer(&artifact, &text, &condition)) {
            prop_assert!(answer.len() <= limit, "{} of {limit} bytes: {answer}", answer.len());
        }
    }

    #[test]
    fn paging_shows_every_node_once(
        records in vec(sized(), 1..40),
        lines in any::<bool>(),
        limit in 1024..6000usize,
        text in prop_oneof![Just("$[*]"), Just("$..*"), Just("$[*,*]"), Just("$[::-1]"), Just("$"), Just("$[?@.a]")],
    ) {
        let artifact = artifact(&records, lines, limit);
        let path = JsonPath::parse(text).unwrap();
        let all = json!(records);
        // Long paths are shortened, and so are values that do not fit into an answer.
        let longest = limit - 513;
        let expected: Vec<_> = path.query(&all).unwrap().into_iter().map(|node| {
            let place = clip(&node.path, longest / 4);
            let line = format!("{place}: {}", node.value);
            (place, (line.len() <= longest).then_some(line))
        }).collect();
        let mut seen: Vec<String> = Vec::new();
        let mut skip = 0;
        loop {
            let page = wait(artifact.json_get(&path, skip)).unwrap();
            let shown = items(&page);
            seen.extend(shown.iter().map(|line| (*line).to_owned()));
            let total = expected.len();
            let Some(next) = noted(&page, "continue with skip=") else {
                prop_assert!(total == 0 || seen.len() == total, "{}", page);
                break;
            };
            prop_assert_eq!(noted(&page, " of "), Some(total as u64));
            prop_assert!(next == seen.len() as u64 && next > skip);
            skip = next;
        }
        prop_assert_eq!(seen.len(), expected.len());
        for (seen, (place, line)) in seen.iter().zip(&expected) {
            match line {
                Some(line) => prop_assert_eq!(seen, line),
                None => {
                    let rest = seen.strip_prefix(&format!("{place}: ("));
                    prop_assert!(rest.is_some_and(|rest| rest.contains(", shortened) ")), "{}", seen);
                }
            }
        }
    }

    #[test]
    fn paging_shows_every_row_and_every_key_once(
        records in vec(sized(), 1..40),
        lines in any::<bool>(),
        limit in 1024..6000usize,
    ) {
        let artifact = artifact(&records, lines, limit);
        let (mut rows, mut skip) = (0, 0);
        loop {
            let page = wait(artifact.json_pluck(&path("$"), vec!["a".into(), "[*]".into()], skip)).unwrap();
            rows += items(&page).len();
            let Some(next) = noted(&page, "continue with skip=") else { break };
            prop_assert!(next > skip);
            skip = next;
        }
        prop_assert_eq!(rows, records.len());
        let (mut keys, mut skip) = (Vec::new(), 0);
        loop {
            let page = wait(artifact.json_keys(&JsonPath::parse("$[*]").unwrap(), skip)).unwrap();
            keys.extend(items(&page).into_iter().map(|line| line.rsplit_once(": ").unwrap().0.to_owned()));
            let Some(next) = noted(&page, "continue with skip=") else { break };
            prop_assert!(next == keys.len() as u64 && next > skip);
            skip = next;
        }
        let mut expected: Vec<&String> = Vec::new();
        for name in records.iter().filter_map(Value::as_object).flat_map(|record| record.keys()) {
            if !expected.contains(&name) {
                expected.push(name);
            }
        }
        let shown = |name: &String| clip(&Value::from(name.as_str()).to_string(), (limit - 513) / 2);
        let expected: Vec<String> = expected.into_iter().map(shown).collect();
        prop_assert_eq!(keys, expected);
    }
}
