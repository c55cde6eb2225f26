//! The expansion of `#[tool]`: a function with the author's name that builds the tool. The argument struct and the
//! author's function are nested in it, so that only the executor can call the handler.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Expr, Lit, LitStr, ReturnType};

use crate::options::ToolOptions;
use crate::parameter::{Argument, Parameter};
use crate::refusals::Refusals;
use crate::signature::{self, ToolFunction};
use crate::text::{Text, literal};

pub(crate) fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut refusals = Refusals::default();
    let options = ToolOptions::read(attribute, &mut refusals);
    let function = match signature::parse(item) {
        Ok(function) => ToolFunction::read(function, &mut refusals),
        Err(error) => {
            refusals.push(error);
            return refusals.into_compile_errors().unwrap_or_default();
        }
    };
    let name = tool_name(&options, &function, &mut refusals);
    let description = description(&options, &function, &mut refusals);
    let body = build_tool(&name, description, &options, &function);
    match refusals.into_compile_errors() {
        None => outer(&function, &body),
        Some(errors) => {
            // Emits a function with that name anyway, so that its callers do not fail to compile too.
            let stand_in = outer(&function, &quote!(::core::unreachable!()));
            quote!(#errors #stand_in)
        }
    }
}

fn outer(function: &ToolFunction, body: &TokenStream) -> TokenStream {
    let (attributes, visibility) = (&function.outer_attributes, &function.visibility);
    let ident = &function.handler.sig.ident;
    quote! {
        #(#attributes)*
        #visibility fn #ident() -> ::core::result::Result<::turnwright::Tool, ::turnwright::Error> {
            #body
        }
    }
}

/// Returns the tool name: 1 to 64 characters of `[A-Za-z0-9_-]`, which every provider accepts.
fn tool_name(options: &ToolOptions, function: &ToolFunction, refusals: &mut Refusals) -> LitStr {
    let (name, advice) = match &options.name {
        Some(name) => (name.clone(), "change it"),
        None => {
            let ident = &function.handler.sig.ident;
            let name = LitStr::new(&ident.unraw().to_string(), ident.span());
            (name, "add `name = \"…\"` to `#[tool]`")
        }
    };
    let text = name.value();
    let fits = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    if text.is_empty() || text.len() > 64 || !text.chars().all(fits) {
        refusals.push(syn::Error::new(
            name.span(),
            format_args!(
                "a tool name must be 1 to 64 characters of A-Z, a-z, 0-9, `_` and `-`: {advice}"
            ),
        ));
    }
    name
}

fn description<'text>(
    options: &'text ToolOptions,
    function: &'text ToolFunction,
    refusals: &mut Refusals,
) -> Option<&'text Text> {
    let description = options.description.as_ref().or(function.doc.as_ref());
    if description.is_none() && !options.describes {
        refusals.refuse(
            &function.handler.sig.ident,
            "the tool has no description: add a doc comment above the function, or `description = \"…\"` to `#[tool]`",
        );
    }
    description
}

