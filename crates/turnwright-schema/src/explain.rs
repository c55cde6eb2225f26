//! From the verdict of the validator to faults that a model can act on.

use std::collections::HashSet;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ValidationError, Validator};
use serde_json::{Map, Value};

use super::fault::{Fault, InvalidArguments, escape, quote};
use super::keywords::nearest;
use super::pointer::{join, split_last};
use super::repair::{Repair, RepairKind};

/// Everything that is wrong with `value`, by the validator of `document`, after these repairs.
pub(crate) fn explain(
    document: &Value,
    validator: &Validator,
    value: &Value,
    repairs: &[Repair],
) -> InvalidArguments {
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

/// What was judged by what.
struct Judged<'j> {
    document: &'j Value,
    value: &'j Value,
    /// Where a default stands, which did not come.
    filled: HashSet<&'j str>,
}

/// Characters that the faults of a union's nearest branch may have in its text.
const MOST_QUOTED: usize = 400;
/// Names of properties among which one that was meant is looked for.
const MOST_KNOWN: usize = 500;

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
            // Of an object that takes no property at all, the validator says only that it is wrong.
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

    /// The names that stand in `properties` beside the keyword that refused.
    fn known_properties(&self, error: &ValidationError<'_>) -> Vec<&'j str> {
        let schema = split_last(error.schema_path().as_str())
            .and_then(|(schema, _)| self.document.pointer(schema));
        let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
        let few = properties.filter(|properties| properties.len() <= MOST_KNOWN);
        few.into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
            .collect()
    }

    /// Describes a few errors; of a union among them only what its own nearest branch says, and so on down.
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

    /// One fault for a union, with the faults of the branch that came nearest.
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
        let (quoted, texts) = (quote(got), escape(texts.trim_start(), MOST_QUOTED));
        let which = index + 1;
        fault.with_message(format!(
            "fits none of {count} alternatives (got {quoted}); nearest is alternative {which}: {texts}"
        ))
    }
}

/// The errors of the one branch of a union that can be meant: the only one that takes values of the type that came, or the
/// only one besides `null`. They are told at their own places, as if there were no union.
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

/// The type that a branch wants, if what came is of another.
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

/// The branch that came nearest to what came, and its place in the list.
fn nearest_branch<'c>(
    context: &'c [Vec<ValidationError<'static>>],
    place: &str,
) -> Option<(usize, &'c [ValidationError<'static>])> {
    let branches = context.iter().enumerate();
    branches
        .min_by_key(|(_, errors)| farness(errors, place))
        .map(|(index, errors)| (index, errors.as_slice()))
}

/// How far a branch is from what came: another type is far, another constant (a tag) less, a bound near.
fn farness(errors: &[ValidationError<'static>], place: &str) -> usize {
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

/// What would have been right, to stand after "must be".
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
        Kind::UnevaluatedItems { .. } => "without the further items".to_owned(),
        Kind::MinProperties { limit } => format!("an object of at least {limit} properties"),
        Kind::MaxProperties { limit } => format!("an object of at most {limit} properties"),
        Kind::UniqueItems => "without repeated items".to_owned(),
        Kind::Pattern { pattern } => {
            format!("text that matches the pattern {}", escape(pattern, 120))
        }
        Kind::Format { format } => format!("a valid {format}"),
        Kind::Contains => "with an item that fits `contains`".to_owned(),
        Kind::Not { .. } => "something that `not` does not describe".to_owned(),
        Kind::OneOfMultipleValid { .. } => {
            "what exactly one alternative takes; more than one do".to_owned()
        }
        Kind::FalseSchema => "absent".to_owned(),
        Kind::ContentEncoding { content_encoding } => format!("text encoded as {content_encoding}"),
        Kind::ContentMediaType { content_media_type } => {
            format!("text of type {content_media_type}")
        }
        _ => "valid by the schema".to_owned(),
    }
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}

/// The values of an enum, as many as a person would read.
fn listed(options: &[Value]) -> String {
    const MOST_CHARS: usize = 400;
    let mut text = String::new();
    for (index, option) in options.iter().enumerate() {
        if text.len() > MOST_CHARS {
            return format!("{text} and {} more", options.len() - index);
        }
        let separator = if index > 0 { ", " } else { "" };
        text = format!("{text}{separator}{}", quote(option));
    }
    text
}
