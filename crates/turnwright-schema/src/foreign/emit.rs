//! Writes the document that is published: the original without what is not enforced.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value};

use super::survey::{Node, NodeId, Survey};
use super::verdict::{Judge, Verdict};
use super::wording;
use crate::keywords::Shape;
use crate::numeric::tighten;
use crate::pointer::join;
use crate::problem::SchemaProblem;
use crate::problem::{Unenforced, UnenforcedKind};
use crate::reference::{address, as_fragment};

/// The document that is published.
#[derive(Debug)]
pub(crate) struct Adapted {
    pub(crate) document: Value,
    pub(crate) unenforced: Vec<Unenforced>,
    /// The location in the original of each subschema that was moved.
    pub(crate) moved: BTreeMap<String, String>,
}

/// Writes the document.
pub(super) fn emit(survey: &Survey<'_>, judge: &Judge<'_>) -> Result<Adapted, SchemaProblem> {
    let mut writer = Writer {
        survey,
        judge,
        places: HashMap::new(),
        references: Vec::new(),
        unenforced: Vec::new(),
    };
    let mut document = writer.schema(0, String::new());
    writer.settle_references(&mut document)?;
    let moved = writer.places.iter().filter_map(|(id, place)| {
        let node = survey.nodes.get(*id)?;
        (node.pointer != *place).then(|| (place.clone(), node.pointer.clone()))
    });
    let moved = moved.collect();
    // What was moved may have been written twice.
    let mut listed = HashSet::new();
    let mut unenforced = writer.unenforced;
    unenforced.retain(|entry| listed.insert(entry.pointer.clone()));
    Ok(Adapted {
        document,
        unenforced,
        moved,
    })
}

struct Writer<'s, 'd> {
    survey: &'s Survey<'d>,
    judge: &'s Judge<'s>,
    /// Where each subschema is published.
    places: HashMap<NodeId, String>,
    /// The published location of each reference, and its node.
    references: Vec<(String, NodeId)>,
    unenforced: Vec<Unenforced>,
}

