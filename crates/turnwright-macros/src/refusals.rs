//! Everything that is wrong with a tool, gathered so that the author sees it all in one build.

use std::fmt::Display;

use proc_macro2::TokenStream;
use quote::ToTokens;

/// The errors found so far.
#[derive(Default)]
pub(crate) struct Refusals(Option<syn::Error>);

impl Refusals {
    /// Refuses `part` with a sentence that says what to change.
    pub(crate) fn refuse(&mut self, part: impl ToTokens, sentence: impl Display) {
        self.push(syn::Error::new_spanned(part, sentence));
    }

    /// Adds an error that has its place already.
    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(first) => first.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// The value, or the error on the way to it, which is kept here.
    pub(crate) fn keep<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// The `compile_error!` calls to emit, if anything was refused.
    pub(crate) fn into_compile_errors(self) -> Option<TokenStream> {
        self.0.map(syn::Error::into_compile_error)
    }
}
