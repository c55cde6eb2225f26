//! Converts the return value of a `#[tool]` function. Not public API: it can change at any time.
//!
//! A trait cannot be implemented for both `T: Serialize` and `Result<T, ToolError>`, because they may overlap. The generated code
//! knows the type and calls `(&&&&&&Returned::of(&value)).how()`. The compiler searches for the method on that type first, then
//! with one reference less each time, so the first applicable trait below is used.

#![allow(missing_docs, missing_debug_implementations)]

use std::marker::PhantomData;

use serde::Serialize;

use super::{IntoToolResult, Json, ToolOutput};
use crate::artifact::ToolValue;
use crate::error::{IntoToolError, ToolError};

/// The type of a returned value.
pub struct Returned<T>(PhantomData<fn(T)>);

impl<T> Returned<T> {
    pub fn of(_: &T) -> Self {
        Returned(PhantomData)
    }
}

/// A value that any handler can return.
pub struct Direct;

pub trait HowDirect {
    fn how(&self) -> Direct {
        Direct
    }
}

impl<T: IntoToolResult> HowDirect for &&&&&Returned<T> {}

impl Direct {
    pub fn convert<T: IntoToolResult>(self, value: T) -> Result<ToolOutput, ToolError> {
        value.into_tool_result()
    }
}

/// A `Result` with such a value and any error.
pub struct Fallible;

pub trait HowFallible {
    fn how(&self) -> Fallible {
        Fallible
    }
}

impl<T: IntoToolResult, E: IntoToolError> HowFallible for &&&&Returned<Result<T, E>> {}

impl Fallible {
    pub fn convert<T: IntoToolResult, E: IntoToolError>(
        self,
        result: Result<T, E>,
    ) -> Result<ToolOutput, ToolError> {
        let result = result.map_err(IntoToolError::into_tool_error);
        result.and_then(IntoToolResult::into_tool_result)
    }
}

/// A `Result` with a user's type and any error.
pub struct FallibleJson;

pub trait HowFallibleJson {
    fn how(&self) -> FallibleJson {
        FallibleJson
    }
}

impl<T: Serialize + 'static, E: IntoToolError> HowFallibleJson for &&&Returned<Result<T, E>> {}

impl FallibleJson {
    pub fn convert<T: Serialize + 'static, E: IntoToolError>(
        self,
        result: Result<T, E>,
    ) -> Result<ToolOutput, ToolError> {
        Fallible.convert(result.map(Json))
    }
}

/// Any other `Result`. It may be `Serialize`, but a model must not read an error that was not written for it.
pub struct BadResult;

pub trait HowBadResult {
    fn how(&self) -> BadResult {
        BadResult
    }
}

impl<T, E> HowBadResult for &&Returned<Result<T, E>> {}

impl BadResult {
    /// Explains the error at compile time.
    pub fn convert<T: ToolValue, E: IntoToolError>(
        self,
        result: Result<T, E>,
    ) -> Result<ToolOutput, ToolError> {
        Fallible.convert(result.map(|_| ()))
    }
}

/// A user's type.
pub struct AsJson;

pub trait HowJson {
    fn how(&self) -> AsJson {
        AsJson
    }
}

impl<T: Serialize + 'static> HowJson for &Returned<T> {}

impl AsJson {
    pub fn convert<T: Serialize + 'static>(self, value: T) -> Result<ToolOutput, ToolError> {
        Json(value).into_tool_result()
    }
}

/// A type that a tool cannot return.
pub struct Unknown;

pub trait HowUnknown {
    fn how(&self) -> Unknown {
        Unknown
    }
}

impl<T> HowUnknown for Returned<T> {}

impl Unknown {
    /// Explains the error at compile time.
    pub fn convert<T: ToolValue>(self, _: T) -> Result<ToolOutput, ToolError> {
        ().into_tool_result()
    }
}

impl ToolValue for ToolOutput {}
impl<T> ToolValue for Json<T> {}
