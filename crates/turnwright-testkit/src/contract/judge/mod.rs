//! An opinion of our own on values, from the document alone.
//!
//! The expectation must not come from the code under test, so this is a second, small implementation of the keywords.
//! It answers "unknown" where it would have to guess.

pub(crate) mod array;
pub(crate) mod object;
pub(crate) mod scalar;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::document::{Document, Holder, Object};
use super::place::{Place, Step};
use super::verdict::Verdict;

/// How deep a schema is followed before the answer is "unknown".
const DEEPEST: usize = 200;

/// Judges values by a document.
#[derive(Debug)]
pub(crate) struct Judge<'a, 'd> {
    pub(crate) doc: &'a Document<'d>,
    /// Whether the repairs that a check makes (coercion, defaults, null for absent) are reckoned with: then "invalid"
    /// means that no repair can help.
    repairs: bool,
    /// Places whose value a repair may exchange; found in a first pass, not judged in the second.
    unsettled: RefCell<HashSet<String>>,
    settle: bool,
}

/// The properties or items that a schema evaluated; true where that is certain.
pub(crate) type Seen = BTreeMap<String, bool>;

impl<'a, 'd> Judge<'a, 'd> {
    /// Judges values as they came.
    pub(crate) fn strict(doc: &'a Document<'d>) -> Self {
        Self {
            doc,
            repairs: false,
            unsettled: RefCell::default(),
            settle: false,
        }
    }

    pub(crate) fn valid(&self, schema: &'d Value, value: &Value) -> Verdict {
        self.judge(schema, value, &Place::ROOT, &mut Seen::new(), 0)
    }

    /// Whether the whole value stays invalid whatever the check may repair.
    pub(crate) fn beyond_repair(doc: &'a Document<'d>, value: &Value) -> bool {
        let mut judge = Self {
            doc,
            repairs: true,
            unsettled: RefCell::default(),
            settle: false,
        };
        if judge.valid(doc.root, value) != Verdict::Invalid {
            return false;
        }
        if judge.unsettled.borrow().is_empty() {
            return true;
        }
        judge.settle = true;
        judge.valid(doc.root, value) == Verdict::Invalid
    }

    /// Whether a keyword refuses the value at a place of `whole` whatever the check may repair there.
    pub(crate) fn refuses_beyond_repair(
        doc: &'a Document<'d>,
        schema: &'d Object,
        keyword: &str,
        whole: &Value,
        pointer: &str,
    ) -> bool {
        let Some(part) = whole.pointer(pointer) else {
            return false;
        };
        let (above, token) = pointer.rsplit_once('/').unwrap_or_default();
        let token = token.replace("~1", "/").replace("~0", "~");
        // Only the last step counts: it says which defaults the place may get.
        let place = match whole.pointer(above) {
            _ if pointer.is_empty() => Place::ROOT,
            Some(Value::Array(_)) => Place::ROOT.index(token.parse().unwrap_or(0)),
            _ => Place::ROOT.key(&token),
        };
        let judge = Self {
            doc,
            repairs: true,
            unsettled: RefCell::default(),
            settle: false,
        };
        let mut seen = Seen::new();
        let verdict = if keyword.starts_with("unevaluated") {
            judge.all_keywords(schema, part, &place, &mut seen, 0)
        } else {
            judge.keyword(schema, keyword, part, &place, &mut seen, 0)
        };
        verdict == Verdict::Invalid
    }

    /// Whether `value` keeps one keyword of a schema.
    pub(crate) fn keyword_alone(
        &self,
        schema: &'d Object,
        keyword: &str,
        value: &Value,
    ) -> Verdict {
        let mut seen = Seen::new();
        if keyword.starts_with("unevaluated") {
            self.all_keywords(schema, value, &Place::ROOT, &mut seen, 0)
        } else {
            self.keyword(schema, keyword, value, &Place::ROOT, &mut seen, 0)
        }
    }

    fn judge(
        &self,
        schema: &'d Value,
        value: &Value,
        at: &Place<'_>,
        seen: &mut Seen,
        depth: usize,
    ) -> Verdict {
        let object = match schema {
            Value::Bool(accepts) => return Verdict::from(*accepts),
            Value::Object(object) => object,
            _ => return Verdict::Unknown,
        };
        if depth > DEEPEST || self.settle && self.unsettled.borrow().contains(&at.pointer()) {
            return Verdict::Unknown;
        }
        if self.repairs && may_be_coerced(object, value) {
            self.unsettled.borrow_mut().insert(at.pointer());
        }
        let mut own = Seen::new();
        let verdict = self.all_keywords(object, value, at, &mut own, depth);
        match verdict {
            Verdict::Valid => merge(seen, own, true),
            Verdict::Unknown => merge(seen, own, false),
            Verdict::Invalid => {}
        }
        verdict
    }

    fn all_keywords(
        &self,
        schema: &'d Object,
        value: &Value,
        at: &Place<'_>,
        seen: &mut Seen,
        depth: usize,
    ) -> Verdict {
        if self.doc.draft7 && schema.contains_key("$ref") {
            return self.keyword(schema, "$ref", value, at, seen, depth);
        }
        let mut verdict = Verdict::Valid;
        for keyword in schema
            .keys()
            .filter(|keyword| !keyword.starts_with("unevaluated"))
        {
            verdict = verdict.and(self.keyword(schema, keyword, value, at, seen, depth));
        }
        for keyword in schema
            .keys()
            .filter(|keyword| keyword.starts_with("unevaluated"))
        {
            verdict = verdict.and(self.keyword(schema, keyword, value, at, seen, depth));
        }
        verdict
    }

