//! A call of a function, as Chat Completions and Ollama write it.

use std::borrow::Cow;

use serde::de::MapAccess;

use super::lenient::{Field, Object};

/// A function with its arguments.
#[derive(Default)]
pub(crate) struct Function<'a> {
    pub(crate) name: Option<Cow<'a, str>>,
    /// The arguments as text. Arguments that are not a string are compact JSON.
    pub(crate) arguments: Cow<'a, str>,
}

impl<'de> Object<'de> for Function<'de> {
    fn read<A: MapAccess<'de>>(&mut self, field: Field<'_, 'de, A>) -> Result<(), A::Error> {
        match &*field.name {
            "name" => self.name = field.text()?,
            "arguments" => self.arguments = field.any()?.into_text(),
            _ => field.skip()?,
        }
        Ok(())
    }
}
