//! Methods that the author of a server adds.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde::Serialize;
use serde_json::{Value, json};
use turnwright_core::Principal;

type Method = Arc<
    dyn Fn(Value, Option<Principal>) -> BoxFuture<'static, Result<Value, MethodError>>
        + Send
        + Sync,
>;

/// Methods by name.
#[derive(Clone, Default)]
pub(super) struct Methods(HashMap<String, Method>);

/// The error of a method that was added with [`McpService::method`](super::McpService::method). The client reads it.
///
/// ```
/// use serde_json::{Value, json};
/// use turnwright_mcp::serve::MethodError;
///
/// fn get(params: &Value) -> Result<Value, MethodError> {
///     match params["name"].as_str() {
///         Some("greet") => Ok(json!({ "messages": [] })),
///         _ => Err(MethodError::invalid_params("there is no such prompt")),
///     }
/// }
/// assert_eq!(get(&json!({ "name": "x" })).unwrap_err().to_string(), "there is no such prompt");
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct MethodError {
    /// The error code of JSON-RPC.
    pub code: i32,
    /// The message.
    pub message: String,
    /// Data for programs.
    pub data: Option<Value>,
}

impl MethodError {
    /// The parameters are invalid.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        MethodError::new(ErrorCode::INVALID_PARAMS.0, message)
    }

    /// There is no resource with this URI.
    pub fn resource_not_found(uri: &str) -> Self {
        MethodError {
            data: Some(json!({ "uri": uri })),
            ..MethodError::new(ErrorCode::RESOURCE_NOT_FOUND.0, "Resource not found")
        }
    }

    /// The method failed.
    pub fn internal(message: impl Into<String>) -> Self {
        MethodError::new(ErrorCode::INTERNAL_ERROR.0, message)
    }

    fn new(code: i32, message: impl Into<String>) -> Self {
        MethodError {
            code,
            message: message.into(),
            data: None,
        }
    }
}

impl From<MethodError> for ErrorData {
    fn from(error: MethodError) -> Self {
        ErrorData::new(ErrorCode(error.code), error.message, error.data)
    }
}

impl Methods {
    pub(super) fn add<F, Fut>(&mut self, name: String, handler: F)
    where
        F: Fn(Value, Option<Principal>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, MethodError>> + Send + 'static,
    {
        let method: Method = Arc::new(move |params, caller| Box::pin(handler(params, caller)));
        self.0.insert(name, method);
    }

    /// Calls a method. `None` if there is none with this name.
    pub(super) async fn call(
        &self,
        name: &str,
        params: impl Serialize,
        caller: Option<Principal>,
    ) -> Option<Result<Value, ErrorData>> {
        let method = self.0.get(name)?;
        let params = match serde_json::to_value(params) {
            Ok(Value::Null) => json!({}),
            Ok(params) => params,
            Err(error) => return Some(Err(ErrorData::invalid_params(error.to_string(), None))),
        };
        let mut result = method(params, caller).await.map_err(ErrorData::from);
        if let Ok(Value::Object(result)) = &mut result {
            // Required in protocol 2026-07-28. `rmcp` removes it for other clients.
            result.entry("resultType").or_insert("complete".into());
        }
        Some(result)
    }
}
