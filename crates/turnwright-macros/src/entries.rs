//! The `key`, `key = value` lists in `#[tool(…)]` and `#[arg(…)]`.

use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Expr, Lit, LitStr, Token};

use crate::refusals::Refusals;
use crate::text::{Text, literal};

/// One key with the value that was written for it.
pub(crate) struct Entry {
    pub(crate) key: Ident,
    pub(crate) value: Option<Expr>,
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        // Any word, so that a keyword (`type = …`) is answered with the list of keys and not with a syntax error.
        let key = Ident::parse_any(input)?;
        let equals: Option<Token![=]> = input.parse()?;
        let value = equals.map(|_| input.parse()).transpose()?;
        Ok(Self { key, value })
    }
}

/// The keys that a list may have.
pub(crate) struct Keys {
    /// Where they stand, as the author writes it: `#[arg]`.
    pub(crate) attribute: &'static str,
    /// All of them, as messages list them.
    pub(crate) known: &'static str,
    pub(crate) repeatable: &'static [&'static str],
}

impl Keys {
    /// Reads a list and adds it to the entries read before; unknown and repeated keys are refused and left out.
    pub(crate) fn read(
        &self,
        tokens: TokenStream,
        entries: &mut Vec<Entry>,
        refusals: &mut Refusals,
    ) {
        let parsed = Punctuated::<Entry, Token![,]>::parse_terminated.parse2(tokens);
        for entry in refusals.keep(parsed).into_iter().flatten() {
            match self.complaint(&entry.key, entries) {
                Some(sentence) => refusals.refuse(&entry.key, sentence),
                None => entries.push(entry),
            }
        }
    }

    fn complaint(&self, key: &Ident, entries: &[Entry]) -> Option<String> {
        let word = key.to_string();
        let (attribute, known) = (self.attribute, self.known);
        if !known.split(", ").any(|key| key == word) {
            return Some(format!(
                "`{word}` is not a key of `{attribute}`; the keys are: {known}"
            ));
        }
        let repeated = entries.iter().any(|earlier| earlier.key == *key);
        (repeated && !self.repeatable.contains(&word.as_str())).then(|| {
            format!("`{word}` is given twice: keep one; the keys of `{attribute}` are: {known}")
        })
    }
}

impl Entry {
    /// The value, which this key cannot do without. `shape` says what to write.
    pub(crate) fn required(&self, shape: &str) -> syn::Result<&Expr> {
        self.value.as_ref().ok_or_else(|| {
            let key = &self.key;
            syn::Error::new_spanned(
                key,
                format_args!("`{key}` needs a value: `{key} = {shape}`"),
            )
        })
    }

    /// A string literal.
    pub(crate) fn string(&self) -> syn::Result<&LitStr> {
        let value = self.required("\"…\"")?;
        match literal(value) {
            Some(Lit::Str(text)) => Ok(text),
            _ => Err(self.wrong(value, "a string literal", "\"…\"")),
        }
    }

    /// A string literal, or a macro that makes one (`concat!`, `include_str!`).
    pub(crate) fn text(&self) -> syn::Result<Text> {
        let value = self.required("\"…\"")?;
        let wanted = "a string literal, or `concat!` or `include_str!`";
        let text = Text::from_expr(value).ok_or_else(|| self.wrong(value, wanted, "\"…\""))?;
        if text.is_blank() {
            let key = &self.key;
            let sentence = format!("`{key}` says nothing: write a sentence for the model");
            return Err(syn::Error::new_spanned(value, sentence));
        }
        Ok(text)
    }

    /// `true` for the key alone, else the literal that was written.
    pub(crate) fn flag(&self) -> syn::Result<bool> {
        let Some(value) = &self.value else {
            return Ok(true);
        };
        match literal(value) {
            Some(Lit::Bool(flag)) => Ok(flag.value),
            _ => Err(self.wrong(value, "`true` or `false`", "true")),
        }
    }

    /// One of the words that this key takes, with what it stands for.
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
            let sentence = format!("`{}` is one of {}", self.key, words.join(", "));
            syn::Error::new_spanned(value, sentence)
        })
    }

    /// The error for a value of another kind. `shape` says what to write.
    pub(crate) fn wrong(&self, value: &Expr, wanted: &str, shape: &str) -> syn::Error {
        let key = &self.key;
        syn::Error::new_spanned(
            value,
            format_args!("`{key}` takes {wanted}: `{key} = {shape}`"),
        )
    }
}
