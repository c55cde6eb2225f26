//! The settings that apply to a turn.

use crate::error::Error;
use crate::record::TurnRecord;
use crate::settings::{ModelSettings, ToolChoice, TurnSettings};
use crate::tool::context::{DispatchContext, TurnContext};

impl TurnContext {
    /// The instructions, the model settings and the budget of this turn over those of its runner.
    pub(crate) fn turn_settings(&self) -> &TurnSettings {
        let own = || self.inner().parts.settings.clone();
        let runner = &self.setup().settings;
        let settings = &self.inner().settings;
        settings.get_or_init(|| own().under_runner(runner))
    }

    /// The settings of a resumed turn: what its input sets over what its record says.
    pub(crate) fn settings_with(&self, record: &TurnRecord) -> TurnSettings {
        let own = self.inner().parts.settings.clone();
        own.over(&record.settings)
    }

    /// Takes over what the record of a resumed turn says of its settings.
    pub(crate) fn resume_settings(&self, record: &TurnRecord) {
        let own = self.settings_with(record);
        let applies = own.under_runner(&self.setup().settings);
        // A turn is resumed once.
        let _ = self.inner().settings.set(applies);
    }
}

impl DispatchContext {
    /// Returns the system prompt: the instructions of the runner, then those of the turn. Executors send it before
    /// everything else. Standing instructions are records, and come separately.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.turn().turn_settings().instructions.as_deref()
    }

    /// Returns the model settings of this iteration: those of middleware ([`override_settings`](Self::override_settings)),
    /// over those of the turn, over those of the runner. An executor with settings of its own uses
    /// [`settings_over`](Self::settings_over).
    pub fn settings(&self) -> ModelSettings {
        self.settings_over(&ModelSettings::new())
    }

    /// Returns the model settings of this iteration over the defaults of an executor.
    ///
    /// A [`ToolChoice`] that forces a call applies until the turn's first tool call, wherever it was set; only one of
    /// middleware applies as it is.
    pub fn settings_over(&self, defaults: &ModelSettings) -> ModelSettings {
        let turn = self.turn();
        let mut settings = turn.turn_settings().model.clone().over(defaults);
        let forced = settings
            .tool_choice
            .as_ref()
            .is_some_and(ToolChoice::is_forced);
        if forced && !turn.records().own_tool_calls().is_empty() {
            settings.tool_choice = Some(ToolChoice::Auto);
        }
        self.settings_override().over(&settings)
    }

    /// Sets model settings for this iteration alone, over those of the turn and the runner: for middleware of the
    /// dispatch's input.
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
    /// `E_INVALID_MODEL_CONFIG` if a value is not possible.
    pub fn override_settings(&self, settings: ModelSettings) -> Result<(), Error> {
        settings.validate()?;
        self.set_settings_override(settings);
        Ok(())
    }
}
