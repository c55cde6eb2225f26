//! Return types of handlers.
//!
//! There is one implementation for `Result`. With a second one the compiler could not infer the error type of a closure
//! that ends in `Ok(…)`.

use std::any::Any;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

use super::output::ToolOutput;
use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::error::ToolError;
use crate::media::Media;
use crate::spool::{Body, ByteStream};

/// A value that is returned as JSON.
///
/// Closures use it to return their own types. `#[tool]` functions do not need it.
///
/// ```
/// use turnwright_core::Json;
/// use turnwright_core::artifact::ArtifactKind;
/// use turnwright_core::tool::IntoToolResult;
///
/// #[derive(serde::Serialize)]
/// struct Weather { city: &'static str, celsius: i8 }
///
/// let output = Json(Weather { city: "Oslo", celsius: -3 }).into_tool_result()?;
/// assert_eq!(output.as_text(), Some(r#"{"city":"Oslo","celsius":-3}"#));
/// assert_eq!(output.kind, Some(ArtifactKind::JSON));
/// # Ok::<(), turnwright_core::ToolError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// A value that a handler can return.
///
/// | type | the model reads |
/// | --- | --- |
/// | `String`, `&'static str`, `Cow<'static, str>`, `Box<str>`, `Arc<str>` | the text |
/// | numbers, `bool`, `char` | the value as JSON |
/// | `Vec<T>`, arrays, sets and maps of `Serialize` types, `serde_json::Value` | the value as JSON |
/// | [`Json(value)`](Json) of any `Serialize` type | the value as JSON |
/// | `Option<T>` of one of these | the value, or `null` for `None` |
/// | `()` | "Done. The tool has no output." |
/// | `Vec<u8>`, [`Bytes`], [`ByteStream`] | the bytes, as the tool's [artifact kind](super::ToolBuilder::artifact_kind) |
/// | [`Media`], `Vec<Media>` | the media |
/// | [`SpooledArtifact`] | the artifact: see [`ToolOutput::artifact`] |
/// | [`ToolOutput`] | what it holds |
/// | `Result<T, ToolError>` of one of these | the value, or [`ToolError::model_text`] |
///
/// `#[tool]` functions can also return any other `Serialize` type, and a `Result` with any error.
///
/// ```
/// use turnwright_core::tool::IntoToolResult;
///
/// assert_eq!(3.5.into_tool_result()?.as_text(), Some("3.5"));
/// assert_eq!(vec!["a", "b"].into_tool_result()?.as_text(), Some(r#"["a","b"]"#));
/// assert_eq!(None::<String>.into_tool_result()?.as_text(), Some("null"));
/// # Ok::<(), turnwright_core::ToolError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "the handler returns this",
    note = "return text, a number, `bool`, `Option`, `Vec`, `()`, bytes, media or a `ToolOutput`; wrap a `Serialize` type of your own: `Json(value)`",
    note = "a handler that can fail returns `Result<_, ToolError>`; `?` converts any error to a `ToolError`"
)]
pub trait IntoToolResult {
    /// Converts the value to the result of the call.
    ///
    /// # Errors
    /// Returns an error if the handler failed or the value cannot be serialised.
    fn into_tool_result(self) -> Result<ToolOutput, ToolError>;
}

/// The output of a tool that returns `()`. Some providers reject an empty result, and models interpret one as a failure.
const NO_OUTPUT: &str = "Done. The tool has no output.";

impl IntoToolResult for ToolOutput {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(self)
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(NO_OUTPUT))
    }
}

impl IntoToolResult for Bytes {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::bytes(self))
    }
}

impl IntoToolResult for ByteStream {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(Body::Stream(self).into())
    }
}

impl IntoToolResult for Media {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::media([self]))
    }
}

impl IntoToolResult for SpooledArtifact {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::artifact(self))
    }
}

impl<T: Serialize + 'static> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(serde_json::to_string(&self.0)?).of_kind(ArtifactKind::JSON))
    }
}

/// `Vec<u8>` is bytes, `Vec<Media>` is media, every other list is JSON.
impl<T: Serialize + 'static> IntoToolResult for Vec<T> {
    fn into_tool_result(mut self) -> Result<ToolOutput, ToolError> {
        let list: &mut dyn Any = &mut self;
        if let Some(bytes) = list.downcast_mut::<Vec<u8>>() {
            return Ok(ToolOutput::bytes(std::mem::take(bytes)));
        }
        if let Some(media) = list.downcast_mut::<Vec<Media>>() {
            return Ok(ToolOutput::media(std::mem::take(media)));
        }
        Json(self).into_tool_result()
    }
}

impl<T: IntoToolResult> IntoToolResult for Option<T> {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        match self {
            Some(value) => value.into_tool_result(),
            None => Json(()).into_tool_result(),
        }
    }
}

// The only implementation for `Result`, so that the compiler can infer the error type of closures that end in `Ok(…)`.
impl<T: IntoToolResult> IntoToolResult for Result<T, ToolError> {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        self.and_then(IntoToolResult::into_tool_result)
    }
}

macro_rules! as_text {
    ($($type:ty),+) => {$(
        impl IntoToolResult for $type {
            fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
                Ok(ToolOutput::text(self))
            }
        }
    )+};
}

as_text!(String, &'static str, Cow<'static, str>, Box<str>);

impl IntoToolResult for Arc<str> {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(&*self))
    }
}

macro_rules! as_json {
    ($([$($generic:tt)*] $type:ty),+ $(,)?) => {$(
        impl<$($generic)*> IntoToolResult for $type
        where
            $type: Serialize + 'static,
        {
            fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
                Json(self).into_tool_result()
            }
        }
    )+};
}

as_json! {
    [] bool, [] char, [] f32, [] f64, [] Value,
    [] i8, [] i16, [] i32, [] i64, [] i128, [] isize,
    [] u8, [] u16, [] u32, [] u64, [] u128, [] usize,
    [T, const N: usize] [T; N], [T] BTreeSet<T>, [T, S] HashSet<T, S>,
    [K, V] BTreeMap<K, V>, [K, V, S] HashMap<K, V, S>,
}
