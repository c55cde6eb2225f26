//! Values generated from a document: usually valid, because all subschemas for one location are considered together.

mod containers;
pub(super) mod random;

use serde_json::{Map, Value, json};

use super::documents::Draft;
use super::rng::Rng;
use super::texts;

type Facet<'d> = &'d Map<String, Value>;

/// Below this depth only required parts are generated, so that trees end.
const DEEP: usize = 5;
/// Beyond this depth no value is valid: the document requires an endless value.
const TOO_DEEP: usize = 12;

pub(super) struct Maker<'d> {
    document: &'d Value,
    draft: Draft,
    depth: usize,
}

impl<'d> Maker<'d> {
    pub(super) fn new(document: &'d Value) -> Self {
        Self {
            document,
            draft: Draft::of(document),
            depth: 0,
        }
    }

    /// Generates a value that all of `schemas` may accept.
    pub(super) fn value(&self, schemas: &[&'d Value], rng: &mut Rng) -> Value {
        let mut facets = Vec::new();
        for schema in schemas {
            self.gather(schema, rng, &mut facets, 0);
        }
        self.for_all(&mut facets, rng)
    }

    /// Collects everything that applies to a location: the schema, its references, every branch of `allOf`, one of
    /// each union, one side of `if`.
    fn gather(&self, schema: &'d Value, rng: &mut Rng, facets: &mut Vec<Facet<'d>>, level: usize) {
        let Value::Object(map) = schema else { return };
        if level > 20 {
            return;
        }
        if let Some(target) = map
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|target| self.resolve(target))
        {
            self.gather(target, rng, facets, level + 1);
            if self.draft == Draft::V7 {
                return;
            }
        }
        facets.push(map);
        for part in list(map, "allOf") {
            self.gather(part, rng, facets, level + 1);
        }
        for keyword in ["anyOf", "oneOf"] {
            let branches = list(map, keyword);
            if !branches.is_empty() {
                self.gather(rng.pick(branches), rng, facets, level + 1);
            }
        }
        let condition = map.get("if").map(|condition| (condition, rng.chance(50)));
        let consequences = match condition {
            Some((condition, true)) => [Some(condition), map.get("then")],
            Some((_, false)) => [map.get("else"), None],
            None => [None, None],
        };
        for part in consequences.into_iter().flatten() {
            self.gather(part, rng, facets, level + 1);
        }
    }

    fn resolve(&self, target: &str) -> Option<&'d Value> {
        let fragment = target.strip_prefix('#')?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.document.pointer(fragment);
        }
        let definitions = self.document.get(self.draft.defs())?.as_object()?;
        definitions
            .values()
            .find(|schema| schema.get("$anchor").and_then(Value::as_str) == Some(fragment))
    }

    fn for_all(&self, facets: &mut Vec<Facet<'d>>, rng: &mut Rng) -> Value {
        if let Some(value) = facets.iter().find_map(|facet| facet.get("const")) {
            return value.clone();
        }
        let kind = kind(facets, rng);
        if let Some(values) = facets
            .iter()
            .find_map(|facet| facet.get("enum")?.as_array())
        {
            return rng.pick(values).clone();
        }
        if self.depth > TOO_DEEP {
            return Value::Null;
        }
        match kind {
            "object" => self.object(facets, rng),
            "array" => self.array(facets, rng),
            "string" => text(facets, rng),
            "integer" => number(facets, true, rng),
            "number" => number(facets, false, rng),
            "boolean" => rng.chance(50).into(),
            _ => Value::Null,
        }
    }
}

fn list<'d>(map: Facet<'d>, keyword: &str) -> &'d [Value] {
    map.get(keyword)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Returns one type that every facet accepts, guessed from its keywords if it has no `type`.
fn kind(facets: &[Facet<'_>], rng: &mut Rng) -> &'static str {
    const KINDS: [&str; 7] = [
        "object", "array", "string", "integer", "number", "boolean", "null",
    ];
    let takes = |facet: &Facet<'_>, kind: &str| match facet.get("type") {
        Some(Value::String(message)) => {
            message == kind || (message == "number" && kind == "integer")
        }
        Some(Value::Array(message)) => message.iter().any(|message| message == kind),
        _ => true,
    };
    let taken: Vec<_> = KINDS
        .into_iter()
        .filter(|kind| facets.iter().all(|facet| takes(facet, kind)))
        .collect();
    let message = facets.iter().any(|facet| facet.contains_key("type"));
    let hint = |keywords: &[&str]| {
        facets
            .iter()
            .any(|facet| keywords.iter().any(|word| facet.contains_key(*word)))
    };
    if !message && hint(&["properties", "required"]) {
        return "object";
    }
    if !message && hint(&["maxLength", "pattern", "format"]) {
        return "string";
    }
    if taken.is_empty() {
        "null"
    } else {
        rng.pick::<&'static str>(&taken)
    }
}

fn text(facets: &[Facet<'_>], rng: &mut Rng) -> Value {
    for facet in facets {
        let message = |keyword| facet.get(keyword).and_then(Value::as_str);
        let known = message("pattern")
            .and_then(texts::pattern)
            .or_else(|| message("format").and_then(texts::format));
        if let Some(known) = known {
            let texts = if rng.chance(96) {
                known.good
            } else {
                known.bad
            };
            return json!(rng.pick(texts));
        }
        if message("contentEncoding").is_some() {
            return json!(rng.pick(&["e30=", "WzFd", ""]));
        }
        if message("contentMediaType").is_some() {
            return json!(rng.pick(&["{}", "[1]", "5"]));
        }
    }
    let least = bound(facets, "minLength", f64::max).unwrap_or(0.0) as i64;
    let most = bound(facets, "maxLength", f64::min).map_or(least + 6, |most| most as i64);
    let length = rng.between(least, most.min(least + 6));
    let letters: Vec<char> = "abcxyzAB019 -é😀".chars().collect();
    json!((0..length).map(|_| *rng.pick(&letters)).collect::<String>())
}

fn bound(facets: &[Facet<'_>], keyword: &str, tighter: fn(f64, f64) -> f64) -> Option<f64> {
    facets
        .iter()
        .filter_map(|facet| facet.get(keyword)?.as_f64())
        .reduce(tighter)
}

fn number(facets: &[Facet<'_>], integer: bool, rng: &mut Rng) -> Value {
    let step = if integer { 1.0 } else { 0.25 };
    let factor = bound(facets, "multipleOf", f64::max)
        .unwrap_or(step)
        .max(step);
    let above = bound(facets, "exclusiveMinimum", f64::max).map(|bound| bound + step);
    let below = bound(facets, "exclusiveMaximum", f64::min).map(|bound| bound - step);
    let low = [bound(facets, "minimum", f64::max), above]
        .into_iter()
        .flatten()
        .reduce(f64::max);
    let high = [bound(facets, "maximum", f64::min), below]
        .into_iter()
        .flatten()
        .reduce(f64::min);
    let low = low.unwrap_or_else(|| high.map_or(-20.0, |high| high - 40.0));
    let high = high.unwrap_or(low + 40.0);
    let value =
        rng.between((low / factor).ceil() as i64, (high / factor).floor() as i64) as f64 * factor;
    if value.fract() == 0.0 && (integer || rng.chance(70)) {
        json!(value as i64)
    } else {
        json!(value)
    }
}
