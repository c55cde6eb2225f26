//! Changes that break one keyword of a value. The validator decides whether they do.

use serde_json::{Number, Value, json};

use super::coverage::Site;
use super::document::{Object, float, floor, item_schema, size};
use super::format;
use super::generator::Generator;
use super::generator::number::integer_value;

/// Longer strings would exceed the size limit on arguments first.
const MAX_LEN: usize = 50_000;
/// More items or properties would only be slow.
const MAX_ITEMS: usize = 2_000;

/// Returns values for the location of a site that its keyword may reject. `None` if the keyword only applies
/// subschemas.
pub(crate) fn mutations<'d>(
    generator: &mut Generator<'_, 'd>,
    site: &Site<'d>,
    part: &Value,
) -> Option<Vec<Value>> {
    let rule = site.schema.get(site.keyword)?;
    Some(match (site.keyword, part) {
        ("$ref" | "allOf" | "if" | "then" | "else" | "dependentSchemas" | "prefixItems", _) => {
            return None;
        }
        ("type" | "anyOf", _) => one_of_each(),
        ("enum" | "const", _) => unlisted(rule, part),
        ("not", _) => (0..6).filter_map(|_| generator.part(&[rule])).collect(),
        ("oneOf", _) => {
            // Two accepting branches are one too many.
            let mut branches: Vec<&'d Value> = rule.as_array().into_iter().flatten().collect();
            let twice = (0..6).filter_map(|_| {
                generator.rng.shuffle(&mut branches);
                generator.part(branches.get(..2)?)
            });
            twice.chain(one_of_each()).collect()
        }
        (keyword, Value::Number(number)) => numbers(keyword, rule.as_number()?, number),
        (keyword, Value::String(text)) => strings(generator, keyword, rule, text),
        (_, Value::Array(items)) => {
            let changed = arrays(generator, site, rule, items)?;
            changed.into_iter().map(Value::Array).collect()
        }
        (_, Value::Object(object)) => {
            let changed = objects(generator, site, rule, object)?;
            changed.into_iter().map(Value::Object).collect()
        }
        _ => return None,
    })
}

/// Returns a value of every type. The text is one that no coercion converts.
fn one_of_each() -> Vec<Value> {
    let objects = [json!({}), json!({ "¿": "?" })];
    let scalars = [
        Value::Null,
        json!(true),
        json!(12_345),
        json!(1.5),
        json!("¿nothing of the kind?"),
    ];
    let arrays = [json!([]), json!(["¿"])];
    scalars.into_iter().chain(arrays).chain(objects).collect()
}

/// Returns values next to those that a list allows.
fn unlisted(rule: &Value, part: &Value) -> Vec<Value> {
    let mut parts = one_of_each();
    if let Value::String(text) = part {
        parts.extend([
            json!(format!("{text}¿")),
            json!(format!("¿{}", text.to_uppercase())),
        ]);
    }
    let single = std::slice::from_ref(rule);
    let listed = rule.as_array().map_or(single, Vec::as_slice);
    let numbers = listed
        .iter()
        .filter_map(|value| Some(floor(value.as_number()?)));
    let highest = numbers.max();
    parts.extend(highest.and_then(|highest| integer_value(highest.saturating_add(1))));
    parts.extend([json!(false), json!(0)]);
    parts
}

fn numbers(keyword: &str, rule: &Number, number: &Number) -> Vec<Value> {
    if keyword == "multipleOf" {
        let more = (1..4).filter_map(|more| integer_value(floor(number).saturating_add(more)));
        let shares = [0.5, 0.25].map(|share| json!(float(number) + float(rule) * share));
        return more.chain(shares).collect();
    }
    let sign = if keyword.ends_with("inimum") { -1 } else { 1 };
    let near = [0, 1, 2, 1_000].into_iter();
    let near = near.filter_map(|more| integer_value(floor(rule).saturating_add(sign * more)));
    let (bound, sign) = (float(rule), if sign < 0 { -1.0 } else { 1.0 });
    // Integers at the end of their range have no neighbour in 64 bits; floats do.
    let steps = [0.0, 0.5, bound.abs().max(1.0)];
    let floats = steps.map(|step| json!(bound + sign * step));
    near.chain(floats).collect()
}

