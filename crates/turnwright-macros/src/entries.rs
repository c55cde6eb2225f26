//! The `key`, `key = value` lists in `#[tool(…)]` and `#[arg(…)]`.

use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Expr, Lit, LitStr, Token};

use crate::refusals::Refusals;
use crate::text::{Text, literal};

/// One key with its value.
pub(crate) struct Entry {
    pub(crate) key: Ident,
    pub(crate) value: Option<Expr>,
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        // Any word, so that a keyword (`type = …`) is answered with the list of keys instead of a syntax error.
        let key = Ident::parse_any(input)?;
        let equals: Option<Token![=]> = input.parse()?;
        let value = equals.map(|_| input.parse()).transpose()?;
        Ok(Self { key, value })
    }
}

/// The keys that a list may contain.
pub(crate) struct Keys {
    /// The attribute, as the author writes it: `#[arg]`.
    pub(crate) attribute: &'static str,
    /// All keys, as they are listed in messages.
    pub(crate) known: &'static str,
    pub(crate) repeatable: &'static [&'static str],
}

impl Keys {
    /// Reads a list and appends it to `entries`. Unknown and repeated keys are reported and skipped.
    pub(crate) fn read(
        &self,
        tokens: TokenStream,
        entries: &mut Vec<Entry>,
        refusals: &mut Refusals,
    ) {
        let parsed = Punctuated::<Entry, Token![,]>::parse_terminated.parse2(tokens);
        for entry in refusals.collect(parsed).into_iter().flatten() {
            match self.problem(&entry.key, entries) {
                Some(sentence) => refusals.refuse(&entry.key, sentence),
                None => entries.push(entry),
            }
        }
    }

    fn problem(&self, key: &Ident, entries: &[Entry]) -> Option<String> {
        let word = key.to_string();
        let (attribute, known) = (self.attribute, self.known);
        if !known.split(", ").any(|key| key == word) {
            return Some(format!(
                "`{word}` is not a key of `{attribute}`; the keys are: {known}"
            ));
        }
        let repeated = entries.iter().any(|earlier| earlier.key == *key);
        (repeated && !self.repeatable.contains(&word.as_str())).then(|| {
            format!("`{word}` appears twice: remove one; the keys of `{attribute}` are: {known}")
        })
    }
}

impl Entry {
    /// Returns the value that this key requires. `shape` shows what to write.
    pub(crate) fn required(&self, shape: &str) -> syn::Result<&Expr> {
        self.value.as_ref().ok_or_else(|| {
            let key = &self.key;
            syn::Error::new_spanned(
                key,
                format_args!("`{key}` needs a value: `{key} = {shape}`"),
            )
        })
    }

    /// Returns a string literal.
    pub(crate) fn string(&self) -> syn::Result<&LitStr> {
        let value = self.required("\"…\"")?;
        match literal(value) {
            Some(Lit::Str(text)) => Ok(text),
            _ => Err(self.wrong(value, "a string literal", "\"…\"")),
        }
    }

    /// Returns a string literal, or a macro that produces one (`concat!`, `include_str!`).
    pub(crate) fn text(&self) -> syn::Result<Text> {
        let value = self.required("\"…\"")?;
        let wanted = "a string literal, or `concat!` or `include_str!`";
        let text = Text::from_expr(value).ok_or_else(|| self.wrong(value, wanted, "\"…\""))?;
        if text.is_blank() {
            let key = &self.key;
            let sentence = format!("`{key}` is empty: write a sentence for the model");
            return Err(syn::Error::new_spanned(value, sentence));
        }
        Ok(text)
    }

    /// Returns `true` for the key alone, otherwise the literal.
    pub(crate) fn flag(&self) -> syn::Result<bool> {
        let Some(value) = &self.value else {
            return Ok(true);
        };
        match literal(value) {
            Some(Lit::Bool(flag)) => Ok(flag.value),
            _ => Err(self.wrong(value, "`true` or `false`", "true")),
        }
    }

    /// Returns the choice that the author wrote.
    pub(crate) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> syn::Result<T> {
        let words = choices.iter().map(|(word, _)| format!("\"{word}\""));
        let words: Vec<_> = words.collect();
        let value = self.required(&words.join(" | "))?;
        let chosen = match literal(value) {
            Some(Lit::Str(text)) => text.value(),
            _ => String::new(),
        };
        let choice = choices.iter().find(|(word, _)| *word == chosen);
        choice.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let sentence = format!("`{}` must be one of {}", self.key, words.join(", "));
            syn::Error::new_spanned(value, sentence)
        })
    }

    /// Returns the error for a value of another kind. `shape` shows what to write.
    pub(crate) fn wrong(&self, value: &Expr, wanted: &str, shape: &str) -> syn::Error {
        let key = &self.key;
        syn::Error::new_spanned(
            value,
            format_args!("`{key}` must be {wanted}: `{key} = {shape}`"),
        )
    }
}
