//! The models that a server offers.

use std::time::Duration;

use serde_json::Value;
use turnwright_core::{Error, ErrorCode, ErrorKind};

use super::server::Server;
use crate::http::Request;

/// The timeout for the list of models.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum size of a list of models.
const MAX_BYTES: usize = 4 << 20;

impl Server {
    /// Returns the names of the models, in the order of the server.
    pub(super) async fn list_models(&self) -> Result<Vec<String>, Error> {
        let limit = TIMEOUT.min(self.settings.request_timeout);
        let list = tokio::time::timeout(limit, self.request_models()).await;
        let list = list.unwrap_or_else(|_| {
            let message = format!("the model server did not list its models within {limit:?}");
            Err(Error::new(ErrorCode::MODEL_TIMEOUT, message))
        });
        let body = list?;
        let names = serde_json::from_slice(&body)
            .ok()
            .and_then(|list| names(&list));
        let mut names = names.ok_or_else(|| {
            let message = "the response is not a list of models; is the base URL right?";
            Error::new(ErrorCode::WIRE_ERROR, message).with_kind(ErrorKind::NotFound)
        })?;
        // Some servers repeat the key in unexpected places.
        names.retain(|name| self.redacted(name) == *name);
        Ok(names)
    }

    async fn request_models(&self) -> Result<Vec<u8>, Error> {
        let mut request = Request::get(self.codec.models_url(&self.endpoint));
        let is_body = |name: &str| name == "content-type";
        let headers = self.headers.iter().filter(|(name, _)| !is_body(name));
        request.headers.extend(headers.cloned());
        let sent = self.transport.send(request).await;
        let mut response = sent.map_err(|error| self.without_secrets(error))?;
        if !(200..300).contains(&response.status) {
            return Err(Box::pin(self.error_response(response)).await.error);
        }
        let mut body = Vec::new();
        while let Some(piece) = response.body.next().await {
            body.extend_from_slice(&piece.map_err(|error| self.without_secrets(error))?);
            if body.len() > MAX_BYTES {
                let message = format!("the list of models is larger than {MAX_BYTES} bytes");
                return Err(Error::new(ErrorCode::WIRE_ERROR, message));
            }
        }
        Ok(body)
    }
}

/// Returns the names in a list: `data[].id` (OpenAI, Anthropic), or `models[].name` (Gemini, Ollama).
fn names(list: &Value) -> Option<Vec<String>> {
    let (models, field) = match list.get("data") {
        Some(models) => (models, "id"),
        None => (list.get("models")?, "name"),
    };
    let names = models.as_array()?.iter().map(|model| {
        let name = model.get(field)?.as_str()?;
        Some(name.strip_prefix("models/").unwrap_or(name).to_owned())
    });
    names.collect()
}