fn strings<'d>(
    generator: &mut Generator<'_, 'd>,
    keyword: &str,
    rule: &'d Value,
    text: &str,
) -> Vec<Value> {
    let texts: Vec<String> = match (keyword, size(Some(rule))) {
        ("minLength", Some(least)) if least > 0 => {
            let cut = text.chars().take(least - 1).collect();
            // As many bytes as the rule requires characters, or more: characters count.
            vec![cut, "é".repeat(least - 1), String::new()]
        }
        ("maxLength", Some(most)) if most < MAX_LEN => {
            let missing = (most + 1).saturating_sub(text.chars().count());
            let last = text.chars().last().unwrap_or('x').to_string();
            vec![
                format!("{text}{}", last.repeat(missing)),
                format!("{text}{}", "x".repeat(missing)),
                "x".repeat(most + 1),
            ]
        }
        ("pattern", _) => unmatched(generator, text),
        ("format", _) => {
            let format = rule.as_str().and_then(format::named);
            format.map_or_else(Vec::new, |format| format.invalid.clone())
        }
        _ => Vec::new(),
    };
    texts.into_iter().map(Value::String).collect()
}

/// Returns texts near a match, and some far from it.
fn unmatched(generator: &mut Generator<'_, '_>, text: &str) -> Vec<String> {
    let far = ["", "!", "~", "a", "A", "0", "-", " ", "?? ??", "zzz", "\n"];
    let mut texts: Vec<String> = far.map(str::to_owned).into();
    let letters: Vec<char> = text.chars().collect();
    for sign in ['!', '~', 'q', 'Q', '5', ' ', '\n'] {
        let mut changed = letters.clone();
        let index = generator.rng.usize(..changed.len().max(1));
        if let Some(letter) = changed.get_mut(index) {
            *letter = sign;
        }
        texts.push(changed.into_iter().collect());
        texts.push(format!("{text}{sign}"));
        texts.push(format!("{sign}{text}"));
        texts.push(sign.to_string().repeat(letters.len()));
    }
    texts.push(letters.iter().skip(1).collect());
    texts.push(letters.iter().rev().skip(1).rev().collect());
    texts
}

fn arrays<'d>(
    generator: &mut Generator<'_, 'd>,
    site: &Site<'d>,
    rule: &'d Value,
    items: &[Value],
) -> Option<Vec<Vec<Value>>> {
    let mut more = items.to_vec();
    let number = size(Some(rule)).unwrap_or(0);
    Some(match site.keyword {
        "minItems" => {
            more.truncate(number.saturating_sub(1));
            vec![more]
        }
        "maxItems" => {
            while more.len() <= number.min(MAX_ITEMS) {
                let rule = item_schema(generator.doc, site.schema, more.len());
                let made = generator.part(rule.as_slice());
                let made = made.filter(|item| !more.contains(item));
                more.push(made.or_else(|| items.last().cloned()).unwrap_or_default());
            }
            vec![more]
        }
        "uniqueItems" => {
            let first = items.first().cloned().unwrap_or_default();
            let mut exchanged = more.clone();
            exchanged.pop();
            exchanged.push(first.clone());
            more.push(first.clone());
            vec![more, exchanged, vec![first.clone(), first]]
        }
        "contains" | "minContains" => {
            let wanted = site.schema.get("contains")?;
            let validator = generator.validator;
            more.retain(|item| !validator.accepts(wanted, item));
            let mut exchanged = items.to_vec();
            for (index, item) in exchanged.iter_mut().enumerate() {
                let rule = item_schema(generator.doc, site.schema, index);
                let mut others = (0..10)
                    .filter_map(|_| generator.part(rule.as_slice()))
                    .chain(one_of_each());
                if validator.accepts(wanted, item) {
                    *item = others.find(|other| !validator.accepts(wanted, other))?;
                }
            }
            vec![more, exchanged, Vec::new()]
        }
        "maxContains" => {
            for _ in 0..=number.min(MAX_ITEMS) {
                let rule = item_schema(generator.doc, site.schema, more.len());
                let wanted = site.schema.get("contains");
                let rules: Vec<&Value> = wanted.into_iter().chain(rule).collect();
                more.extend(generator.part(&rules));
            }
            vec![more]
        }
        "unevaluatedItems" | "items" | "additionalItems" if !rule.is_array() => one_of_each()
            .into_iter()
            .map(|item| items.iter().cloned().chain([item]).collect())
            .collect(),
        _ => return None,
    })
}

