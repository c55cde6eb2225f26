//! Random documents with parts that cannot be enforced: what the original accepts is accepted, and what is published
//! is what is enforced.

mod inject;

use serde_json::Value;
use turnwright_schema::{Schema, SchemaOptions};

use super::judge::{Case, judge};
use super::oracle::Oracle;
use super::rng::Rng;
use super::values::{Maker, random};
use super::{SEED, THREADS, documents, number_from, perturb, shrink};

const DOCUMENTS: u64 = 1_000;
const VALUES: usize = 12;

/// The validators of the original.
struct Original {
    validator: jsonschema::Validator,
    /// `None` if the original has a pattern that this implementation does not support.
    other: Option<Oracle>,
}

impl Original {
    /// Returns `None` if the document is not valid JSON Schema.
    fn new(document: &Value) -> Option<Self> {
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .should_ignore_unknown_formats(true)
            .offline()
            .build(document)
            .ok()?;
        let other = Oracle::new(document).ok();
        Some(Original { validator, other })
    }

    fn accepts(&self, value: &Value) -> bool {
        let other = self.other.as_ref();
        self.validator.is_valid(value) && other.is_none_or(|other| other.accepts(value))
    }
}

fn foreign(document: &Value) -> Option<Schema> {
    let options = SchemaOptions::foreign().fill_defaults(false);
    options.document(document.clone()).ok()
}

/// What one document and one value must satisfy.
fn holds(document: &Value, value: &Value) -> Result<bool, String> {
    let (Some(schema), Some(original)) = (foreign(document), Original::new(document)) else {
        return Ok(false);
    };
    verdict(&schema, &original, value)
}

/// Returns whether the original accepts the value.
fn verdict(schema: &Schema, original: &Original, value: &Value) -> Result<bool, String> {
    let accepted = original.accepts(value);
    if accepted && !schema.accepts(value) {
        return Err("the original accepts the value, and the schema rejects it".to_owned());
    }
    Ok(accepted)
}

#[derive(Default)]
struct Counts {
    /// Originals that are not valid JSON Schema.
    invalid: usize,
    refused: usize,
    /// Documents that are not enforced completely.
    dropped: usize,
    values: usize,
    /// Values that the original accepts.
    accepted: usize,
}

#[test]
fn what_the_original_accepts_is_accepted() {
    let seed = number_from("TURNWRIGHT_SEED").unwrap_or(SEED);
    let documents = number_from("TURNWRIGHT_FOREIGN").unwrap_or(DOCUMENTS);
    let counts = std::thread::scope(|scope| {
        let run = |thread| {
            scope.spawn(move || {
                let mut counts = Counts::default();
                let indices = (thread..documents).step_by(THREADS as usize);
                indices.for_each(|index| run(seed, index, &mut counts));
                counts
            })
        };
        let threads: Vec<_> = (0..THREADS).map(run).collect();
        let counts = threads.into_iter().map(|thread| thread.join().unwrap());
        counts.fold(Counts::default(), |a, b| Counts {
            invalid: a.invalid + b.invalid,
            refused: a.refused + b.refused,
            dropped: a.dropped + b.dropped,
            values: a.values + b.values,
            accepted: a.accepted + b.accepted,
        })
    });
    let Counts {
        invalid,
        refused,
        dropped,
        values,
        accepted,
    } = counts;
    crate::say(format_args!(
        "foreign: {documents} documents ({invalid} are not valid JSON Schema, {refused} refused, {dropped} not enforced completely), {values} values, {accepted} accepted by the original"
    ));
    let all = usize::try_from(documents).unwrap();
    assert!(
        invalid + refused < all / 5,
        "{invalid} invalid, {refused} refused"
    );
    assert!(dropped > all / 2, "{dropped} not enforced completely");
    assert!(accepted > values / 5, "{accepted} of {values} accepted");
}

fn run(seed: u64, index: u64, counts: &mut Counts) {
    let rng = &mut Rng::of_document(seed, index);
    let base = documents::document(rng);
    let document = inject::inject(&base, rng);
    let Some(original) = Original::new(&document) else {
        counts.invalid += 1;
        return;
    };
    let Some(schema) = foreign(&document) else {
        counts.refused += 1;
        return;
    };
    counts.dropped += usize::from(!schema.unenforced().is_empty());
    let published = schema.document();
    let oracle = Oracle::new(published).unwrap_or_else(|error| {
        panic!("document {index}: {error}\noriginal: {document}\npublished: {published}")
    });
    for _ in 0..VALUES {
        let value = match rng.weighted(&[40, 30, 10, 20]) {
            0 => Maker::new(&base).value(&[&base], rng),
            1 => Maker::new(published).value(&[published], rng),
            2 => random::object(rng, 0),
            _ => perturb::broken(&Maker::new(&base).value(&[&base], rng), rng),
        };
        counts.values += 1;
        match verdict(&schema, &original, &value) {
            Ok(verdict) => counts.accepted += usize::from(verdict),
            Err(failure) => {
                let fails = |document: &Value, value: &Value| holds(document, value).is_err();
                let (document, value) = shrink::smallest_pair(document, value, &fails);
                let published = foreign(&document).map(|schema| schema.document().clone());
                let published = published.unwrap_or_default();
                panic!(
                    "TURNWRIGHT_SEED={seed} document {index}: {failure}\noriginal: {document}\npublished: {published}\nvalue: {value}"
                );
            }
        }
        if let Err(failure) = judge(&schema, &oracle, &Case::Plain(value.clone())) {
            let (rule, seen) = (failure.rule, failure.seen);
            panic!(
                "TURNWRIGHT_SEED={seed} document {index}: {rule}: {seen}\npublished: {published}\nvalue: {value}"
            );
        }
    }
}
