//! One parameter of a tool function: the context, state, or an argument of the model.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Attribute, Lit, Pat, PatIdent, PatType, PathSegment, Type, TypeReference, parse_quote_spanned,
};

use crate::arg::{ArgOptions, is_arg};
use crate::bound::check_ranges;
use crate::owned::check_owned;
use crate::refusals::Refusals;
use crate::shape::only_type_argument;
use crate::text::{is_doc, literal};

/// A parameter, in the author's order.
pub(crate) enum Parameter {
    Context {
        borrowed: bool,
    },
    /// `State<T>`, with `T`.
    State {
        ty: Box<Type>,
        borrowed: bool,
    },
    Argument(Box<Argument>),
}

/// A parameter that becomes a property of the schema.
pub(crate) struct Argument {
    pub(crate) ident: Ident,
    /// The type of the field: always owned.
    pub(crate) ty: Type,
    pub(crate) options: ArgOptions,
    /// Whether the function takes `&str` for a `String`, or `&[T]` for a `Vec<T>`.
    borrowed: bool,
}

const LINT_LEVELS: [&str; 5] = ["allow", "expect", "warn", "deny", "forbid"];

/// Returns `true` for attributes that set a lint level, which mean the same wherever the code ends up.
pub(crate) fn is_lint_level(attribute: &Attribute) -> bool {
    let path = attribute.path();
    LINT_LEVELS.iter().any(|level| path.is_ident(level))
}

impl Parameter {
    /// Reads a parameter. Returns `None` after an error that the rest depends on.
    pub(crate) fn read(parameter: &PatType, refusals: &mut Refusals) -> Option<Self> {
        check_attributes(&parameter.attrs, refusals);
        let (reference, named) = split_reference(&parameter.ty);
        if names(named, "ToolContext") {
            reject_arg(parameter, "the context", refusals);
            let borrowed = check_borrowed(reference, "the context", "ToolContext", refusals)?;
            return Some(Self::Context { borrowed });
        }
        if let Some(ty) = state(named) {
            reject_arg(parameter, "state", refusals);
            let borrowed = check_borrowed(reference, "state", "State<T>", refusals)?;
            return Some(Self::State {
                ty: Box::new(ty.clone()),
                borrowed,
            });
        }
        let options = ArgOptions::read(&parameter.attrs, refusals);
        let name = plain_name(&parameter.pat, refusals);
        let taken = take(&parameter.ty, refusals);
        if let Some(ident) = &name {
            for bound in &options.bounds {
                bound.check(ident.unraw(), &parameter.ty, refusals);
            }
        }
        check_ranges(&options.bounds, refusals);
        let (ident, (ty, borrowed)) = (name?, taken?);
        Some(Self::Argument(Box::new(Argument {
            ident,
            ty,
            options,
            borrowed,
        })))
    }
}

impl Argument {
    /// Returns the name of the argument in the schema.
    pub(crate) fn json_name(&self) -> String {
        match &self.options.rename {
            Some(rename) => rename.value(),
            None => self.ident.unraw().to_string(),
        }
    }

