//! Checks whether a text is JSON without building a value.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// Any JSON value, checked by the same rules as `Value` (depth, numbers, escapes), which `IgnoredAny` does not apply.
pub(super) struct ValidJson;

impl<'de> Deserialize<'de> for ValidJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValidJson)
    }
}

impl<'de> Visitor<'de> for ValidJson {
    type Value = ValidJson;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<ValidJson, E> {
        Ok(ValidJson)
    }

    fn visit_bool<E>(self, _: bool) -> Result<ValidJson, E> {
        Ok(ValidJson)
    }

    fn visit_i64<E>(self, _: i64) -> Result<ValidJson, E> {
        Ok(ValidJson)
    }

    fn visit_u64<E>(self, _: u64) -> Result<ValidJson, E> {
        Ok(ValidJson)
    }

    fn visit_f64<E>(self, _: f64) -> Result<ValidJson, E> {
        Ok(ValidJson)
    }

    fn visit_str<E>(self, _: &str) -> Result<ValidJson, E> {
        Ok(ValidJson)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<ValidJson, A::Error> {
        while items.next_element::<ValidJson>()?.is_some() {}
        Ok(ValidJson)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<ValidJson, A::Error> {
        while members.next_entry::<ValidJson, ValidJson>()?.is_some() {}
        Ok(ValidJson)
    }
}
