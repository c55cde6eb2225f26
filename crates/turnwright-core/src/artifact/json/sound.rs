//! Whether a text is JSON, by the same rules by which a value is kept, without keeping it.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A value that is sound JSON, by the same rules as one that is kept, but is not kept.
pub(super) struct Sound;

impl<'de> Deserialize<'de> for Sound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Sound)
    }
}

impl<'de> Visitor<'de> for Sound {
    type Value = Sound;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_str<E>(self, _: &str) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Sound, A::Error> {
        while items.next_element::<Sound>()?.is_some() {}
        Ok(Sound)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Sound, A::Error> {
        while members.next_entry::<Sound, Sound>()?.is_some() {}
        Ok(Sound)
    }
}
