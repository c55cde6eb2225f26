//! The parameters of one request: the settings and options of the turn over those of the model.

use std::sync::Arc;

use turnwright_core::settings::ToolChoice;
use turnwright_core::{DispatchContext, Error, ErrorCode, ModelSettings};

use super::codec::Info;
use super::model::Engine;
use super::options::OptionMap;
use super::per_turn::warn_once;

/// The parameters of one request.
pub(super) struct Parameters {
    pub(super) settings: ModelSettings,
    pub(super) options: Arc<OptionMap>,
}

impl Engine {
    /// Returns the parameters of the next request of a turn: its settings over those of this model.
    pub(super) fn parameters(&self, ctx: &DispatchContext) -> Result<Parameters, Error> {
        let info = self.server.codec.info();
        let settings = ctx.settings_over(&self.settings);
        let options = match settings.provider_options(info.name) {
            Some(fields) => Arc::new(OptionMap::read(fields, info)?.over(&self.options)),
            None => Arc::clone(&self.options),
        };
        options.model_name().ok_or_else(|| no_model(info))?;
        Ok(Parameters { settings, options })
    }
}

/// Returns the error for a request without a model.
pub(super) fn no_model(info: &Info) -> Error {
    let variable = info.environment.model;
    let message = format!("no model configured: set {variable}, or call `.model(\"…\")`");
    Error::new(ErrorCode::INVALID_MODEL_CONFIG, message)
}

impl Parameters {
    /// Lets the model choose if the choice is a tool that is left out of the request: servers reject such a choice.
    pub(super) fn release_choice(&mut self, withheld: &[String], ctx: &DispatchContext) {
        let choice = &mut self.settings.tool_choice;
        if let Some(ToolChoice::Tool(name)) = choice
            && withheld.contains(name)
        {
            let message = format!(
                "the tool choice names `{name}`, which is left out of the request: the model chooses instead"
            );
            warn_once(ctx, message);
            *choice = Some(ToolChoice::Auto);
        }
    }

    pub(super) fn model_name(&self) -> &str {
        self.options.model_name().unwrap_or_default()
    }
}
