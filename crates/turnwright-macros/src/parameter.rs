//! One parameter of a tool function: the context, state of the program, or an argument that the model writes.

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

/// A parameter, in the place where the author put it.
pub(crate) enum Parameter {
    Context {
        lent: bool,
    },
    /// `State<T>`, with `T`.
    State {
        ty: Box<Type>,
        lent: bool,
    },
    Argument(Box<Argument>),
}

/// A parameter that becomes a field of the schema.
pub(crate) struct Argument {
    pub(crate) ident: Ident,
    /// The field's type: always owned.
    pub(crate) ty: Type,
    pub(crate) options: ArgOptions,
    /// Whether the function takes `&str` of a `String`, or `&[T]` of a `Vec<T>`.
    lent: bool,
}

const LINT_LEVELS: [&str; 5] = ["allow", "expect", "warn", "deny", "forbid"];

/// Whether an attribute sets a lint level, which means the same wherever the code ends up.
pub(crate) fn is_lint_level(attribute: &Attribute) -> bool {
    let path = attribute.path();
    LINT_LEVELS.iter().any(|level| path.is_ident(level))
}

impl Parameter {
    /// Reads a parameter; nothing comes back where something was refused that the rest depends on.
    pub(crate) fn read(parameter: &PatType, refusals: &mut Refusals) -> Option<Self> {
        check_attributes(&parameter.attrs, refusals);
        if let Some(reference) = context(&parameter.ty) {
            return read_context(parameter, reference, refusals);
        }
        if let Some((ty, reference)) = state(&parameter.ty) {
            refuse_arg(parameter, "state", refusals);
            let lent = check_lent(reference, "state", "State<T>", refusals)?;
            return Some(Self::State {
                ty: Box::new(ty.clone()),
                lent,
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
        let (ident, (ty, lent)) = (name?, taken?);
        Some(Self::Argument(Box::new(Argument {
            ident,
            ty,
            options,
            lent,
        })))
    }
}

impl Argument {
    /// The name that the model writes.
    pub(crate) fn json_name(&self) -> String {
        match &self.options.rename {
            Some(rename) => rename.value(),
            None => self.ident.unraw().to_string(),
        }
    }

    /// The expression that hands the field of `arguments` to the function.
    pub(crate) fn pass_from(&self, arguments: &Ident) -> TokenStream {
        let ident = &self.ident;
        match self.lent {
            true => quote!(&#arguments.#ident),
            false => quote!(#arguments.#ident),
        }
    }

    /// The default as a value of the field's type. The author writes one of the parameter's type, so a lent one is owned
    /// here; a string literal is also taken for a `String`.
    pub(crate) fn owned_default(&self) -> Option<TokenStream> {
        let default = self.options.default.as_ref()?;
        let ty = &self.ty;
        let converts =
            self.lent || (matches!(literal(default), Some(Lit::Str(_))) && names(ty, "String"));
        // Written by us at the place of the default: lints about the conversion are not for the author.
        let place = default.span().resolved_at(Span::mixed_site());
        Some(if converts {
            quote_spanned!(place=> <#ty as ::core::convert::From<_>>::from(#default))
        } else {
            default.to_token_stream()
        })
    }
}

/// The reference to the context that a type is, if it names the context at all.
fn context(ty: &Type) -> Option<Option<&TypeReference>> {
    let (reference, named) = match peel(ty) {
        Type::Reference(reference) => (Some(reference), peel(&reference.elem)),
        named => (None, named),
    };
    names(named, "ToolContext").then_some(reference)
}

fn read_context(
    parameter: &PatType,
    reference: Option<&TypeReference>,
    refusals: &mut Refusals,
) -> Option<Parameter> {
    refuse_arg(parameter, "the context", refusals);
    let lent = check_lent(reference, "the context", "ToolContext", refusals)?;
    Some(Parameter::Context { lent })
}

/// `T` of a parameter `State<T>` or `&State<T>`. A type of the author's that is called `State` and is not generic is an argument.
fn state(ty: &Type) -> Option<(&Type, Option<&TypeReference>)> {
    let (reference, named) = match peel(ty) {
        Type::Reference(reference) => (Some(reference), peel(&reference.elem)),
        named => (None, named),
    };
    let segment = last_segment(named).filter(|segment| segment.ident == "State")?;
    Some((only_type_argument(segment)?, reference))
}

/// `#[arg]` describes what the model writes.
fn refuse_arg(parameter: &PatType, what: &str, refusals: &mut Refusals) {
    for attribute in parameter.attrs.iter().filter(|attribute| is_arg(attribute)) {
        let sentence = format!("{what} is not an argument of the model's: remove `#[arg]` here");
        refusals.refuse(attribute, sentence);
    }
}

/// Whether something that is not an argument is lent. It can be, without a lifetime and not mutably.
fn check_lent(
    reference: Option<&TypeReference>,
    what: &str,
    name: &str,
    refusals: &mut Refusals,
) -> Option<bool> {
    let other = reference.filter(|lent| lent.mutability.is_some() || lent.lifetime.is_some());
    let Some(other) = other else {
        return Some(reference.is_some());
    };
    let sentence =
        format!("{what} is lent for the call, and not mutably: write `&{name}` or `{name}`");
    refusals.refuse(other, sentence);
    None
}

/// A parameter becomes a field of a struct that the author never sees: only attributes that keep their meaning there, or
/// on the parameter itself, are taken.
fn check_attributes(attributes: &[Attribute], refusals: &mut Refusals) {
    for attribute in attributes {
        let path = attribute.path();
        if path.is_ident("cfg") || path.is_ident("cfg_attr") {
            refusals.refuse(
                attribute,
                "a parameter cannot depend on `cfg`: put `#[cfg]` on two versions of the whole function",
            );
        } else if !is_doc(attribute) && !is_arg(attribute) && !is_lint_level(attribute) {
            refusals.refuse(
                attribute,
                "a tool's parameter takes a doc comment and `#[arg(…)]`: remove this attribute",
            );
        }
    }
}

/// The name of a parameter, which is the name of a field of the schema.
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
        "a parameter's name is the name that the model writes: give it a plain name and take it apart in the body",
    );
    None
}

/// The owned type of the field, and whether the function borrows it.
fn take(ty: &Type, refusals: &mut Refusals) -> Option<(Type, bool)> {
    let Type::Reference(reference) = peel(ty) else {
        check_owned(ty, refusals);
        return Some((ty.clone(), false));
    };
    let lent = peel(&reference.elem);
    let sentence = if reference.mutability.is_some() {
        "arguments are not lent mutably: take the value, as in `mut text: String`".to_owned()
    } else if reference.lifetime.is_some() {
        "an argument is lent for the call only: leave the lifetime out, or take the value"
            .to_owned()
    } else if let Type::Slice(slice) = lent {
        check_owned(&slice.elem, refusals);
        let item = &slice.elem;
        let owned = parse_quote_spanned!(ty.span()=> ::std::vec::Vec<#item>);
        return Some((owned, true));
    } else {
        match last_segment(lent) {
            Some(segment) if segment.ident == "str" => {
                let owned = parse_quote_spanned!(ty.span()=> ::std::string::String);
                return Some((owned, true));
            }
            Some(segment) if segment.ident == "String" => {
                "only `&str` and `&[T]` are lent: write `&str`".to_owned()
            }
            Some(segment) if segment.ident == "Vec" => {
                let item = only_type_argument(segment).map_or_else(|| "T".to_owned(), compact);
                format!("only `&str` and `&[T]` are lent: write `&[{item}]`")
            }
            _ => format!(
                "only `&str` and `&[T]` are lent: take the value (`{}`)",
                compact(lent)
            ),
        }
    };
    refusals.refuse(ty, sentence);
    None
}

/// A type as it is usually written, for a sentence.
fn compact(ty: &Type) -> String {
    ty.to_token_stream()
        .to_string()
        .replace(" <", "<")
        .replace("< ", "<")
        .replace(" >", ">")
        .replace(" :: ", "::")
        .replace(" ,", ",")
}

/// The type without the invisible groups that macros leave, and without parentheses.
fn peel(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => peel(&group.elem),
        Type::Paren(paren) => peel(&paren.elem),
        ty => ty,
    }
}

/// Whether `ty` is a path that ends in `name`.
fn names(ty: &Type, name: &str) -> bool {
    last_segment(peel(ty)).is_some_and(|segment| segment.ident == name)
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match ty {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}
