//! The `#[tool]` attribute of Turnwright.
//!
//! The facade crate `turnwright` re-exports it and shows it at work. The code that it writes names nothing but
//! `::turnwright`, so a package that uses it needs neither serde nor schemars among its own dependencies.

mod arg;
mod bound;
mod entries;
mod expand;
mod options;
mod owned;
mod parameter;
mod refusals;
mod shape;
mod signature;
mod text;

/// Replaces an async function by one of the same name, visibility and documentation that builds a tool of it: it takes
/// nothing and returns `Result<Tool, Error>`. The author's own function can be reached through the tool only.
///
/// The doc comment becomes the description and the parameters become the schema. Two kinds of parameters are not arguments of the
/// model: `ToolContext` or `&ToolContext` is the context of the call, and `State<T>` or `&State<T>` is the state of type `T` that the
/// runner was given. A runner that lacks it does not build.
///
/// The function returns text, bytes, media, any type that implements `Serialize`, or a `Result` of one of these with any error.
/// The model reads a neutral sentence for an error, unless it is a `ToolError` with a text for the model.
///
/// Keys of the attribute, all optional:
///
/// | key | value | default |
/// | --- | --- | --- |
/// | `name` | the name that the model calls | the function's name |
/// | `description` | what the model reads | the doc comment |
/// | `effects` | `"read_only"` or `"writes"` | undeclared, which counts as writes |
/// | `approval` | an approval policy: `always("…")`, or a function `fn(&PendingCall<'_>) -> Review` | calls need no approval |
/// | `check` | the path of an `async fn(Value) -> Result<(), Rejection>` that checks the arguments after the schema; may repeat | none |
/// | `reconcile` | an `async fn(UnknownCall) -> Result<Finding, BoxError>` that finds out whether a call took effect | unknown |
/// | `timeout_secs` | whole seconds | five minutes |
/// | `max_result_bytes` | the most bytes that are kept of a result | the runner's bound, 64 MiB |
/// | `trusted` | `true`, `false`, or the key alone | `false` |
/// | `ephemeral` | `true`, `false`, or the key alone | `false` |
/// | `exclusive` | `true`, `false`, or the key alone: no other call runs beside this one | `false` |
/// | `on_collision` | `"throw"`, `"replace"` or `"keep"` | `"throw"` |
/// | `artifact_kind` | `"text"`, `"json"`, `"jsonl"`, `"json5"`, `"markdown"`, or a kind of your own: `CSV` | `"text"` |
/// | `inline` | `"always"`, `"never"`, or the most bytes of text that are in the prompt | the runner's limit, 4 KiB |
///
/// Keys of `#[arg(…)]` on a parameter, all optional. A doc comment on the parameter is its description.
///
/// | key | meaning |
/// | --- | --- |
/// | `default` | a value of the parameter's type for when the model leaves it out; the type must be `Serialize` |
/// | `min`, `max`, `exclusive_min`, `exclusive_max`, `multiple_of` | bounds of a number |
/// | `min_length`, `max_length`, `pattern`, `format` | bounds of text |
/// | `min_items`, `max_items`, `unique_items` | bounds of a list |
/// | `rename` | the field's name, if it is not the parameter's |
/// | `description` | in place of a doc comment |
/// | `note` | a line `Note: …` at the end of the description; may repeat |
/// | `example` | a value for the model to go by; may repeat |
///
/// `&str` and `&[T]` are lent from what was deserialised. Every other type is taken by value and needs serde's
/// `Deserialize` and schemars' `JsonSchema`. Bounds narrow what the type takes and never widen it; one that cannot apply
/// to the type does not compile, or fails in `build()` where only the type behind an alias tells.
#[proc_macro_attribute]
pub fn tool(
    attribute: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    expand::tool(attribute.into(), item.into()).into()
}
