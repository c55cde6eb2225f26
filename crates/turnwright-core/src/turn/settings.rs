//! The settings that apply to a turn.

use std::collections::HashSet;

use parking_lot::Mutex;

use crate::error::Error;
use crate::record::TurnRecord;
use crate::schema::escape;
use crate::settings::{ModelSettings, ToolChoice, TurnSettings};
use crate::tool::MAX_NAME_LEN;
use crate::tool::context::{DispatchContext, TurnContext};

/// The unknown tools of tool choices that the turn has been warned of.
#[derive(Default)]
struct UnknownChoices(Mutex<HashSet<String>>);

impl TurnContext {
    /// Returns the settings of a resumed turn: those of its input take precedence over those in its record.
    pub(crate) fn settings_with(&self, record: &TurnRecord) -> TurnSettings {
        let own = self.wiring().input_settings().clone();
        own.over(&record.settings)
    }

    /// Restores the settings of a resumed turn from its record.
    pub(crate) fn resume_settings(&self, record: &TurnRecord) {
        self.wiring().resume_settings(self.settings_with(record));
    }
}

impl DispatchContext {
    /// Returns the system prompt: the instructions of the runner, then those of the turn. Executors send it first. Standing
    /// instructions are records and are separate.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.turn().wiring().settings().instructions.as_deref()
    }

    /// Returns the model settings of this iteration. Those of middleware ([`override_settings`](Self::override_settings)) take
    /// precedence over those of the turn, and those over the runner's. An executor with its own settings uses
    /// [`settings_over`](Self::settings_over).
    pub fn settings(&self) -> ModelSettings {
        self.settings_over(&ModelSettings::new())
    }

    /// Returns the model settings of this iteration, combined with the defaults of an executor.
    ///
    /// A [`ToolChoice`] that forces a call applies until the first tool call of the turn. Only a choice set by middleware applies
    /// unconditionally. A choice of a tool that the model cannot see in this iteration becomes [`ToolChoice::Auto`], because
    /// servers reject such a request; a warning event says so, once per turn and tool.
    pub fn settings_over(&self, defaults: &ModelSettings) -> ModelSettings {
        let turn = self.turn();
        let mut settings = turn.wiring().settings().model.clone().over(defaults);
        let forced = settings
            .tool_choice
            .as_ref()
            .is_some_and(ToolChoice::is_forced);
        if forced && !turn.records().own_tool_calls().is_empty() {
            settings.tool_choice = Some(ToolChoice::Auto);
        }
        let mut settings = self.settings_override().over(&settings);
        if let Some(ToolChoice::Tool(name)) = &settings.tool_choice
            && !self
                .tools()
                .visible()
                .iter()
                .any(|tool| tool.name() == name)
        {
            self.warn_of_unknown_choice(name);
            settings.tool_choice = Some(ToolChoice::Auto);
        }
        settings
    }

    fn warn_of_unknown_choice(&self, name: &str) {
        let turn = self.turn();
        let warned = turn.per_turn::<UnknownChoices>();
        if warned.0.lock().insert(name.to_owned()) {
            let name = serde_json::Value::from(escape(name, MAX_NAME_LEN));
            turn.warn(format!(
                "the tool choice names {name}, which is not among the tools of this request: the model chooses instead"
            ));
        }
    }

    /// Sets model settings for this iteration only. They take precedence over those of the turn and the runner. For dispatch
    /// input middleware.
    ///
    /// ```
    /// use turnwright_core::{DispatchContext, ModelSettings, Next};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
    ///     ctx.answer(format!("{:?}", ctx.settings().temperature)).await?;
    ///     Ok(())
    /// })
    /// .settings(ModelSettings::new().temperature(0.2))
    /// .dispatch_input(|ctx: DispatchContext, next: Next<DispatchContext>| async move {
    ///     ctx.override_settings(ModelSettings::new().temperature(1.0))?;
    ///     next.run().await
    /// })
    /// .build()?;
    /// assert_eq!(runner.run("Hello").await.text, "Some(1.0)");
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns `E_INVALID_MODEL_CONFIG` if a value is invalid.
    pub fn override_settings(&self, settings: ModelSettings) -> Result<(), Error> {
        settings.validate()?;
        self.set_settings_override(settings);
        Ok(())
    }
}
