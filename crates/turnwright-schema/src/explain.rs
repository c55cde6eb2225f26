//! Turns validation errors into faults that a model can act on.
//!
//! The validator explains a union by all of its branches, recursively, and writes down the location of every fault,
//! however long. For most arguments that is cheap. Where it is not, they get a single fault.

use std::collections::HashSet;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ValidationError, Validator};
use serde_json::{Map, Value};

use super::fault::{Fault, InvalidArguments};
use super::keywords::nearest;
use super::plan::{NodeId, Plan, subschemas_of};
use super::pointer::{join, split_last};
use super::raw::survey;
use super::repair::{Repair, RepairKind};
use super::text::{counted, escape, quote};

/// The maximum number of faults, weighted by the length of their locations, that the validator is asked to explain.
const MAX_EXPLAINED: usize = 300_000;

/// Returns the faults of `value`, according to the validator of `document`, after these repairs.
pub(crate) fn explain(
    document: &Value,
    plan: &Plan,
    validator: &Validator,
    value: &Value,
    repairs: &[Repair],
) -> InvalidArguments {
    if weigh(plan, 0, value, 0, &mut { MAX_EXPLAINED }).is_none() {
        let message = "do not match the schema; the errors are too many to list: send less data or a simpler structure";
        return Fault::new("", "schema", message).into();
    }
    let mut faults = InvalidArguments::default();
    let filled = repairs
        .iter()
        .filter(|repair| repair.kind == RepairKind::Default);
    let judged = Judged {
        document,
        value,
        filled: filled.map(|repair| repair.pointer.as_str()).collect(),
    };
    for error in validator.iter_errors(value) {
        judged.describe(&error, &mut faults);
    }
    faults
}