impl<'d> Writer<'_, 'd> {
    fn list(&mut self, pointer: String, keyword: &str, kind: UnenforcedKind, reason: &str) {
        self.unenforced.push(Unenforced {
            pointer,
            keyword: keyword.to_owned(),
            kind,
            reason: reason.to_owned(),
        });
    }

    /// Returns the published form of a subschema, which will be at `place`.
    fn schema(&mut self, id: NodeId, place: String) -> Value {
        let Some(node) = self.survey.nodes.get(id) else {
            return Value::Bool(true);
        };
        let written = match node.schema {
            Value::Object(map) => self.keywords(node, id, map, &place),
            Value::Bool(takes_all) => Value::Bool(*takes_all),
            other => {
                let keyword = crate::pointer::split_last(&node.pointer);
                let keyword = keyword.map(|(_, last)| last).unwrap_or_default();
                let kind = UnenforcedKind::Malformed;
                self.list(node.pointer.clone(), &keyword, kind, "is not a schema");
                let line = wording::line(kind, &keyword, other);
                let mut map = Map::new();
                if let (Some(line), false) = (line, other.is_null()) {
                    map.insert("description".to_owned(), line.into());
                }
                Value::Object(map)
            }
        };
        self.places.insert(id, place);
        written
    }

    fn keywords(
        &mut self,
        node: &Node<'d>,
        id: NodeId,
        map: &'d Map<String, Value>,
        place: &str,
    ) -> Value {
        let mut out = Map::new();
        let mut lines = Vec::new();
        let is_object = place.is_empty() && !self.judge.options.any_root;
        if is_object {
            out.insert("type".to_owned(), "object".into());
        }
        let mut bounds = Vec::new();
        let mut alternatives = None;
        for (name, value) in map {
            let pointer = join(&node.pointer, name);
            let mut published = name.as_str();
            match node.verdicts.get(name.as_str()) {
                Some(Verdict::Omit) => continue,
                Some(Verdict::Drop {
                    kind,
                    reason,
                    asserts,
                }) => {
                    self.list(pointer, name, *kind, reason);
                    let informs =
                        matches!(kind, UnenforcedKind::Format | UnenforcedKind::Discriminator);
                    if *asserts || informs {
                        lines.extend(wording::line(*kind, name, value));
                    }
                    continue;
                }
                Some(Verdict::Bounds {
                    bounds: found,
                    reason,
                }) => {
                    bounds.extend(found.iter().cloned());
                    if let Some(reason) = reason {
                        self.list(pointer, name, UnenforcedKind::Format, reason);
                        lines.extend(wording::line(UnenforcedKind::Format, name, value));
                    }
                    continue;
                }
                Some(Verdict::Replace(other)) => {
                    out.insert(name.clone(), other.clone());
                    continue;
                }
                Some(Verdict::Weaken(reason)) => {
                    let kind = UnenforcedKind::Dependent;
                    self.list(pointer, name, kind, reason);
                    lines.extend(wording::line(kind, name, value));
                    alternatives = Some(value);
                    continue;
                }
                Some(Verdict::Rename(other)) => published = other,
                None => {}
            }
            if let Some(needed) = self.judge.keyword(name).and_then(|known| known.needs)
                && node.verdicts.get(needed).is_some_and(Verdict::drops)
            {
                let kind = UnenforcedKind::Dependent;
                let reason = format!("depends on `{needed}`, which is not enforced");
                self.list(pointer, name, kind, &reason);
                lines.extend(wording::line(kind, name, value));
                continue;
            }
            if is_object && name == "type" {
                continue;
            }
            let written = self.value(node, name, value, &join(place, published), &mut lines);
            let nothing_left = !node.bad_names.is_empty() && name == "patternProperties";
            if !nothing_left || written.as_object().is_some_and(|named| !named.is_empty()) {
                out.insert(published.to_owned(), written);
            }
        }
        if let Some(value) = alternatives {
            self.any_of(node, value, place, &mut out);
        }
        for (keyword, bound) in bounds {
            tighten(&mut out, keyword, bound);
        }
        if is_nullable(node) && !is_object {
            allow_null(&mut out);
        }
        if node.target.is_some() && out.contains_key("$ref") {
            let legacy = self.judge.dialect.ignores_siblings_of_ref();
            let mut at = place.to_owned();
            if place.is_empty()
                && legacy
                && let Some(reference) = out.shift_remove("$ref")
            {
                // In draft 7 the `type` of the root would be ignored next to the reference.
                out.insert(
                    "allOf".to_owned(),
                    serde_json::json!([{ "$ref": reference }]),
                );
                "/allOf/0".clone_into(&mut at);
            }
            self.references.push((at, id));
        }
        if !lines.is_empty() {
            let own = out.get("description").and_then(Value::as_str);
            let text = wording::describe(own, lines);
            out.insert("description".to_owned(), text.into());
        }
        Value::Object(out)
    }

    /// Returns the published form of a keyword's value.
    fn value(
        &mut self,
        node: &Node<'d>,
        name: &str,
        value: &'d Value,
        place: &str,
        lines: &mut Vec<String>,
    ) -> Value {
        let shape = self
            .judge
            .keyword(name)
            .map_or(Shape::Data, |known| known.shape);
        match (shape, value) {
            (Shape::Data, _) => value.clone(),
            (Shape::Schemas | Shape::SchemaOrSchemas, Value::Array(schemas)) => {
                let items = schemas.iter().enumerate();
                items
                    .map(|(index, schema)| self.child(schema, join(place, &index.to_string())))
                    .collect()
            }
            (Shape::Named | Shape::NamedOrLists, Value::Object(schemas)) => {
                let mut named = Map::new();
                for (key, schema) in schemas {
                    if let Some(fault) = node
                        .bad_names
                        .get(key.as_str())
                        .filter(|_| name == "patternProperties")
                    {
                        let pointer = join(&join(&node.pointer, name), key);
                        let reason = format!("the name {fault}");
                        self.list(pointer, name, UnenforcedKind::Pattern, &reason);
                        let entry = serde_json::json!({ key: schema });
                        lines.extend(wording::line(UnenforcedKind::Pattern, name, &entry));
                        continue;
                    }
                    named.insert(key.clone(), self.child(schema, join(place, key)));
                }
                Value::Object(named)
            }
            _ => self.child(value, place.to_owned()),
        }
    }

    fn child(&mut self, schema: &Value, place: String) -> Value {
        match self.survey.seen.get(&address(schema)) {
            Some(id) => self.schema(*id, place),
            // A list of property names.
            None => schema.clone(),
        }
    }

    /// Publishes the alternatives of a `oneOf` as `anyOf`.
    fn any_of(
        &mut self,
        node: &Node<'d>,
        value: &'d Value,
        place: &str,
        out: &mut Map<String, Value>,
    ) {
        let mut lines = Vec::new();
        if !out.contains_key("anyOf") {
            let written = self.value(node, "oneOf", value, &join(place, "anyOf"), &mut lines);
            out.insert("anyOf".to_owned(), written);
            return;
        }
        let count = out
            .get("allOf")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        let place = format!("{place}/allOf/{count}/anyOf");
        let written = self.value(node, "oneOf", value, &place, &mut lines);
        let all = out
            .entry("allOf")
            .or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(all) = all {
            all.push(serde_json::json!({ "anyOf": written }));
        }
    }

    /// Directs every reference to where its target is published. Targets inside something that is not published are
    /// published as definitions.
    fn settle_references(&mut self, document: &mut Value) -> Result<(), SchemaProblem> {
        let definitions = if self.judge.dialect.ignores_siblings_of_ref() {
            "definitions"
        } else {
            "$defs"
        };
        while let Some((place, from)) = self.references.pop() {
            let Some(node) = self.survey.nodes.get(from) else {
                continue;
            };
            let Some((target, wanted)) = node
                .target
                .and_then(|id| Some((id, self.survey.nodes.get(id)?)))
            else {
                continue;
            };
            let published = match self.places.get(&target) {
                Some(published) => published.clone(),
                None => {
                    let name = free_name(document, definitions);
                    let published = join(&join("", definitions), &name);
                    let written = self.schema(target, published.clone());
                    if let Value::Object(root) = document
                        && let Value::Object(all) = root
                            .entry(definitions)
                            .or_insert_with(|| Value::Object(Map::new()))
                    {
                        all.insert(name, written);
                    }
                    published
                }
            };
            if published == wanted.pointer {
                continue;
            }
            if self.survey.has_scopes {
                let message = "refers to a part of the document that is not enforced, and the document has more than one `$id`";
                return Err(SchemaProblem::new(join(&node.pointer, "$ref"), message));
            }
            if let Some(Value::Object(map)) = document.pointer_mut(&place) {
                let text = format!("#{}", as_fragment(&published));
                map.insert("$ref".to_owned(), text.into());
            }
        }
        Ok(())
    }
}

/// Returns `true` if the schema has OpenAPI's `nullable` and a type to which `null` can be added.
fn is_nullable(node: &Node<'_>) -> bool {
    matches!(
        node.verdicts.get("nullable"),
        Some(Verdict::Drop {
            kind: UnenforcedKind::Nullable,
            ..
        })
    )
}

fn allow_null(map: &mut Map<String, Value>) {
    match map.get_mut("type") {
        Some(Value::Array(names)) if !names.contains(&"null".into()) => names.push("null".into()),
        Some(own @ Value::String(_)) if own != "null" => {
            *own = Value::Array(vec![own.take(), "null".into()]);
        }
        _ => {}
    }
}

/// Returns a name that no definition has.
fn free_name(document: &Value, definitions: &str) -> String {
    let all = document.get(definitions).and_then(Value::as_object);
    let is_free = |name: &String| !all.is_some_and(|all| all.contains_key(name));
    let start = all.map_or(0, Map::len);
    let mut names = (start..).map(|number| format!("moved{number}"));
    names.find(is_free).unwrap_or_default()
}
