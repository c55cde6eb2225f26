//! The keywords of JSON Schema that are enforced, and those that only describe.

use referencing::Draft;

use super::fault::escape;

/// What a keyword's value holds, as far as the walk must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Data: a bound, a name, a list of values.
    Data,
    /// One subschema.
    Schema,
    /// A list of subschemas.
    Schemas,
    /// Subschemas by name.
    Named,
    /// One subschema or a list of them (`items` of draft 7).
    SchemaOrSchemas,
    /// By name: a subschema or a list of property names (`dependencies` of draft 7).
    NamedOrLists,
}

/// What place of the value a subschema looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// The same place as the schema it stands in.
    Here,
    /// A part of it, or a name in it.
    Below,
    /// Nothing by itself: it waits to be referred to.
    Nowhere,
}

/// What the walk knows of a keyword.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyword {
    pub(crate) shape: Shape,
    pub(crate) look: Look,
    /// Says nothing about what is valid.
    pub(crate) annotation: bool,
    /// Has no effect unless this one stands beside it.
    pub(crate) needs: Option<&'static str>,
}

const DATA: Keyword = Keyword {
    shape: Shape::Data,
    look: Look::Here,
    annotation: false,
    needs: None,
};
const NOTE: Keyword = Keyword {
    annotation: true,
    ..DATA
};

const fn applies(shape: Shape, look: Look) -> Keyword {
    Keyword {
        shape,
        look,
        annotation: false,
        needs: None,
    }
}

const fn only_with(needs: &'static str, keyword: Keyword) -> Keyword {
    Keyword {
        needs: Some(needs),
        ..keyword
    }
}

/// The keyword of that name in that draft, or `None` where it would be ignored.
pub(crate) fn keyword(draft: Draft, name: &str) -> Option<Keyword> {
    if name.starts_with("x-") {
        return Some(NOTE);
    }
    common(name).or_else(|| {
        if draft == Draft::Draft7 {
            draft7(name)
        } else {
            draft202012(name)
        }
    })
}

fn common(name: &str) -> Option<Keyword> {
    Some(match name {
        "type" | "enum" | "const" | "multipleOf" | "maximum" | "exclusiveMaximum" | "minimum"
        | "exclusiveMinimum" | "maxLength" | "minLength" | "pattern" | "format" | "maxItems"
        | "minItems" | "uniqueItems" | "maxProperties" | "minProperties" | "required" | "$ref" => {
            DATA
        }
        "title" | "description" | "examples" | "default" | "readOnly" | "writeOnly"
        | "contentEncoding" | "contentMediaType" | "$comment" | "$schema" | "$id" => NOTE,
        "deprecated" | "contentSchema" => NOTE,
        "definitions" | "$defs" => Keyword {
            annotation: true,
            ..applies(Shape::Named, Look::Nowhere)
        },
        "properties" | "patternProperties" => applies(Shape::Named, Look::Below),
        "additionalProperties" | "propertyNames" | "contains" => {
            applies(Shape::Schema, Look::Below)
        }
        "allOf" | "anyOf" | "oneOf" => applies(Shape::Schemas, Look::Here),
        "not" | "if" => applies(Shape::Schema, Look::Here),
        "then" | "else" => only_with("if", applies(Shape::Schema, Look::Here)),
        _ => return None,
    })
}

fn draft202012(name: &str) -> Option<Keyword> {
    Some(match name {
        "$anchor" => NOTE,
        "dependentRequired" => DATA,
        "maxContains" | "minContains" => only_with("contains", DATA),
        "prefixItems" => applies(Shape::Schemas, Look::Below),
        "items" | "unevaluatedItems" | "unevaluatedProperties" => {
            applies(Shape::Schema, Look::Below)
        }
        "dependentSchemas" => applies(Shape::Named, Look::Here),
        _ => return None,
    })
}

fn draft7(name: &str) -> Option<Keyword> {
    Some(match name {
        "items" => applies(Shape::SchemaOrSchemas, Look::Below),
        "additionalItems" => only_with("items", applies(Shape::Schema, Look::Below)),
        "dependencies" => applies(Shape::NamedOrLists, Look::Here),
        _ => return None,
    })
}