    /// Returns the expression that passes the field of `arguments` to the function.
    pub(crate) fn pass_from(&self, arguments: &Ident) -> TokenStream {
        let ident = &self.ident;
        if self.borrowed {
            quote!(&#arguments.#ident)
        } else {
            quote!(#arguments.#ident)
        }
    }

    /// Returns the default as a value of the field's type. The author writes a value of the parameter's type, so a
    /// reference is converted to an owned value here. A string literal is also accepted for a `String`.
    pub(crate) fn owned_default(&self) -> Option<TokenStream> {
        let default = self.options.default.as_ref()?;
        let ty = &self.ty;
        let converts =
            self.borrowed || (matches!(literal(default), Some(Lit::Str(_))) && names(ty, "String"));
        // Generated at the span of the default: lints about the conversion must not reach the author.
        let place = default.span().resolved_at(Span::mixed_site());
        Some(if converts {
            quote_spanned!(place=> <#ty as ::core::convert::From<_>>::from(#default))
        } else {
            default.to_token_stream()
        })
    }
}

/// Splits a type into its reference, if it is one, and the type itself.
fn split_reference(ty: &Type) -> (Option<&TypeReference>, &Type) {
    match peel(ty) {
        Type::Reference(reference) => (Some(reference), peel(&reference.elem)),
        named => (None, named),
    }
}

/// Returns `T` of `State<T>`. A user-defined, non-generic type called `State` is an argument.
fn state(ty: &Type) -> Option<&Type> {
    let segment = last_segment(ty).filter(|segment| segment.ident == "State")?;
    only_type_argument(segment)
}

/// Rejects `#[arg]` on a parameter that is not an argument.
fn reject_arg(parameter: &PatType, what: &str, refusals: &mut Refusals) {
    for attribute in parameter.attrs.iter().filter(|attribute| is_arg(attribute)) {
        let sentence = format!("{what} is not an argument of the model: remove `#[arg]`");
        refusals.refuse(attribute, sentence);
    }
}

/// Returns whether a parameter that is not an argument is a reference. Rejects lifetimes and mutable references.
fn check_borrowed(
    reference: Option<&TypeReference>,
    what: &str,
    name: &str,
    refusals: &mut Refusals,
) -> Option<bool> {
    let other =
        reference.filter(|borrowed| borrowed.mutability.is_some() || borrowed.lifetime.is_some());
    let Some(other) = other else {
        return Some(reference.is_some());
    };
    let sentence = format!(
        "{what} cannot be a mutable reference or have a lifetime: write `&{name}` or `{name}`"
    );
    refusals.refuse(other, sentence);
    None
}

/// Rejects attributes that would not keep their meaning. A parameter becomes a field of a struct that the author
/// never sees.
fn check_attributes(attributes: &[Attribute], refusals: &mut Refusals) {
    for attribute in attributes {
        let path = attribute.path();
        if path.is_ident("cfg") || path.is_ident("cfg_attr") {
            refusals.refuse(
                attribute,
                "a parameter cannot depend on `cfg`: write two versions of the function with `#[cfg]`",
            );
        } else if !is_doc(attribute) && !is_arg(attribute) && !is_lint_level(attribute) {
            refusals.refuse(
                attribute,
                "a tool parameter accepts only doc comments and `#[arg(…)]`: remove this attribute",
            );
        }
    }
}

/// Returns the name of a parameter, which becomes the name of a property of the schema.
fn plain_name(pattern: &Pat, refusals: &mut Refusals) -> Option<Ident> {
    if let Pat::Ident(PatIdent {
        by_ref: None,
        subpat: None,
        ident,
        ..
    }) = pattern
    {
        return Some(ident.clone());
    }
    refusals.refuse(
        pattern,
        "the parameter needs a plain name, which becomes the argument's name: destructure it in the body",
    );
    None
}

/// Returns the owned type of the field, and whether the function borrows it.
fn take(ty: &Type, refusals: &mut Refusals) -> Option<(Type, bool)> {
    let Type::Reference(reference) = peel(ty) else {
        check_owned(ty, refusals);
        return Some((ty.clone(), false));
    };
    let borrowed = peel(&reference.elem);
    let sentence = if reference.mutability.is_some() {
        "arguments cannot be mutable references: take the value, as in `mut text: String`"
            .to_owned()
    } else if reference.lifetime.is_some() {
        "arguments cannot have a lifetime: remove the lifetime, or take the value".to_owned()
    } else if let Type::Slice(slice) = borrowed {
        check_owned(&slice.elem, refusals);
        let item = &slice.elem;
        let owned = parse_quote_spanned!(ty.span()=> ::std::vec::Vec<#item>);
        return Some((owned, true));
    } else {
        match last_segment(borrowed) {
            Some(segment) if segment.ident == "str" => {
                let owned = parse_quote_spanned!(ty.span()=> ::std::string::String);
                return Some((owned, true));
            }
            Some(segment) if segment.ident == "String" => {
                "only `&str` and `&[T]` can be references: write `&str`".to_owned()
            }
            Some(segment) if segment.ident == "Vec" => {
                let item = only_type_argument(segment).map_or_else(|| "T".to_owned(), compact);
                format!("only `&str` and `&[T]` can be references: write `&[{item}]`")
            }
            _ => format!(
                "only `&str` and `&[T]` can be references: take the value (`{}`)",
                compact(borrowed)
            ),
        }
    };
    refusals.refuse(ty, sentence);
    None
}

/// Returns a type as it is usually written, for messages.
fn compact(ty: &Type) -> String {
    ty.to_token_stream()
        .to_string()
        .replace(" <", "<")
        .replace("< ", "<")
        .replace(" >", ">")
        .replace(" :: ", "::")
        .replace(" ,", ",")
}

/// Returns the type without invisible groups from macros and without parentheses.
fn peel(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => peel(&group.elem),
        Type::Paren(paren) => peel(&paren.elem),
        ty => ty,
    }
}

/// Returns `true` if `ty` is a path that ends in `name`.
fn names(ty: &Type, name: &str) -> bool {
    last_segment(peel(ty)).is_some_and(|segment| segment.ident == name)
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match ty {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}