fn objects<'d>(
    generator: &mut Generator<'_, 'd>,
    site: &Site<'d>,
    rule: &'d Value,
    object: &Object,
) -> Option<Vec<Object>> {
    let with = |name: &str, value: &Value| {
        let mut more = object.clone();
        more.insert(name.to_owned(), value.clone());
        more
    };
    let number = size(Some(rule)).unwrap_or(0);
    let forbidden = || {
        let named = rule.as_object().into_iter().flatten();
        named.filter_map(|(name, schema)| (schema == &Value::Bool(false)).then_some(name))
    };
    let names: Vec<String> = match site.keyword {
        "required" | "dependentRequired" | "dependencies" => {
            let without = |name: &String| {
                let mut less = object.clone();
                less.shift_remove(name);
                less
            };
            return Some(object.keys().map(without).collect());
        }
        "minProperties" => {
            let required = site.schema.get("required").and_then(Value::as_array);
            let is_required =
                |name: &String| required.is_some_and(|all| all.contains(&json!(name)));
            let mut entries: Vec<(&String, &Value)> = object.iter().collect();
            entries.sort_by_key(|(name, _)| !is_required(name));
            entries.truncate(number.saturating_sub(1));
            let entries = entries.into_iter();
            let less = entries.map(|(name, value)| (name.clone(), value.clone()));
            return Some(vec![less.collect()]);
        }
        "maxProperties" => {
            let mut more = object.clone();
            let known = site.schema.get("properties").and_then(Value::as_object);
            let mut unused: Vec<String> =
                known.into_iter().flat_map(Object::keys).cloned().collect();
            unused.retain(|name| !object.contains_key(name));
            while more.len() <= number.min(MAX_ITEMS / 10) {
                let taken: Vec<String> = more.keys().cloned().collect();
                let free = unused.pop();
                let name = free.or_else(|| generator.free_name(&[site.schema], &taken))?;
                let rules = generator.property_schemas(&[site.schema], &name);
                more.insert(name, generator.part(&rules)?);
            }
            return Some(vec![more]);
        }
        "properties" => forbidden().cloned().collect(),
        "patternProperties" => forbidden()
            .filter_map(|text| generator.doc.pattern(text).ok()?.sample(generator.rng, 2))
            .collect(),
        // Names that hardly any document uses, including a slash and a tilde, which a pointer escapes.
        "additionalProperties" | "unevaluatedProperties" => {
            ["¿unexpected?", "un/expected~", "unexpected"]
                .map(str::to_owned)
                .into()
        }
        "propertyNames" => {
            let odd = ["", "¿", "a", "A", "0", "!", "two words", "UPPER", "\n"];
            let long = [2, 5, 9, 17, 33, 65, 129, 257].map(|length| "x".repeat(length));
            odd.map(str::to_owned).into_iter().chain(long).collect()
        }
        _ => return None,
    };
    if names.is_empty() {
        return None;
    }
    let values = match site.keyword {
        "propertyNames" | "properties" | "patternProperties" => vec![json!(1)],
        _ => one_of_each(),
    };
    let all = names.iter().filter(|name| !object.contains_key(*name));
    let changed = all.flat_map(|name| values.iter().map(|value| with(name, value)));
    Some(changed.collect())
}
