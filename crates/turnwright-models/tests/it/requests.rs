//! Requests that other clients sent to real servers, reproduced with this crate.
//!
//! Each recorded body is split into options, tools and records. A turn sends them, and the result is compared with
//! the recording. They must be equal, except for differences that have a name and a reason. The records are created
//! in two ways: by hand, without any state of ours, like a conversation from elsewhere; and by running the
//! conversation, so that they contain our own state.

pub(crate) mod differences;
mod play;
mod rebuild;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use differences::{DIFFERENCES, Difference, Sides};
use rebuild::Request;
use serde_json::Value;

/// How the records of a conversation were created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Records {
    /// By hand, without our own state.
    ByHand,
    /// By running turns.
    Played,
}

#[tokio::test]
async fn recorded_requests_are_reproduced_from_handmade_records() {
    compare(Records::ByHand).await;
}

#[tokio::test]
async fn recorded_requests_are_reproduced_from_turn_records() {
    compare(Records::Played).await;
}

/// Sends every recorded request and compares it.
async fn compare(records: Records) {
    let Some(folder) = crate::wire::folder() else {
        return;
    };
    let recordings = recordings(&folder.join("chat_completions"));
    assert!(
        !recordings.is_empty(),
        "there are no recordings of requests"
    );
    let differences: Vec<&Difference> = DIFFERENCES
        .iter()
        .filter(|item| records == Records::ByHand || !item.by_hand_alone)
        .collect();
    let mut needed: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut equal, mut wrong) = (0, Vec::new());
    for (name, recorded) in &recordings {
        let request = Request::read(recorded);
        let history = match records {
            Records::ByHand => request.records_by_hand(),
            Records::Played => play::play(&request).await,
        };
        let sent = play::send(&request, history).await;
        let sides = Sides {
            recorded: recorded.clone(),
            sent,
        };
        match explain(&differences, &sides) {
            Ok(names) if names.is_empty() => equal += 1,
            Ok(names) => names
                .into_iter()
                .for_each(|name| *needed.entry(name).or_default() += 1),
            Err(unexplained) => wrong.push(format!("{name}: {unexplained}")),
        }
    }
    let all = recordings.len();
    crate::say(format_args!(
        "requests, records {records:?}: {all} compared, {equal} equal as they are, {} not equal",
        wrong.len()
    ));
    for item in &differences {
        let count = needed.get(item.name).copied().unwrap_or(0);
        crate::say(format_args!("{count:>5}  {}: {}", item.name, item.why));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    if std::env::var_os("TURNWRIGHT_WIRE").is_some() {
        // Other recordings may need fewer.
        return;
    }
    for item in &differences {
        let name = item.name;
        assert!(needed.contains_key(name), "no request needs `{name}`");
    }
}

/// Returns the names of the differences without which the two sides are not equal, or an error if they are not equal
/// even with all.
pub(crate) fn explain<'d>(
    differences: &[&'d Difference],
    sides: &Sides,
) -> Result<Vec<&'d str>, String> {
    if sides.are_equal() {
        return Ok(Vec::new());
    }
    let mut all = sides.clone();
    let mut tried = Vec::new();
    for difference in differences {
        let before = all.clone();
        (difference.even_out)(&mut all);
        if all != before {
            tried.push(*difference);
        }
    }
    if !all.are_equal() {
        return Err(all.first_difference());
    }
    let is_needed = |name: &&str| {
        let mut sides = sides.clone();
        let others = tried.iter().filter(|item| item.name != *name);
        others.for_each(|item| (item.even_out)(&mut sides));
        !sides.are_equal()
    };
    Ok(tried
        .iter()
        .map(|item| item.name)
        .filter(is_needed)
        .collect())
}

/// Returns the body of every recorded request, with its file name and index.
fn recordings(folder: &Path) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for provider in entries(folder) {
        for file in entries(&provider) {
            let text = fs::read_to_string(&file).unwrap();
            let session: Vec<Value> = serde_json::from_str(&text).unwrap();
            let name = file.strip_prefix(folder).unwrap().display();
            for (index, exchange) in session.into_iter().enumerate() {
                let body = exchange["request"]["body"].clone();
                found.push((format!("{name} {index}"), body));
            }
        }
    }
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}
