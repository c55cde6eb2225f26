//! Collects all errors of a tool, so that the author sees them in one build.

use std::fmt::Display;

use proc_macro2::TokenStream;
use quote::ToTokens;

/// The errors found so far.
#[derive(Default)]
pub(crate) struct Refusals(Option<syn::Error>);

impl Refusals {
    /// Reports an error at `part`, with a message that says what to change.
    pub(crate) fn refuse(&mut self, part: impl ToTokens, sentence: impl Display) {
        self.push(syn::Error::new_spanned(part, sentence));
    }

    /// Adds an error that already has a span.
    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(first) => first.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// Returns the value, or records the error.
    pub(crate) fn collect<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// Returns the `compile_error!` calls, if there are errors.
    pub(crate) fn into_compile_errors(self) -> Option<TokenStream> {
        self.0.map(syn::Error::into_compile_error)
    }
}