/// Subtracts the cost of an explanation from what is left. Returns `None` if it is not enough.
fn weigh(plan: &Plan, id: NodeId, value: &Value, place: usize, left: &mut usize) -> Option<()> {
    *left = left.checked_sub(1 + place / 64)?;
    let node = plan.nodes.get(id)?;
    for same in node.same_place.iter().chain(&node.only_looks) {
        weigh(plan, *same, value, place, left)?;
    }
    for branch in node.unions.iter().flatten() {
        // The validator keeps a copy of the rejected value for each branch.
        *left = left.checked_sub(survey(value).bytes / 16)?;
        weigh(plan, *branch, value, place, left)?;
    }
    match value {
        Value::Object(map) => {
            // Unexpected properties are reported with their location too.
            for (name, value) in map {
                let below = place + name.len() + 1;
                *left = left.checked_sub(1 + below / 64)?;
                for id in subschemas_of(node, name) {
                    weigh(plan, id, value, below, left)?;
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(id) = node.item(index) {
                    weigh(plan, id, item, place + 6, left)?;
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Some(())
}

/// A value and the document that it was validated against.
struct Judged<'j> {
    document: &'j Value,
    value: &'j Value,
    /// Locations of defaults that were filled in, not sent.
    filled: HashSet<&'j str>,
}

/// The maximum number of characters for the faults of a union's closest branch.
const MAX_QUOTED: usize = 400;
/// The maximum number of property names that are searched for a likely match.
const MAX_KNOWN: usize = 500;

impl<'j> Judged<'j> {
    fn describe(&self, error: &ValidationError<'_>, faults: &mut InvalidArguments) {
        let place = error.instance_path().as_str();
        match error.kind() {
            Kind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                let fault = Fault::at(join(place, name), "required", "present", None);
                faults.push(fault.with_message("is required but missing"));
            }
            Kind::AdditionalProperties { unexpected } => {
                self.unexpected(error, "additionalProperties", unexpected, faults);
            }
            Kind::UnevaluatedProperties { unexpected } => {
                self.unexpected(error, "unevaluatedProperties", unexpected, faults);
            }
            // For an object that accepts no properties at all, the validator reports only the object.
            Kind::FalseSchema
                if error
                    .schema_path()
                    .as_str()
                    .ends_with("/additionalProperties") =>
            {
                let all = self.value.pointer(place).and_then(Value::as_object);
                let names: Vec<String> = all.into_iter().flat_map(Map::keys).cloned().collect();
                self.unexpected(error, "additionalProperties", &names, faults);
            }
            Kind::PropertyNames { error: inner } => {
                let name = inner.instance().as_str().unwrap_or_default().to_owned();
                let expected = format!("a name that is {}", expected(inner));
                let (pointer, got) = (join(place, &name), Value::from(name));
                faults.push(Fault::at(pointer, "propertyNames", expected, Some(&got)));
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                match only_branch(context, place) {
                    Some(errors) => {
                        for error in errors {
                            self.describe(error, faults);
                        }
                    }
                    None => faults.push(self.union(error, error.kind().keyword(), context)),
                }
            }
            kind => faults.push(Fault::at(
                place,
                kind.keyword(),
                expected(error),
                Some(error.instance()),
            )),
        }
    }

    fn unexpected(
        &self,
        error: &ValidationError<'_>,
        rule: &str,
        names: &[String],
        faults: &mut InvalidArguments,
    ) {
        let place = error.instance_path().as_str();
        let object = self.value.pointer(place);
        let got = |name: &str| object.and_then(|object| object.get(name));
        let known = self.known_properties(error);
        for (index, name) in names.iter().enumerate() {
            if faults.is_full() {
                faults.count_more(names.len() - index);
                break;
            }
            let missing = known.iter().copied().filter(|known| {
                got(known).is_none() || self.filled.contains(join(place, known).as_str())
            });
            let advice = match nearest(name, missing) {
                Some(near) => format!("did you mean `{}`?", escape(near, 80)),
                None => "leave it out".to_owned(),
            };
            let fault = Fault::at(join(place, name), rule, "absent", got(name));
            faults.push(fault.with_message(format!("is not a known property: {advice}")));
        }
    }

    /// Returns the names declared in `properties` next to the keyword that failed.
    fn known_properties(&self, error: &ValidationError<'_>) -> Vec<&'j str> {
        let schema = split_last(error.schema_path().as_str())
            .and_then(|(schema, _)| self.document.pointer(schema));
        let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
        let few = properties.filter(|properties| properties.len() <= MAX_KNOWN);
        few.into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
            .collect()
    }

    /// Describes a few errors. For a union among them, recursively describes only its closest branch.
    fn describe_leaves(&self, errors: &[ValidationError<'_>], faults: &mut InvalidArguments) {
        for error in errors.iter().take(3) {
            match error.kind() {
                Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                    match nearest_branch(context, error.instance_path().as_str()) {
                        Some((_, errors)) => self.describe_leaves(errors, faults),
                        None => self.describe(error, faults),
                    }
                }
                _ => self.describe(error, faults),
            }
        }
    }

    /// Returns one fault for a union, with the faults of its closest branch.
    fn union(
        &self,
        error: &ValidationError<'_>,
        rule: &str,
        context: &[Vec<ValidationError<'static>>],
    ) -> Fault {
        let place = error.instance_path().as_str();
        let got = error.instance();
        let count = context.len();
        let expected = format!("one of {count} alternatives");
        let fault = Fault::at(place, rule, expected, Some(got));
        let Some((index, errors)) = nearest_branch(context, place) else {
            return fault;
        };
        let mut inner = InvalidArguments::default();
        self.describe_leaves(errors, &mut inner);
        let texts = inner.faults().iter().take(3).map(|fault| {
            let inside = fault.pointer.strip_prefix(place).unwrap_or(&fault.pointer);
            format!("{} {}", escape(inside, 80), fault.message)
        });
        let texts = texts.collect::<Vec<_>>().join("; ");
        let (quoted, texts) = (quote(got), escape(texts.trim_start(), MAX_QUOTED));
        let which = index + 1;
        fault.with_message(format!(
            "matches none of {count} alternatives (got {quoted}); the closest is alternative {which}: {texts}"
        ))
    }
}

/// Returns the errors of the only branch of a union that can be meant: the only one that accepts the type of the
/// value, or the only one besides `null`. Its errors are reported at their own locations, as if there were no union.
fn only_branch<'c>(
    context: &'c [Vec<ValidationError<'static>>],
    place: &str,
) -> Option<&'c [ValidationError<'static>]> {
    let single = |can_be_meant: fn(Option<&TypeKind>) -> bool| {
        let mut branches = context
            .iter()
            .filter(|errors| can_be_meant(other_type(errors, place)));
        let first = branches.next()?;
        branches.next().is_none().then_some(first.as_slice())
    };
    let not_null =
        |wanted: Option<&TypeKind>| !matches!(wanted, Some(TypeKind::Single(JsonType::Null)));
    single(|wanted| wanted.is_none()).or_else(|| single(not_null))
}

/// Returns the type that a branch expects, if the value has another type.
fn other_type<'c>(errors: &'c [ValidationError<'static>], place: &str) -> Option<&'c TypeKind> {
    let here = |error: &&ValidationError<'static>| error.instance_path().as_str() == place;
    errors
        .iter()
        .filter(here)
        .find_map(|error| match error.kind() {
            Kind::Type { kind } => Some(kind),
            _ => None,
        })
}

/// Returns the branch that is closest to the value, and its index.
fn nearest_branch<'c>(
    context: &'c [Vec<ValidationError<'static>>],
    place: &str,
) -> Option<(usize, &'c [ValidationError<'static>])> {
    let branches = context.iter().enumerate();
    branches
        .min_by_key(|(_, errors)| branch_distance(errors, place))
        .map(|(index, errors)| (index, errors.as_slice()))
}

