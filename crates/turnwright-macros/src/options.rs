//! `#[tool(…)]`: options for the tool.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Expr, Lit, LitStr};

use crate::entries::{Entry, Keys};
use crate::refusals::Refusals;
use crate::text::{Text, literal};

const KEYS: Keys = Keys {
    attribute: "#[tool]",
    known: "name, description, effects, approval, check, reconcile, timeout_secs, max_result_bytes, source, reads_private, \
            sends_out, trusted, ephemeral, exclusive, on_collision, artifact_kind, inline",
    repeatable: &["check"],
};

/// The choices of a key: the word that the author writes, and the variant or constant for the builder.
type Choices = &'static [(&'static str, &'static str)];

const EFFECTS: Choices = &[("read_only", "ReadOnly"), ("writes", "Writes")];
const ON_COLLISION: Choices = &[("throw", "Error"), ("replace", "Replace"), ("keep", "Keep")];
const ARTIFACT_KINDS: Choices = &[
    ("text", "TEXT"),
    ("json", "JSON"),
    ("jsonl", "JSON_LINES"),
    ("markdown", "MARKDOWN"),
];
const INLINE: Choices = &[("always", "Always"), ("never", "Never")];

/// The content of `#[tool(…)]`.
#[derive(Default)]
pub(crate) struct ToolOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) description: Option<Text>,
    /// Whether the key is present, valid or not, so that the author gets only one error for it.
    pub(crate) describes: bool,
    /// Calls on the builder, in the order of the keys.
    pub(crate) builder_calls: Vec<TokenStream>,
}

impl ToolOptions {
    pub(crate) fn read(tokens: TokenStream, refusals: &mut Refusals) -> Self {
        let mut options = Self::default();
        let mut entries = Vec::new();
        KEYS.read(tokens, &mut entries, refusals);
        for entry in &entries {
            refusals.collect(options.take(entry));
        }
        options
    }

    fn take(&mut self, entry: &Entry) -> syn::Result<()> {
        let call = match entry.key.to_string().as_str() {
            "name" => {
                self.name = Some(entry.string()?.clone());
                return Ok(());
            }
            "description" => {
                self.describes = true;
                self.description = Some(entry.text()?);
                return Ok(());
            }
            "effects" => variant(entry, "Effects", EFFECTS)?,
            "on_collision" => variant(entry, "OnCollision", ON_COLLISION)?,
            "artifact_kind" => match own_value(entry, no_literal) {
                Some(kind) => quote!(.artifact_kind(#kind)),
                None => variant(entry, "ArtifactKind", ARTIFACT_KINDS)?,
            },
            "inline" => match own_value(entry, is_integer) {
                Some(bytes) => quote!(.inline(::turnwright::__private::Inline::UpTo(#bytes))),
                None => variant(entry, "Inline", INLINE)?,
            },
            "approval" => {
                let policy =
                    value_of_type(entry, no_literal, "an approval policy", "always(\"…\")")?;
                quote!(.approval(#policy))
            }
            "reconcile" => {
                let function =
                    value_of_type(entry, no_literal, "an async function", "find_payment")?;
                quote!(.reconcile(#function))
            }
            "check" => {
                let (name, function) = named_function(entry)?;
                quote!(.check(#name, #function))
            }
            "source" => {
                let source = entry.string()?;
                quote!(.source(#source))
            }
            "timeout_secs" => {
                let seconds = value_of_type(entry, is_integer, "a number of seconds", "30")?;
                quote!(.timeout(::core::time::Duration::from_secs(#seconds)))
            }
            "max_result_bytes" => {
                let bytes = value_of_type(entry, is_integer, "a number of bytes", "65536")?;
                quote!(.max_result_bytes(#bytes))
            }
            "exclusive" => {
                if entry.flag()? {
                    quote!(.concurrency(::turnwright::__private::Concurrency::Exclusive))
                } else {
                    quote!(.concurrency(::turnwright::__private::Concurrency::Parallel))
                }
            }
            // `trusted`, `ephemeral`, `reads_private` and `sends_out`: unknown keys were rejected when the list was read.
            _ => {
                let (method, flag) = (&entry.key, entry.flag()?);
                quote!(.#method(#flag))
            }
        };
        self.builder_calls.push(call);
        Ok(())
    }
}

/// Returns a builder call with a variant or constant of `family`.
fn variant(entry: &Entry, family: &str, choices: Choices) -> syn::Result<TokenStream> {
    let variant = quote::format_ident!("{}", entry.choice(choices)?);
    let (method, family) = (&entry.key, quote::format_ident!("{family}"));
    Ok(quote!(.#method(::turnwright::__private::#family::#variant)))
}

fn no_literal(_: &Lit) -> bool {
    false
}

fn is_integer(value: &Lit) -> bool {
    matches!(value, Lit::Int(_))
}

/// Returns the value if it is an expression, such as a constant, whose type the compiler checks, or an allowed literal.
fn own_value(entry: &Entry, allows: fn(&Lit) -> bool) -> Option<&Expr> {
    let value = entry.value.as_ref();
    value.filter(|value| literal(value).is_none_or(allows))
}

/// Like [`own_value`]. Rejects every other value.
fn value_of_type<'e>(
    entry: &'e Entry,
    allows: fn(&Lit) -> bool,
    wanted: &str,
    example: &str,
) -> syn::Result<&'e Expr> {
    let value = entry.required(example)?;
    own_value(entry, allows).ok_or_else(|| entry.wrong(value, wanted, example))
}

/// Returns the path of a function, and the name of the function as a string.
fn named_function(entry: &Entry) -> syn::Result<(String, &Expr)> {
    let example = "city_exists";
    let value = entry.required(example)?;
    let name = match value {
        Expr::Path(path) => path.path.segments.last(),
        _ => None,
    };
    // The model sees the name as the violated rule, so a closure is not enough.
    let name = name.ok_or_else(|| entry.wrong(value, "the path of an async function", example))?;
    Ok((name.ident.unraw().to_string(), value))
}
