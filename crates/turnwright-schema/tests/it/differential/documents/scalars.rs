//! Subschemas without parts: numbers, strings, enumerations, or several types at once.

use serde_json::{Value, json};

use super::super::texts;
use super::{Draft, Schema, Writer};

impl Writer<'_> {
    pub(super) fn scalar(&mut self) -> Schema {
        match self.rng.weighted(&[22, 16, 12, 10, 2, 9, 6, 10, 3]) {
            0 => self.text(),
            1 => self.number("integer"),
            2 => self.number("number"),
            3 => typed("boolean"),
            4 => typed("null"),
            5 => self.enumeration(),
            6 => Schema::from_iter([("const".into(), self.literal())]),
            7 => self.several_types(),
            _ => Schema::new(),
        }
    }

    pub(super) fn text(&mut self) -> Schema {
        let mut schema = typed("string");
        match self.rng.below(4) {
            0 => self.lengths(&mut schema),
            1 => {
                schema.insert("pattern".into(), self.rng.pick(texts::PATTERNS).name.into());
            }
            2 => {
                let known = |text: &&texts::Text| {
                    self.draft == Draft::V2020 || !texts::NOT_IN_DRAFT_7.contains(&text.name)
                };
                let formats: Vec<_> = texts::FORMATS.iter().filter(known).collect();
                schema.insert("format".into(), self.rng.pick(&formats).name.into());
            }
            _ if self.draft == Draft::V7 && self.rng.chance(20) => {
                let (keyword, name) = *self.rng.pick(&[
                    ("contentEncoding", "base64"),
                    ("contentMediaType", "application/json"),
                ]);
                schema.insert(keyword.into(), name.into());
            }
            _ => {}
        }
        schema
    }

    pub(super) fn lengths(&mut self, schema: &mut Schema) {
        let least = self.rng.between(0, 3);
        if self.rng.chance(70) {
            schema.insert("minLength".into(), least.into());
        }
        if self.rng.chance(60) {
            schema.insert("maxLength".into(), (least + self.rng.between(0, 6)).into());
        }
    }

    /// Bounds and factors are multiples of a quarter: exact in binary, because one implementation divides floats and
    /// the other fractions.
    fn number(&mut self, kind: &str) -> Schema {
        let mut schema = typed(kind);
        let scale = if kind == "number" && self.rng.chance(50) {
            4.0
        } else {
            1.0
        };
        let low = self.rng.between(-20, 20);
        let high = low + self.rng.between(4, 60);
        if self.rng.chance(40) {
            let keyword = if self.rng.chance(70) {
                "minimum"
            } else {
                "exclusiveMinimum"
            };
            schema.insert(keyword.into(), number(low as f64 / scale));
        }
        if self.rng.chance(35) {
            let keyword = if self.rng.chance(70) {
                "maximum"
            } else {
                "exclusiveMaximum"
            };
            schema.insert(keyword.into(), number(high as f64 / scale));
        }
        if self.rng.chance(12) {
            let factor = if kind == "integer" {
                *self.rng.pick(&[2.0, 3.0])
            } else {
                *self.rng.pick(&[0.25, 0.5, 2.0])
            };
            schema.insert("multipleOf".into(), number(factor));
        }
        schema
    }

    fn enumeration(&mut self) -> Schema {
        let mut values: Vec<Value> = Vec::new();
        for _ in 0..self.rng.between(1, 4) {
            let value = self.literal();
            if !values.contains(&value) {
                values.push(value);
            }
        }
        Schema::from_iter([("enum".into(), Value::Array(values))])
    }

    /// Numbers are never written in two ways (`1` and `1.0`), because implementations disagree on whether an `enum`
    /// may contain both.
    pub(super) fn literal(&mut self) -> Value {
        match self.rng.below(10) {
            0..4 => json!(self.rng.pick(&["red", "green", "5", "true", ""])),
            4..7 => json!(self.rng.between(-3, 9)),
            7 => json!(self.rng.chance(50)),
            8 => self.rng.pick(&[json!(2.5), Value::Null]).clone(),
            _ => self
                .rng
                .pick(&[json!({ "a": 1 }), json!([1, "b"]), json!([]), json!({})])
                .clone(),
        }
    }

    fn several_types(&mut self) -> Schema {
        const SETS: &[&[&str]] = &[
            &["string", "null"],
            &["integer", "null"],
            &["integer", "boolean"],
            &["number", "string"],
            &["boolean", "object"],
            &["array", "null"],
            &["object", "array"],
            &["number", "integer"],
        ];
        let types = *self.rng.pick(SETS);
        let mut schema = Schema::from_iter([("type".into(), json!(types))]);
        if types.contains(&"string") && self.rng.chance(40) {
            self.lengths(&mut schema);
        }
        if self.rng.chance(25) {
            schema.insert("minimum".into(), self.rng.between(-5, 5).into());
        }
        schema
    }
}

pub(super) fn typed(kind: &str) -> Schema {
    Schema::from_iter([("type".into(), kind.into())])
}

/// Returns `5` rather than `5.0` if there is no fraction.
pub(super) fn number(value: f64) -> Value {
    if value.fract() == 0.0 {
        json!(value as i64)
    } else {
        json!(value)
    }
}