/// Returns how far a branch is from the value: another type is far, another constant (a tag) less, a violated bound
/// near.
fn branch_distance(errors: &[ValidationError<'static>], place: &str) -> usize {
    errors
        .iter()
        .map(|error| match error.kind() {
            Kind::Type { .. } | Kind::FalseSchema if error.instance_path().as_str() == place => {
                1_000
            }
            Kind::Constant { .. } | Kind::Enum { .. } => 100,
            Kind::AdditionalProperties { .. } | Kind::Required { .. } => 10,
            _ => 1,
        })
        .sum()
}

/// Returns the expectation, phrased to follow "must be".
fn expected(error: &ValidationError<'_>) -> String {
    match error.kind() {
        Kind::Type {
            kind: TypeKind::Single(one),
        } => format!("of type {one}"),
        Kind::Type {
            kind: TypeKind::Multiple(many),
        } => {
            let names: Vec<String> = many.iter().map(|one| one.to_string()).collect();
            format!("of type {}", names.join(" or "))
        }
        Kind::Enum { options } => match options.as_array() {
            Some(options) => format!("one of {}", listed(options)),
            None => "one of the listed values".to_owned(),
        },
        Kind::Constant { expected_value } => quote(expected_value),
        Kind::Minimum { limit } => format!("at least {limit}"),
        Kind::Maximum { limit } => format!("at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("at least {}", counted(*limit, "character")),
        Kind::MaxLength { limit } => format!("at most {}", counted(*limit, "character")),
        Kind::MinItems { limit } => format!("at least {}", counted(*limit, "item")),
        Kind::MaxItems { limit } => format!("at most {}", counted(*limit, "item")),
        Kind::AdditionalItems { limit } => format!("at most {}", counted(*limit as u64, "item")),
        Kind::UnevaluatedItems { .. } => "an array without additional items".to_owned(),
        Kind::MinProperties { limit } => {
            format!("an object with at least {}", counted(*limit, "property"))
        }
        Kind::MaxProperties { limit } => {
            format!("an object with at most {}", counted(*limit, "property"))
        }
        Kind::UniqueItems => "an array without repeated items".to_owned(),
        Kind::Pattern { pattern } => {
            format!("a string that matches the pattern {}", escape(pattern, 120))
        }
        Kind::Format { format } => format!("a valid {format}"),
        Kind::Contains => "an array with an item that matches `contains`".to_owned(),
        Kind::Not { .. } => "a value that does not match `not`".to_owned(),
        Kind::OneOfMultipleValid { .. } => {
            "valid for exactly one alternative, not for several".to_owned()
        }
        Kind::FalseSchema => "absent".to_owned(),
        Kind::ContentEncoding { content_encoding } => {
            format!("a string encoded as {content_encoding}")
        }
        Kind::ContentMediaType { content_media_type } => {
            format!("a string of media type {content_media_type}")
        }
        _ => "valid under the schema".to_owned(),
    }
}

/// Lists the values of an enum, up to a readable length.
fn listed(options: &[Value]) -> String {
    const MAX_CHARS: usize = 400;
    let mut text = String::new();
    for (index, option) in options.iter().enumerate() {
        if text.len() > MAX_CHARS {
            return format!("{text} and {} more", options.len() - index);
        }
        let separator = if index > 0 { ", " } else { "" };
        text = format!("{text}{separator}{}", quote(option));
    }
    text
}
