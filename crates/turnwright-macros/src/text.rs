//! Descriptions of tools and parameters: doc comments and string literals.

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote};
use syn::{Attribute, Expr, ExprLit, ExprMacro, Lit, Meta};

/// A text known at compile time, possibly only after the expansion of a macro in it.
#[derive(Default)]
pub(crate) struct Text {
    pieces: Vec<Piece>,
}

enum Piece {
    Plain(String),
    /// `include_str!("tool.md")` and similar, left to the compiler.
    Macro(ExprMacro),
}

impl Text {
    /// Reads the doc comments among `attributes`, with all paragraphs and without the indentation of the comment
    /// markers.
    pub(crate) fn from_docs(attributes: &[Attribute]) -> Option<Self> {
        let mut text = Self::default();
        for attribute in attributes.iter().filter(|attribute| is_doc(attribute)) {
            let Meta::NameValue(doc) = &attribute.meta else {
                continue;
            };
            if !text.pieces.is_empty() {
                text.push_str("\n");
            }
            match &doc.value {
                Expr::Macro(call) => text.pieces.push(Piece::Macro(call.clone())),
                value => {
                    if let Some(Lit::Str(comment)) = literal(value) {
                        text.push_str(&without_comment_marks(&comment.value()));
                    }
                }
            }
        }
        text.trim();
        (!text.is_blank()).then_some(text)
    }

    /// Reads a string literal, or a macro that produces one.
    pub(crate) fn from_expr(value: &Expr) -> Option<Self> {
        let piece = match value {
            Expr::Macro(call) => Piece::Macro(call.clone()),
            value => match literal(value)? {
                Lit::Str(text) => Piece::Plain(text.value()),
                _ => return None,
            },
        };
        Some(Self {
            pieces: vec![piece],
        })
    }

    /// Appends a separate line with a label.
    pub(crate) fn push_line(&mut self, label: &str, line: Self) {
        if !self.pieces.is_empty() {
            self.push_str("\n");
        }
        self.push_str(label);
        for piece in line.pieces {
            match piece {
                Piece::Plain(plain) => self.push_str(&plain),
                call @ Piece::Macro(_) => self.pieces.push(call),
            }
        }
    }

    /// Returns `true` if the text is blank. A text from a macro counts as not blank; `build()` checks it again.
    pub(crate) fn is_blank(&self) -> bool {
        self.pieces.iter().all(|piece| match piece {
            Piece::Plain(plain) => plain.trim().is_empty(),
            Piece::Macro(_) => false,
        })
    }

    fn push_str(&mut self, addition: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Plain(plain)) => plain.push_str(addition),
            _ => self.pieces.push(Piece::Plain(addition.to_owned())),
        }
    }

    fn trim(&mut self) {
        if let Some(Piece::Plain(first)) = self.pieces.first_mut() {
            *first = first.trim_start().to_owned();
        }
        if let Some(Piece::Plain(last)) = self.pieces.last_mut() {
            *last = last.trim_end().to_owned();
        }
    }
}

impl ToTokens for Text {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Plain(plain) => Literal::string(plain).into_token_stream(),
            Piece::Macro(call) => call.to_token_stream(),
        });
        tokens.extend(match self.pieces.as_slice() {
            [_] => quote!(#(#pieces)*),
            _ => quote!(::core::concat!(#(#pieces),*)),
        });
    }
}

/// Returns `true` for a doc comment or another `#[doc]` attribute.
pub(crate) fn is_doc(attribute: &Attribute) -> bool {
    attribute.path().is_ident("doc")
}

/// Removes comment markers. `/// text` arrives as `" text"`, and `/** … */` with its line breaks, indentation and
/// stars.
fn without_comment_marks(comment: &str) -> String {
    let Some((first, rest)) = comment.split_once('\n') else {
        let line = comment.strip_prefix(' ').unwrap_or(comment);
        return line.trim_end().to_owned();
    };
    let is_blank = |line: &str| line.trim().is_empty();
    let unstarred = |line| str::trim_start(line).strip_prefix('*');
    let starred = rest
        .lines()
        .all(|line| is_blank(line) || unstarred(line).is_some());
    let lines = rest.lines();
    let lines = lines.map(|line| unstarred(line).filter(|_| starred).unwrap_or(line));
    let indentation = lines
        .clone()
        .filter(|line| !is_blank(line))
        .map(|line| line.len() - line.trim_start_matches(' ').len())
        .min()
        .unwrap_or(0);
    let mut text = first.trim().to_owned();
    for line in lines {
        text.push('\n');
        text.push_str(line.get(indentation..).unwrap_or("").trim_end());
    }
    text
}

/// Returns the literal, if `value` is one.
pub(crate) fn literal(value: &Expr) -> Option<&Lit> {
    match value {
        Expr::Lit(ExprLit { lit, .. }) => Some(lit),
        Expr::Group(group) => literal(&group.expr),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::{ItemFn, parse_quote};

    fn described(function: &ItemFn) -> Option<String> {
        Text::from_docs(&function.attrs).map(|text| text.into_token_stream().to_string())
    }

    #[test]
    fn line_comments_keep_paragraphs_and_inner_indentation() {
        let function = parse_quote! {
            /// One.
            ///
            /// Two:
            ///   - three
            fn f() {}
        };
        assert_eq!(
            described(&function).unwrap(),
            r#""One.\n\nTwo:\n  - three""#
        );
    }

    #[test]
    fn block_comments_lose_stars_and_outer_indentation() {
        let function = parse_quote! {
            #[doc = " One.\n     *\n     * Two:\n     *   - three\n     "]
            fn f() {}
        };
        assert_eq!(
            described(&function).unwrap(),
            r#""One.\n\nTwo:\n  - three""#
        );
        let unstarred = parse_quote! {
            #[doc = "\n        One.\n          - Two.\n    "]
            fn f() {}
        };
        assert_eq!(described(&unstarred).unwrap(), r#""One.\n  - Two.""#);
    }

    #[test]
    fn macros_in_a_doc_attribute_are_left_to_the_compiler() {
        let function = parse_quote! {
            /// One.
            #[doc = include_str!("two.md")]
            fn f() {}
        };
        assert_eq!(
            described(&function).unwrap(),
            r#":: core :: concat ! ("One.\n" , include_str ! ("two.md"))"#
        );
    }

    #[test]
    fn blank_comment_is_no_description() {
        let function = parse_quote! {
            ///
            #[doc(hidden)]
            fn f() {}
        };
        assert_eq!(described(&function), None);
    }
}
