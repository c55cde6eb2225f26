//! Converts the return value of a `#[tool]` function. Not public API: it can change at any time.
//!
//! A trait cannot be implemented for both `T: Serialize` and `Result<T, ToolError>`, because they may overlap. The generated code
//! knows the type and calls `(&&&&&&Returned::of(&value)).convert(value)`. The compiler searches for the method on that type first,
//! then with one reference less each time, so the first applicable trait below is used.

#![allow(missing_docs, missing_debug_implementations)]

use std::marker::PhantomData;

use serde::Serialize;

use super::{IntoToolResult, Json, ToolOutput};
use crate::artifact::ToolValue;
use crate::error::{IntoToolError, ToolError};

type Converted = Result<ToolOutput, ToolError>;

/// The type of a returned value.
pub struct Returned<T>(PhantomData<fn(T)>);

impl<T> Returned<T> {
    pub fn of(_: &T) -> Self {
        Returned(PhantomData)
    }
}

/// A value that any handler can return.
pub trait Direct<T> {
    fn convert(&self, value: T) -> Converted;
}

impl<T: IntoToolResult> Direct<T> for &&&&&Returned<T> {
    fn convert(&self, value: T) -> Converted {
        value.into_tool_result()
    }
}

/// A `Result` with such a value and any error.
pub trait Fallible<T, E> {
    fn convert(&self, result: Result<T, E>) -> Converted;
}

impl<T: IntoToolResult, E: IntoToolError> Fallible<T, E> for &&&&Returned<Result<T, E>> {
    fn convert(&self, result: Result<T, E>) -> Converted {
        result.map_err(E::into_tool_error)?.into_tool_result()
    }
}

/// A `Result` with a user's type and any error.
pub trait FallibleJson<T, E> {
    fn convert(&self, result: Result<T, E>) -> Converted;
}

impl<T: Serialize + 'static, E: IntoToolError> FallibleJson<T, E> for &&&Returned<Result<T, E>> {
    fn convert(&self, result: Result<T, E>) -> Converted {
        Json(result.map_err(E::into_tool_error)?).into_tool_result()
    }
}

/// Any other `Result`. It may be `Serialize`, but a model must not read an error that was not written for it.
pub trait BadResult<T, E> {
    /// Explains the error at compile time.
    fn convert(&self, result: Result<T, E>) -> Converted
    where
        T: ToolValue,
        E: IntoToolError;
}

impl<T, E> BadResult<T, E> for &&Returned<Result<T, E>> {
    fn convert(&self, result: Result<T, E>) -> Converted
    where
        T: ToolValue,
        E: IntoToolError,
    {
        result.map_err(E::into_tool_error)?;
        ().into_tool_result()
    }
}

/// A user's type.
pub trait AsJson<T> {
    fn convert(&self, value: T) -> Converted;
}

impl<T: Serialize + 'static> AsJson<T> for &Returned<T> {
    fn convert(&self, value: T) -> Converted {
        Json(value).into_tool_result()
    }
}

/// A type that a tool cannot return.
pub trait Unknown<T> {
    /// Explains the error at compile time.
    fn convert(&self, value: T) -> Converted
    where
        T: ToolValue;
}

impl<T> Unknown<T> for Returned<T> {
    fn convert(&self, _: T) -> Converted
    where
        T: ToolValue,
    {
        ().into_tool_result()
    }
}

impl ToolValue for ToolOutput {}
impl<T> ToolValue for Json<T> {}