/// Every name that some draft knows, for telling a slip of the pen.
const KNOWN: &[&str] = &[
    "type",
    "enum",
    "const",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "format",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxProperties",
    "minProperties",
    "required",
    "title",
    "description",
    "examples",
    "default",
    "readOnly",
    "writeOnly",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "deprecated",
    "definitions",
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "contains",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "maxContains",
    "minContains",
    "prefixItems",
    "items",
    "unevaluatedItems",
    "unevaluatedProperties",
    "dependentSchemas",
    "additionalItems",
    "dependencies",
];

/// What is said of a keyword that the draft does not know.
pub(crate) fn unknown(draft: Draft, name: &str) -> String {
    let shown = escape(name, 80);
    if matches!(
        name,
        "$dynamicRef" | "$dynamicAnchor" | "$recursiveRef" | "$recursiveAnchor" | "$vocabulary"
    ) {
        return format!("`{shown}` is not taken: use `$ref` and `$defs`");
    }
    if name == "nullable" {
        return "`nullable` is not JSON Schema: add \"null\" to `type`".to_owned();
    }
    if KNOWN.contains(&name) {
        let draft = if draft == Draft::Draft7 {
            "draft 7"
        } else {
            "draft 2020-12"
        };
        return format!(
            "`{shown}` is ignored by {draft}: say `$schema` if another draft is meant, or leave it out"
        );
    }
    match nearest(name, KNOWN.iter().copied()) {
        Some(near) => format!("`{shown}` is no keyword: did you mean `{near}`?"),
        None => format!(
            "`{shown}` is no keyword and would be ignored: leave it out, call it `x-{shown}`, or take it as an annotation by name"
        ),
    }
}

/// The types of value on which a keyword can have an effect, for keywords that wait for one type.
pub(crate) fn waits_for(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "multipleOf" | "maximum" | "exclusiveMaximum" | "minimum" | "exclusiveMinimum" => {
            &["number", "integer"]
        }
        "maxLength" | "minLength" | "pattern" | "format" | "contentEncoding"
        | "contentMediaType" => &["string"],
        "items" | "prefixItems" | "contains" | "maxItems" | "minItems" | "uniqueItems"
        | "maxContains" | "minContains" | "unevaluatedItems" | "additionalItems" => &["array"],
        "properties"
        | "patternProperties"
        | "additionalProperties"
        | "propertyNames"
        | "required"
        | "maxProperties"
        | "minProperties"
        | "dependentRequired"
        | "dependentSchemas"
        | "unevaluatedProperties"
        | "dependencies" => &["object"],
        _ => return None,
    })
}

/// The formats that are enforced; each has a refused value in the tests.
pub(crate) fn is_enforced_format(draft: Draft, name: &str) -> bool {
    match name {
        "date"
        | "date-time"
        | "time"
        | "email"
        | "hostname"
        | "ipv4"
        | "ipv6"
        | "uri"
        | "uri-reference"
        | "uri-template"
        | "iri"
        | "iri-reference"
        | "json-pointer"
        | "relative-json-pointer"
        | "regex" => true,
        "duration" | "uuid" => draft != Draft::Draft7,
        _ => false,
    }
}

/// The word of `known` that was probably meant, if one is near.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    near(word, known).first().copied()
}

/// The words of `known` that may have been meant, the nearest first.
pub fn near<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Vec<&'k str> {
    if word.chars().count() > 64 {
        return Vec::new();
    }
    let word = word.to_lowercase();
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .map(|candidate| (distance(&word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= (candidate.chars().count() / 3).min(3))
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Edits between two words, neighbouring letters swapped counting as one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let get = |cells: &[usize], at: usize| cells.get(at).copied().unwrap_or(usize::MAX / 2);
            let mut cost = (get(&last, j + 1) + 1)
                .min(get(&row, j) + 1)
                .min(get(&last, j) + usize::from(from != to));
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(to) && b.get(j - 1) == Some(from);
            if swapped {
                cost = cost.min(get(&before_last, j - 1) + 1);
            }
            row.push(cost);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}
