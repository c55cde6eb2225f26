//! `#[arg(…)]`: options for one parameter.

use syn::{Attribute, Expr, LitStr};

use crate::bound::Bound;
use crate::entries::{Entry, Keys};
use crate::refusals::Refusals;
use crate::text::Text;

const KEYS: Keys = Keys {
    attribute: "#[arg]",
    known: "default, min, max, exclusive_min, exclusive_max, multiple_of, min_length, max_length, pattern, format, \
            min_items, max_items, unique_items, rename, example, note, description",
    repeatable: &["example", "note"],
};

/// The doc comment and the `#[arg(…)]` of a parameter.
#[derive(Default)]
pub(crate) struct ArgOptions {
    pub(crate) default: Option<Expr>,
    pub(crate) rename: Option<LitStr>,
    pub(crate) examples: Vec<Expr>,
    pub(crate) bounds: Vec<Bound>,
    /// The doc comment or `description`, with one line for each note.
    pub(crate) description: Option<Text>,
}

impl ArgOptions {
    /// Reads the `#[arg]` attributes and doc comments of a parameter.
    pub(crate) fn read(attributes: &[Attribute], refusals: &mut Refusals) -> Self {
        let mut entries = Vec::new();
        for attribute in attributes.iter().filter(|attribute| is_arg(attribute)) {
            match attribute.meta.require_list() {
                Ok(list) => KEYS.read(list.tokens.clone(), &mut entries, refusals),
                Err(_) => refusals.refuse(
                    attribute,
                    "`#[arg]` has no keys: write `#[arg(key = value)]`, or remove it",
                ),
            }
        }
        let mut options = Self {
            description: Text::from_docs(attributes),
            ..Self::default()
        };
        let mut notes = Vec::new();
        for entry in &entries {
            refusals.collect(options.take(entry, &mut notes));
        }
        for note in notes {
            let description = options.description.get_or_insert_default();
            description.push_line("Note: ", note);
        }
        options
    }

    fn take(&mut self, entry: &Entry, notes: &mut Vec<Text>) -> syn::Result<()> {
        match entry.key.to_string().as_str() {
            "default" => self.default = Some(entry.required("…")?.clone()),
            "example" => self.examples.push(entry.required("…")?.clone()),
            "note" => notes.push(entry.text()?),
            "rename" => {
                let name = entry.string()?;
                if name.value().is_empty() {
                    return Err(syn::Error::new_spanned(
                        name,
                        "`rename` is the argument's name in the schema: it cannot be empty",
                    ));
                }
                self.rename = Some(name.clone());
            }
            "description" if self.description.is_some() => {
                return Err(syn::Error::new_spanned(
                    &entry.key,
                    "this parameter has both a doc comment and a `description`: remove one of them",
                ));
            }
            "description" => self.description = Some(entry.text()?),
            _ => self.bounds.extend(Bound::read(entry)?),
        }
        Ok(())
    }
}

/// Returns `true` for our `#[arg(…)]`.
pub(crate) fn is_arg(attribute: &Attribute) -> bool {
    attribute.path().is_ident("arg")
}
