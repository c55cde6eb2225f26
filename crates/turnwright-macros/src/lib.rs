//! The `#[tool]` attribute of Turnwright.
//!
//! The facade crate `turnwright` re-exports it and has examples. The generated code refers only to `::turnwright`, so
//! a package that uses the attribute does not need serde or schemars as direct dependencies.

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

/// Turns an async function into a tool.
///
/// The function is replaced by one with the same name, visibility and documentation that takes no arguments and
/// returns `Result<Tool, Error>`. The original function can only be called through the tool.
///
/// The doc comment becomes the description and the parameters become the schema. Two kinds of parameters are not
/// arguments of the model: `ToolContext` or `&ToolContext` is the context of the call, and `State<T>` or `&State<T>`
/// is the state of type `T` registered with the runner. Building a runner without that state fails.
///
/// The function returns text, bytes, media, any type that implements `Serialize`, or a `Result` of one of these with
/// any error. If it fails, the model receives a generic message, unless the error is a `ToolError` with a text for
/// the model.
///
/// Keys of the attribute, all optional:
///
/// | key | value | default |
/// | --- | --- | --- |
/// | `name` | the tool name | the function's name |
/// | `description` | the description for the model | the doc comment |
/// | `effects` | `"read_only"` or `"writes"` | undeclared, which counts as writes |
/// | `approval` | an approval policy: `always("…")`, or a function `fn(&PendingCall<'_>) -> Review` | calls need no approval |
/// | `check` | the path of an `async fn(Value) -> Result<(), Rejection>` that checks the arguments after the schema; may take a `DispatchContext` as its second parameter; can be repeated | none |
/// | `reconcile` | an `async fn(UnknownCall) -> Result<Finding, BoxError>` that determines whether a call took effect | unknown |
/// | `timeout_secs` | the timeout in seconds | five minutes |
/// | `max_result_bytes` | the maximum size of a result | the runner's limit, 64 MiB |
/// | `source` | where the tool comes from; policies can name all tools of a source | none |
/// | `reads_private` | `true`, `false`, or the key alone: results contain private data | `false` |
/// | `sends_out` | `true`, `false`, or the key alone: data can leave through a call | `false` |
/// | `trusted` | `true`, `false`, or the key alone | `false` |
/// | `ephemeral` | `true`, `false`, or the key alone | `false` |
/// | `exclusive` | `true`, `false`, or the key alone: no other call runs at the same time | `false` |
/// | `on_collision` | `"throw"`, `"replace"` or `"keep"` | `"throw"` |
/// | `artifact_kind` | `"text"`, `"json"`, `"jsonl"`, `"markdown"`, or a constant of your own: `CSV` | `"text"` |
/// | `inline` | `"always"`, `"never"`, or the maximum size in bytes for which the text is in the prompt | the runner's limit, 4 KiB |
///
/// Keys of `#[arg(…)]` on a parameter, all optional. A doc comment on the parameter is its description.
///
/// | key | meaning |
/// | --- | --- |
/// | `default` | a value of the parameter's type, used if the model omits the argument; the type must be `Serialize` |
/// | `min`, `max`, `exclusive_min`, `exclusive_max`, `multiple_of` | bounds for a number |
/// | `min_length`, `max_length`, `pattern`, `format` | bounds for a string |
/// | `min_items`, `max_items`, `unique_items` | bounds for a list |
/// | `rename` | the argument's name in the schema, if it differs from the parameter's |
/// | `description` | the description, instead of a doc comment |
/// | `note` | a line `Note: …` at the end of the description; can be repeated |
/// | `example` | an example value; can be repeated |
///
/// `&str` and `&[T]` are borrowed from the deserialised arguments. Every other type is passed by value and must
/// implement serde's `Deserialize` and schemars' `JsonSchema`. Bounds narrow the values of a type and never widen
/// them. A bound that does not apply to the type is a compile error, or an error of `build()` if the type is behind
/// an alias.
#[proc_macro_attribute]
pub fn tool(
    attribute: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    expand::tool(attribute.into(), item.into()).into()
}
