//! Compares recorded requests with our reproductions of them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use turnwright_core::trust::restore;
use turnwright_models::Protocol;

use crate::wire::{Recorded, sessions};

/// A request as recorded, and as reproduced here.
#[derive(Clone, PartialEq)]
pub(super) struct Sides {
    pub(super) recorded: Value,
    pub(super) sent: Value,
}

/// A permitted difference.
pub(super) struct Difference {
    pub(super) name: &'static str,
    pub(super) why: &'static str,
    /// Does not apply if the conversation was run by this crate.
    pub(super) by_hand_alone: bool,
    /// Removes exactly this difference.
    pub(super) even_out: fn(&mut Sides),
}

/// A difference for any records.
pub(super) const fn always(
    name: &'static str,
    why: &'static str,
    even_out: fn(&mut Sides),
) -> Difference {
    Difference {
        name,
        why,
        by_hand_alone: false,
        even_out,
    }
}

/// A difference for records without our state.
pub(super) const fn by_hand(
    name: &'static str,
    why: &'static str,
    even_out: fn(&mut Sides),
) -> Difference {
    Difference {
        by_hand_alone: true,
        ..always(name, why, even_out)
    }
}

/// Compares the requests of all recorded conversations. `send` gets an exchange, those before it in its conversation,
/// and the number of recorded responses that were continued so far. It returns nothing for a request that is refused
/// here.
pub(super) async fn compare_sessions(
    protocol: Protocol,
    differences: &'static [Difference],
    mut send: impl AsyncFnMut(&Recorded, &[Recorded], &mut usize) -> Option<Value>,
) {
    let Some(sessions) = sessions(protocol) else {
        return;
    };
    let mut comparison = Comparison::new(protocol.name(), differences);
    let mut continued = 0;
    for session in &sessions {
        for (index, exchange) in session.iter().enumerate() {
            if let Some(sent) = send(exchange, &session[..index], &mut continued).await {
                comparison.add(&exchange.name(), &exchange.request, sent);
            }
        }
    }
    crate::say(format_args!(
        "{}: {continued} recorded responses continued",
        protocol.name()
    ));
    comparison.finish();
    assert!(continued > 0);
}

/// Counts the requests that are equal, and the differences of the others.
pub(super) struct Comparison {
    title: String,
    /// In the order in which they are applied.
    differences: Vec<&'static Difference>,
    needed: BTreeMap<&'static str, usize>,
    compared: usize,
    equal: usize,
    wrong: Vec<String>,
}

impl Comparison {
    pub(super) fn new(
        title: impl Into<String>,
        differences: impl IntoIterator<Item = &'static Difference>,
    ) -> Self {
        Comparison {
            title: title.into(),
            differences: differences.into_iter().collect(),
            needed: BTreeMap::new(),
            compared: 0,
            equal: 0,
            wrong: Vec::new(),
        }
    }

    /// Compares a request.
    pub(super) fn add(&mut self, name: &str, recorded: &Value, sent: Value) {
        self.compared += 1;
        let sides = Sides {
            recorded: recorded.clone(),
            sent,
        };
        match self.explain(&sides) {
            Ok(names) if names.is_empty() => self.equal += 1,
            Ok(names) => names
                .into_iter()
                .for_each(|name| *self.needed.entry(name).or_default() += 1),
            Err(unexplained) => self.wrong.push(format!("{name}: {unexplained}")),
        }
    }

    /// Prints the counts. Panics if requests are not equal, or if a difference is not needed.
    pub(super) fn finish(self) {
        let (title, compared, equal) = (&self.title, self.compared, self.equal);
        crate::say(format_args!(
            "{title}: {compared} requests compared, {equal} equal as they are, {} not equal",
            self.wrong.len()
        ));
        for item in &self.differences {
            let count = self.needed.get(item.name).copied().unwrap_or(0);
            crate::say(format_args!("{count:>5}  {}: {}", item.name, item.why));
        }
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n"));
        assert!(compared > 0, "there are no recordings of requests");
        if std::env::var_os("TURNWRIGHT_WIRE").is_some() {
            // Other recordings may need fewer.
            return;
        }
        for item in &self.differences {
            let name = item.name;
            assert!(self.needed.contains_key(name), "no request needs `{name}`");
        }
    }

    /// Returns the names of the differences without which the two sides are not equal, or an error if they are not
    /// equal even with all.
    fn explain(&self, sides: &Sides) -> Result<Vec<&'static str>, String> {
        if sides.are_equal() {
            return Ok(Vec::new());
        }
        let mut all = sides.clone();
        let mut tried = Vec::new();
        for difference in &self.differences {
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
        let names = tried.iter().map(|item| item.name);
        Ok(names.filter(is_needed).collect())
    }
}

impl Sides {
    fn are_equal(&self) -> bool {
        self.recorded == self.sent
    }

    /// Returns where the two sides first differ.
    fn first_difference(&self) -> String {
        let (recorded, sent) = (&self.recorded, &self.sent);
        let names = recorded.as_object().unwrap().keys();
        let names = names.chain(sent.as_object().unwrap().keys());
        let differs = |name: &&String| recorded[name.as_str()] != sent[name.as_str()];
        let Some(name) = names.into_iter().find(differs) else {
            return "a field is null on one side and missing on the other".to_owned();
        };
        let (recorded, sent) = (&recorded[name], &sent[name]);
        let lists = recorded.as_array().zip(sent.as_array());
        let items =
            lists.and_then(|(one, other)| one.iter().zip(other).find(|(item, at)| item != at));
        let (recorded, sent) = items.unwrap_or((recorded, sent));
        format!(
            "`{name}` recorded: {}, sent: {}",
            shown(recorded),
            shown(sent)
        )
    }
}

fn shown(value: &Value) -> String {
    value.to_string().chars().take(600).collect()
}

pub(super) fn object(value: &mut Value) -> &mut Map<String, Value> {
    value.as_object_mut().unwrap()
}

/// Returns the items of a list in a field; none if the field is something else.
pub(super) fn list<'v>(value: &'v mut Value, name: &str) -> impl Iterator<Item = &'v mut Value> {
    let list = value.get_mut(name).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

/// Returns the content of an envelope, if the text is a complete envelope.
pub(super) fn unsealed(sealed: &str) -> Option<String> {
    let (opening, rest) = sealed.split_once(">\n")?;
    let tag = opening.strip_prefix('<')?.split(' ').next()?;
    let content = rest.strip_suffix(&format!("\n</{tag}>"))?;
    tag.starts_with("tw-")
        .then(|| restore(content).into_owned())
}

/// Returns `true` for the text that introduces a media item.
pub(super) fn is_media_marker(part: &Value) -> bool {
    let text = part["text"].as_str().and_then(unsealed);
    text.is_some_and(|text| text.contains(" follows."))
}
