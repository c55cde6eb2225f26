//! The function under `#[tool]`: its parts, and what a tool function must not have.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use syn::{Attribute, FnArg, GenericParam, Item, ItemFn, Safety, Signature, Visibility};

use crate::arg::is_arg;
use crate::parameter::{Parameter, is_lint_level};
use crate::refusals::Refusals;
use crate::text::{Text, is_doc};

/// The parsed function.
pub(crate) struct ToolFunction {
    /// Attributes of the outer function: documentation, `cfg`, lint levels (which apply to nested items too),
    /// `deprecated`.
    pub(crate) outer_attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) doc: Option<Text>,
    pub(crate) parameters: Vec<Parameter>,
    /// The original function: private, and without the attributes that `#[tool]` reads.
    pub(crate) handler: ItemFn,
}

/// Parses the item under the attribute.
pub(crate) fn parse(item: TokenStream) -> syn::Result<ItemFn> {
    syn::parse2(item.clone()).map_err(|error| match syn::parse2::<Item>(item) {
        // An item that is not a function gets a better message than "expected `fn`". For a function that does not
        // parse, the parser's own message is used.
        Ok(other) if !matches!(other, Item::Fn(_) | Item::Verbatim(_)) => syn::Error::new_spanned(
            other,
            "`#[tool]` applies to free async functions: put it on an `async fn`",
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
                refusals.refuse(attribute, "`#[tool]` appears twice: remove one");
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
                "a tool function must be async: write `async fn {name}`; for blocking work use `Tool::typed` with `handler_blocking`"
            ),
        );
    }
    if let Some(constness) = &signature.constness {
        refusals.refuse(
            constness,
            "a tool function cannot be `const`: remove `const`",
        );
    }
    if let Safety::Unsafe(unsafety) = &signature.safety {
        refusals.refuse(
            unsafety,
            "a tool function cannot be `unsafe`, because the model cannot uphold its safety contract: remove `unsafe` and check the arguments in the body",
        );
    }
    if let Some(abi) = &signature.abi {
        refusals.refuse(abi, "a tool function cannot be `extern`: remove `extern`");
    }
    if let Some(variadic) = &signature.variadic {
        refusals.refuse(
            variadic,
            "a tool function cannot be variadic: use `&[T]` instead of `...`",
        );
    }
}

fn check_generics(signature: &Signature, refusals: &mut Refusals) {
    for parameter in &signature.generics.params {
        let sentence = match parameter {
            GenericParam::Lifetime(_) => {
                "a tool function cannot have lifetime parameters: remove it; `&str`, `&[T]` and `&ToolContext` do not need one"
            }
            GenericParam::Type(_) => {
                "a tool function cannot be generic, because it has one schema: write the concrete type"
            }
            GenericParam::Const(_) => {
                "a tool function cannot be generic, because it has one schema: write the value of the constant"
            }
        };
        refusals.refuse(parameter, sentence);
    }
    if let Some(clause) = &signature.generics.where_clause {
        refusals.refuse(
            clause,
            "a tool function cannot have a where clause: remove it",
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
                    "a tool function cannot take `self`: move it out of the `impl`, and pass the data as `State<T>`",
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
                    "there are two context parameters: remove the second `ToolContext`",
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
