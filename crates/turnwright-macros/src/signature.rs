//! The function under `#[tool]`: what of it is kept where, and what a tool cannot have.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use syn::{Attribute, FnArg, GenericParam, Item, ItemFn, Safety, Signature, Visibility};

use crate::arg::is_arg;
use crate::parameter::{Parameter, is_lint_level};
use crate::refusals::Refusals;
use crate::text::{Text, is_doc};

/// The author's function, read.
pub(crate) struct ToolFunction {
    /// What the outer function keeps: documentation, `cfg`, lint levels (which hold for what is nested too), `deprecated`.
    pub(crate) outer_attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) doc: Option<Text>,
    pub(crate) parameters: Vec<Parameter>,
    /// The function as it was written, private and without what `#[tool]` reads.
    pub(crate) handler: ItemFn,
}

/// Parses the item under the attribute.
pub(crate) fn parse(item: TokenStream) -> syn::Result<ItemFn> {
    syn::parse2(item.clone()).map_err(|error| match syn::parse2::<Item>(item) {
        // What is no function at all deserves better than "expected `fn`"; a function that does not parse, the parser's
        // own words.
        Ok(other) if !matches!(other, Item::Fn(_) | Item::Verbatim(_)) => syn::Error::new_spanned(
            other,
            "`#[tool]` makes a tool of a free async function: put it on an `async fn`",
        ),
        _ => error,
    })
}

impl ToolFunction {
    pub(crate) fn read(mut function: ItemFn, refusals: &mut Refusals) -> Self {
        check_qualifiers(&function.sig, refusals);
        check_generics(&function.sig, refusals);
        let parameters = read_parameters(&function.sig, refusals);
        let doc = Text::from_docs(&function.attrs);
        let (outer_attributes, inner_attributes): (Vec<_>, Vec<_>) =
            function.attrs.into_iter().partition(goes_outside);
        for attribute in &inner_attributes {
            let last = attribute.path().segments.last();
            if last.is_some_and(|segment| segment.ident == "tool") {
                refusals.refuse(attribute, "`#[tool]` stands here twice: keep one");
            }
        }
        function.attrs = inner_attributes;
        for input in &mut function.sig.inputs {
            if let FnArg::Typed(parameter) = input {
                let attributes = &mut parameter.attrs;
                attributes.retain(|attribute| !is_arg(attribute) && !is_doc(attribute));
            }
        }
        Self {
            outer_attributes,
            visibility: std::mem::replace(&mut function.vis, Visibility::Inherited),
            doc,
            parameters,
            handler: function,
        }
    }
}

fn goes_outside(attribute: &Attribute) -> bool {
    let path = attribute.path();
    let is_ours = |name: &&str| path.is_ident(name);
    is_lint_level(attribute) || ["doc", "cfg", "deprecated"].iter().any(is_ours)
}

fn check_qualifiers(signature: &Signature, refusals: &mut Refusals) {
    let name = &signature.ident;
    if signature.asyncness.is_none() {
        refusals.refuse(
            signature.fn_token,
            format_args!(
                "a tool is an async function: write `async fn {name}`; for blocking work build the tool with `Tool::typed` and `handler_blocking`"
            ),
        );
    }
    if let Some(constness) = &signature.constness {
        refusals.refuse(constness, "a tool cannot be a const fn: remove `const`");
    }
    if let Safety::Unsafe(unsafety) = &signature.safety {
        refusals.refuse(
            unsafety,
            "a model cannot keep the promises of an unsafe fn: remove `unsafe` and check them in the body",
        );
    }
    if let Some(abi) = &signature.abi {
        refusals.refuse(abi, "a tool is an ordinary Rust function: remove `extern`");
    }
    if let Some(variadic) = &signature.variadic {
        refusals.refuse(
            variadic,
            "a schema needs every parameter by name: take a `&[T]` instead of `...`",
        );
    }
}

fn check_generics(signature: &Signature, refusals: &mut Refusals) {
    for parameter in &signature.generics.params {
        let sentence = match parameter {
            GenericParam::Lifetime(_) => {
                "a tool has no lifetime parameters: remove it; `&str`, `&[T]` and `&ToolContext` are lent without one"
            }
            GenericParam::Type(_) => {
                "a tool has one schema, so it cannot be generic: write the concrete type"
            }
            GenericParam::Const(_) => {
                "a tool has one schema, so it cannot be generic: write the constant's value"
            }
        };
        refusals.refuse(parameter, sentence);
    }
    if let Some(clause) = &signature.generics.where_clause {
        refusals.refuse(
            clause,
            "a tool is not generic, so there is nothing for a where clause to say: remove it",
        );
    }
}

fn read_parameters(signature: &Signature, refusals: &mut Refusals) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    let mut names = HashSet::new();
    let mut has_context = false;
    for input in &signature.inputs {
        let typed = match input {
            FnArg::Typed(typed) => typed,
            FnArg::Receiver(receiver) => {
                refusals.refuse(
                    receiver,
                    "a tool is a free function: move it out of the `impl` and capture what `self` held with `Tool::typed` and a closure",
                );
                continue;
            }
        };
        let Some(parameter) = Parameter::read(typed, refusals) else {
            continue;
        };
        match &parameter {
            Parameter::Context { .. } if std::mem::replace(&mut has_context, true) => {
                refusals.refuse(
                    typed,
                    "a call has one context: remove the second `ToolContext`",
                );
            }
            Parameter::Context { .. } | Parameter::State { .. } => {}
            Parameter::Argument(argument) => {
                let name = argument.json_name();
                if !names.insert(name.clone()) {
                    refusals.refuse(
                        typed,
                        format_args!("two parameters are called `{name}`: rename one of them"),
                    );
                }
            }
        }
        parameters.push(parameter);
    }
    parameters
}