fn build_tool(
    name: &LitStr,
    description: Option<&Text>,
    options: &ToolOptions,
    function: &ToolFunction,
) -> TokenStream {
    let parameters = function.parameters.iter();
    let arguments = parameters.filter_map(|parameter| match parameter {
        Parameter::Argument(argument) => Some(&**argument),
        Parameter::Context { .. } | Parameter::State { .. } => None,
    });
    // Items have no hygiene and shadow outer items, so the name must be one that no author uses.
    let structure = format_ident!("__TurnwrightArguments");
    let numbered = arguments.clone().enumerate();
    let numbered = numbered.map(|(number, argument)| {
        let default = format_ident!("__turnwright_default_{number}");
        (argument, default)
    });
    let fields = numbered.clone();
    let fields = fields.map(|(argument, default)| field(argument, &default));
    let defaults = numbered.filter_map(|(argument, function)| default(argument, &function));
    let types = arguments.clone().map(|argument| &argument.ty);
    let types =
        types.map(|ty| quote_spanned!(ty.span()=> ::turnwright::__private::argument::<#ty>));
    let format_checks = arguments.flat_map(format_checks);
    let builder_calls = &options.builder_calls;
    let states = function.parameters.iter();
    let states = states.filter_map(|parameter| match parameter {
        Parameter::State { ty, .. } => Some(quote_spanned!(ty.span()=> .requires_state::<#ty>())),
        Parameter::Argument(_) | Parameter::Context { .. } => None,
    });
    let handler_call = handler_call(&structure, function);
    let handler = &function.handler;
    quote! {
        // `#[tool]` requires `async`, and a parameter for each field.
        #[allow(clippy::unused_async, clippy::too_many_arguments)]
        #handler
        #(#defaults)*
        // Explains the error for a type of the author's that lacks a derive.
        #(const _: fn() = #types;)*
        #[derive(
            ::turnwright::__private::serde::Deserialize,
            ::turnwright::__private::schemars::JsonSchema,
        )]
        #[serde(crate = "::turnwright::__private::serde", deny_unknown_fields)]
        #[schemars(crate = "::turnwright::__private::schemars", rename = #name)]
        #[allow(non_snake_case, clippy::struct_excessive_bools)]
        struct #structure {
            #(#fields,)*
        }
        #(#format_checks)*
        ::turnwright::Tool::typed::<#structure>(#name)
            .description(#description)
            #(#builder_calls)*
            #(#states)*
            #handler_call
            .build()
    }
}

/// Checks each format separately, because a document generated from a type drops formats that are not enforced.
fn format_checks(argument: &Argument) -> impl Iterator<Item = TokenStream> {
    let name = argument.json_name();
    let bounds = argument.options.bounds.iter();
    let formats = bounds.filter(|bound| bound.keyword == "format");
    formats.map(move |bound| {
        let format = &bound.value;
        quote!(::turnwright::__private::enforced_format(#name, #format)?;)
    })
}

/// Returns the default as serde and schemars expect it: a function.
fn default(argument: &Argument, function: &Ident) -> Option<TokenStream> {
    let value = argument.owned_default()?;
    let ty = &argument.ty;
    // schemars silently drops a default that does not serialise, and the model would not see it.
    let shown = quote_spanned!(ty.span()=> ::turnwright::__private::shown_default::<#ty>);
    Some(quote! {
        fn #function() -> #ty {
            #value
        }
        const _: fn() = #shown;
    })
}

fn field(argument: &Argument, default: &Ident) -> TokenStream {
    let options = &argument.options;
    let (ident, ty) = (&argument.ident, &argument.ty);
    let default = options.default.as_ref().map(|_| {
        let path = default.to_string();
        quote!(#[serde(default = #path)])
    });
    let rename = options.rename.iter();
    let description = options.description.iter();
    let examples = options.examples.iter().map(example);
    let keywords = options.bounds.iter().map(|bound| bound.keyword);
    let bounds = options.bounds.iter().map(|bound| &bound.value);
    quote! {
        #default
        #(#[serde(rename = #rename)])*
        #(#[schemars(description = #description)])*
        #(#[schemars(example = #examples)])*
        #(#[schemars(transform = ::turnwright::__private::narrow(#keywords, #bounds))])*
        #ident: #ty
    }
}

/// schemars interprets a bare string literal as the path of a function, so it is wrapped.
fn example(value: &Expr) -> TokenStream {
    match literal(value) {
        Some(Lit::Str(text)) => quote!(&#text),
        _ => value.to_token_stream(),
    }
}

/// Sets the handler, which passes each field to its parameter, by value or by reference.
fn handler_call(structure: &Ident, function: &ToolFunction) -> TokenStream {
    let arguments = Ident::new("__turnwright_arguments", Span::mixed_site());
    let context = Ident::new("__turnwright_context", Span::mixed_site());
    let value = Ident::new("__turnwright_value", Span::mixed_site());
    let handler = &function.handler.sig.ident;
    // Read before the call, because the function may consume the context.
    let mut states = Vec::new();
    let mut passed = Vec::new();
    for parameter in &function.parameters {
        passed.push(match parameter {
            Parameter::Argument(argument) => argument.pass_from(&arguments),
            Parameter::Context { borrowed: true } => quote!(&#context),
            Parameter::Context { borrowed: false } => quote!(#context),
            Parameter::State { ty, borrowed } => {
                let state = format_ident!("__turnwright_state_{}", states.len());
                states.push(quote_spanned! {ty.span()=>
                    let #state = ::turnwright::State(#context.state::<#ty>()?);
                });
                if *borrowed {
                    quote!(&#state)
                } else {
                    quote!(#state)
                }
            }
        });
    }
    // An unsupported return type or a future that is not `Send` is reported at the author's code.
    let place = match &function.handler.sig.output {
        ReturnType::Type(_, ty) => ty.span(),
        ReturnType::Default => handler.span(),
    };
    quote_spanned! {place.resolved_at(Span::mixed_site())=>
        .handler(|#arguments: #structure, #context: ::turnwright::ToolContext| async move {
            use ::turnwright::__private::returned::{
                AsJson as _, BadResult as _, Direct as _, Fallible as _, FallibleJson as _, Returned, Unknown as _,
            };
            #(#states)*
            let #value = #handler(#(#passed),*).await;
            // The compiler selects the first of these that applies to the type.
            (&&&&&&Returned::of(&#value)).convert(#value)
        })
    }
}
