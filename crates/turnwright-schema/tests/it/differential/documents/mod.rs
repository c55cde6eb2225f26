//! Random documents of both drafts. Most locations of each document are satisfiable, so that generated values have a
//! chance. They contain nothing that a `Schema` rejects: cycles that do not descend, keywords without effect,
//! assertions next to a draft 7 `$ref`.

mod arrays;
mod combined;
mod defaults;
mod objects;
mod scalars;

use serde_json::{Map, Value, json};

use super::rng::Rng;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Draft {
    V2020,
    V7,
}

impl Draft {
    fn uri(self) -> &'static str {
        match self {
            Self::V2020 => "https://json-schema.org/draft/2020-12/schema",
            Self::V7 => "http://json-schema.org/draft-07/schema#",
        }
    }

    pub(super) fn of(document: &Value) -> Self {
        match document.get("$schema").and_then(Value::as_str) {
            Some(uri) if uri.contains("draft-07") => Self::V7,
            _ => Self::V2020,
        }
    }

    pub(super) fn defs(self) -> &'static str {
        match self {
            Self::V2020 => "$defs",
            Self::V7 => "definitions",
        }
    }
}

/// Property names shared by documents and random values. Two of them have characters that a JSON pointer escapes.
pub(super) const NAMES: &[&str] = &[
    "a", "b", "c", "d", "e", "list", "node", "x1", "k_n", "s/t", "m~n",
];

pub(super) type Schema = Map<String, Value>;

/// The position of a subschema: what a `$ref` may point to without returning to itself at the same location of the
/// value.
#[derive(Clone, Copy)]
struct Place {
    depth: usize,
    /// Definitions from this index on may be referred to; `0` after descending into the value.
    from: usize,
    /// The root may be referred to.
    root: bool,
}

impl Place {
    fn down(self) -> Self {
        Self {
            depth: self.depth + 1,
            from: 0,
            root: true,
        }
    }

    fn same(self) -> Self {
        Self {
            depth: self.depth + 1,
            ..self
        }
    }
}

/// Generates one random document, with defaults that their subschemas accept.
pub(super) fn document(rng: &mut Rng) -> Value {
    let draft = if rng.chance(40) {
        Draft::V7
    } else {
        Draft::V2020
    };
    let size = rng.between(6, 28);
    let definitions = rng.weighted(&[35, 35, 20, 10]);
    let mut writer = Writer {
        rng,
        draft,
        left: size,
        definitions,
    };
    let mut document = writer.root();
    defaults::fill(&mut document, rng);
    document
}

struct Writer<'r> {
    rng: &'r mut Rng,
    draft: Draft,
    /// How many more subschemas may have parts.
    left: i64,
    definitions: usize,
}

impl Writer<'_> {
    fn root(&mut self) -> Value {
        let place = Place {
            depth: 0,
            from: 0,
            root: false,
        };
        let mut root = Schema::new();
        if self.draft == Draft::V7 || self.rng.chance(50) {
            root.insert("$schema".into(), self.draft.uri().into());
        }
        if self.rng.chance(5) {
            root.insert("$id".into(), "https://example.com/arguments.json".into());
        }
        root.extend(self.object(place));
        let definitions: Vec<_> = (0..self.definitions)
            .map(|index| self.definition(index))
            .collect();
        if !definitions.is_empty() {
            let named: Schema = definitions
                .into_iter()
                .enumerate()
                .map(|(i, schema)| (format!("D{i}"), schema))
                .collect();
            root.insert(self.draft.defs().into(), Value::Object(named));
        }
        Value::Object(root)
    }

    fn definition(&mut self, index: usize) -> Value {
        self.left = self.left.max(3);
        let place = Place {
            depth: 1,
            from: index + 1,
            root: false,
        };
        let mut schema = if self.rng.chance(35) {
            self.tree(index, place)
        } else {
            self.schema_object(place)
        };
        // Draft 7 ignores an anchor next to a `$ref`.
        if !(self.draft == Draft::V7 && schema.contains_key("$ref")) && index.is_multiple_of(2) {
            match self.draft {
                Draft::V2020 => schema.insert("$anchor".into(), format!("anchor{index}").into()),
                Draft::V7 => schema.insert("$id".into(), format!("#anchor{index}").into()),
            };
        }
        Value::Object(schema)
    }

    /// Generates a definition that refers to itself one level down.
    fn tree(&mut self, index: usize, place: Place) -> Schema {
        let itself = json!({ "$ref": self.pointer_to(index) });
        let label = self.schema(place.down());
        let mut tree = Schema::new();
        tree.insert("type".into(), "object".into());
        let children = json!({ "type": "array", "items": itself });
        tree.insert(
            "properties".into(),
            json!({ "a": label, "list": children, "node": itself }),
        );
        if self.rng.chance(30) {
            tree.insert("required".into(), json!(["a"]));
        }
        if self.rng.chance(40) {
            tree.insert("additionalProperties".into(), false.into());
        }
        tree
    }

    fn pointer_to(&self, index: usize) -> String {
        format!("#/{}/D{index}", self.draft.defs())
    }

    fn reference(&mut self, place: Place) -> Option<Schema> {
        let known = self.definitions.saturating_sub(place.from);
        if place.root && (known == 0 || self.rng.chance(10)) && self.rng.chance(60) {
            return Some(Schema::from_iter([("$ref".into(), "#".into())]));
        }
        if known == 0 {
            return None;
        }
        let index = place.from + self.rng.below(known);
        // Even definitions have an anchor, unless a `$ref` hides it. A pointer always works.
        let mut schema = Schema::from_iter([("$ref".into(), self.pointer_to(index).into())]);
        if self.draft == Draft::V2020 && index.is_multiple_of(2) && self.rng.chance(30) {
            schema.insert("$ref".into(), format!("#anchor{index}").into());
        }
        if self.draft == Draft::V2020 && self.rng.chance(15) {
            schema.extend(self.scalar());
        }
        Some(schema)
    }

    fn schema(&mut self, place: Place) -> Value {
        if self.rng.chance(3) {
            return true.into();
        }
        Value::Object(self.schema_object(place))
    }

    fn schema_object(&mut self, place: Place) -> Schema {
        self.left -= 1;
        let mut schema = if self.left <= 0 || place.depth >= 5 {
            self.scalar()
        } else {
            match self.rng.weighted(&[42, 17, 14, 9, 5, 3, 4, 12]) {
                0 => self.scalar(),
                1 => self.object(place),
                2 => self.array(place),
                3 => self.union(place),
                4 => self.all_of(place),
                5 => self.negation(place),
                6 => self.conditional(place),
                _ => self.reference(place).unwrap_or_else(|| self.scalar()),
            }
        };
        self.annotate(&mut schema);
        schema
    }

    fn annotate(&mut self, schema: &mut Schema) {
        let (keyword, value) = match self.rng.below(90) {
            0 => ("title", json!("a title")),
            1 | 2 => ("description", json!("what it is for")),
            3 => ("examples", json!([1, "one"])),
            4 => ("$comment", json!("why")),
            5 => ("readOnly", json!(true)),
            6 => ("writeOnly", json!(true)),
            7 => ("x-origin", json!({ "minLenght": 3 })),
            8 if self.draft == Draft::V2020 => ("deprecated", json!(true)),
            9 if self.draft == Draft::V2020 => ("contentMediaType", json!("application/json")),
            10 if self.draft == Draft::V2020 => ("contentEncoding", json!("base64")),
            _ => return,
        };
        schema.insert(keyword.into(), value);
    }
}