    fn keyword(
        &self,
        schema: &'d Object,
        keyword: &str,
        value: &Value,
        at: &Place<'_>,
        seen: &mut Seen,
        depth: usize,
    ) -> Verdict {
        let Some(rule) = schema.get(keyword) else {
            return Verdict::Valid;
        };
        match (keyword, value) {
            ("$ref", _) => match self.doc.target(schema) {
                Ok(target) => self.judge(target, value, at, seen, depth + 1),
                Err(_) => Verdict::Unknown,
            },
            ("$dynamicRef" | "$recursiveRef", _) => Verdict::Unknown,
            ("allOf" | "anyOf" | "oneOf", _) => {
                self.branches(keyword, rule, value, at, seen, depth)
            }
            ("not", _) => self
                .judge(rule, value, at, &mut Seen::new(), depth + 1)
                .negate(),
            ("if", _) => self.condition(schema, rule, value, at, seen, depth),
            (_, Value::Object(object)) if object::KEYWORDS.contains(&keyword) => {
                self.object_keyword(schema, keyword, rule, object, at, seen, depth)
            }
            (_, Value::Array(items)) if array::KEYWORDS.contains(&keyword) => {
                self.array_keyword(schema, keyword, rule, items, at, seen, depth)
            }
            _ => self.scalar_keyword(keyword, rule, value, at),
        }
    }

    fn branches(
        &self,
        keyword: &str,
        rule: &'d Value,
        value: &Value,
        at: &Place<'_>,
        seen: &mut Seen,
        depth: usize,
    ) -> Verdict {
        let Value::Array(branches) = rule else {
            return Verdict::Unknown;
        };
        let verdicts: Vec<Verdict> = branches
            .iter()
            .map(|branch| self.judge(branch, value, at, seen, depth + 1))
            .collect();
        match keyword {
            "allOf" => verdicts.into_iter().fold(Verdict::Valid, Verdict::and),
            "anyOf" => verdicts.into_iter().fold(Verdict::Invalid, Verdict::or),
            _ => {
                let count = |wanted| {
                    verdicts
                        .iter()
                        .filter(|&&verdict| verdict == wanted)
                        .count()
                };
                match (count(Verdict::Valid), count(Verdict::Unknown)) {
                    (valid, _) if valid > 1 => {
                        // A default of one branch may turn the value into one that the others refuse.
                        if self.repairs && self.doc.has_defaults() {
                            Verdict::Unknown
                        } else {
                            Verdict::Invalid
                        }
                    }
                    (0, 0) => Verdict::Invalid,
                    (1, 0) => Verdict::Valid,
                    _ => Verdict::Unknown,
                }
            }
        }
    }

    fn condition(
        &self,
        schema: &'d Object,
        rule: &'d Value,
        value: &Value,
        at: &Place<'_>,
        seen: &mut Seen,
        depth: usize,
    ) -> Verdict {
        let mut then_seen = Seen::new();
        let holds = self.judge(rule, value, at, &mut then_seen, depth + 1);
        let branch = |keyword: &str, seen: &mut Seen| match schema.get(keyword) {
            Some(then) => self.judge(then, value, at, seen, depth + 1),
            None => Verdict::Valid,
        };
        let mut else_seen = Seen::new();
        // Both are looked at, so that a pass which reckons with repairs misses none.
        let then = branch("then", &mut then_seen);
        let otherwise = branch("else", &mut else_seen);
        match holds {
            Verdict::Valid => {
                merge(seen, then_seen, true);
                then
            }
            Verdict::Invalid => {
                merge(seen, else_seen, true);
                otherwise
            }
            Verdict::Unknown => {
                merge(seen, then_seen, false);
                merge(seen, else_seen, false);
                if then == otherwise {
                    then
                } else {
                    Verdict::Unknown
                }
            }
        }
    }

    /// Whether a repair may exchange something inside this place, and with it what the place is equal to.
    fn is_unsettled_inside(&self, at: &Place<'_>) -> bool {
        let inside = format!("{}/", at.pointer());
        self.settle
            && self
                .unsettled
                .borrow()
                .iter()
                .any(|pointer| pointer.starts_with(&inside))
    }

    /// The names that a default may add to this object.
    fn fillable(&self, object: &Object, at: &Place<'_>) -> Vec<&str> {
        if !self.repairs {
            return Vec::new();
        }
        let holder = match at.step() {
            Step::Root => Holder::Root,
            Step::Key(key) => Holder::Property(key.to_owned()),
            Step::Index(_) => Holder::Item,
        };
        self.doc
            .defaulted_names()
            .map(|(_, name)| name)
            .filter(|name| !object.contains_key(*name) && self.doc.has_default(&holder, name))
            .collect()
    }
}

fn merge(into: &mut Seen, from: Seen, sure: bool) {
    for (name, certain) in from {
        let entry = into.entry(name).or_insert(false);
        *entry |= certain && sure;
    }
}

/// Whether the check may read this text as a number, a boolean or JSON, because the schema takes no string.
fn may_be_coerced(schema: &Object, value: &Value) -> bool {
    let Value::String(text) = value else {
        return false;
    };
    let takes_text = match (schema.get("type"), schema.get("enum"), schema.get("const")) {
        (Some(Value::String(name)), _, _) => name == "string",
        (Some(Value::Array(names)), _, _) => names.iter().any(|name| name == "string"),
        (None, Some(Value::Array(values)), _) => values.iter().any(Value::is_string),
        (None, None, Some(value)) => value.is_string(),
        _ => true,
    };
    !takes_text && looks_like_another_type(text)
}

/// Generous on purpose: what is called coercible here is only not judged.
pub(crate) fn looks_like_another_type(text: &str) -> bool {
    let text = text.trim();
    text.eq_ignore_ascii_case("true")
        || text.eq_ignore_ascii_case("false")
        || text.starts_with(['{', '['])
        || text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'))
            && text.parse::<f64>().is_ok()
}
