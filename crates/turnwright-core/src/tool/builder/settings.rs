//! Sets the properties of a tool.

use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::ToolBuilder;
use crate::artifact::{ArtifactKind, Inline};
use crate::effects::{Concurrency, Effects, OnCollision};
use crate::schema::{IntoSchema, Limits};
use crate::tool::meta::Meta;

impl<A: DeserializeOwned + Send + 'static> ToolBuilder<A> {
    /// Sets the size and depth limits of the arguments.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// Sets the content type of results.
    ///
    /// Default: text.
    pub fn artifact_kind(mut self, kind: ArtifactKind) -> Self {
        self.facts.artifact_kind = Some(kind);
        self
    }

    /// Sets whether results are inlined into the prompt or replaced by handles.
    ///
    /// Default: text of at most 4 KiB is inlined.
    pub fn inline(mut self, inline: Inline) -> Self {
        self.facts.inline = inline;
        self
    }

    /// Marks the tool as an artifact tool. Such tools are untrusted and exist for one dispatch.
    pub(crate) fn artifact_tool(mut self) -> Self {
        self.facts.artifact_tool = true;
        self
    }

    /// Sets metadata for your own middleware.
    pub fn meta(mut self, meta: impl Into<Meta>) -> Self {
        self.facts.meta = meta.into();
        self
    }

    /// Sets the version of the definition, such as a digest of what a server sent. It is part of the fingerprint, so an approval of
    /// one version is not valid for another.
    ///
    /// Default: none.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.facts.version = Some(version.into());
        self
    }

    /// Sets the schema of the results, for protocols that publish it. Results must then be JSON. A server of the Model Context
    /// Protocol checks each result before it sends it; a model sees the result, not this schema.
    ///
    /// ```
    /// use serde_json::json;
    /// use turnwright_core::Tool;
    /// use turnwright_core::schema::{integer, object};
    ///
    /// let count = Tool::dynamic("count", json!({ "type": "object" }))
    ///     .description("Counts the open tickets.")
    ///     .output_schema(object().field("open", integer().required()))
    ///     .handler(async |_, _| json!({ "open": 3 }))
    ///     .build()?;
    /// assert_eq!(count.output_schema().unwrap().document()["required"], json!(["open"]));
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    ///
    /// Default: none.
    pub fn output_schema(mut self, schema: impl IntoSchema) -> Self {
        self.output_schema = Some(schema.into_schema());
        self
    }

    /// Sets whether the tool exists for one dispatch only.
    pub fn ephemeral(mut self, ephemeral: bool) -> Self {
        self.facts.ephemeral = ephemeral;
        self
    }

    /// Sets whether the text that the tool returns is trusted. Only set it if no third party can influence the text.
    pub fn trusted(mut self, trusted: bool) -> Self {
        self.facts.trusted = trusted;
        self
    }

    /// Sets what happens when another tool has the same name in a merge.
    pub fn on_collision(mut self, on_collision: OnCollision) -> Self {
        self.facts.on_collision = on_collision;
        self
    }

    /// Sets the declared effects.
    ///
    /// Default: [`Effects::Writes`].
    pub fn effects(mut self, effects: Effects) -> Self {
        self.facts.effects = effects;
        self
    }

    /// Sets where the tool comes from, such as the alias of a server. Policies can name all tools of a source, for example
    /// [`quarantine`](crate::tool::approval::quarantine). The model does not see it.
    ///
    /// Default: none.
    pub fn source(mut self, source: impl Into<Arc<str>>) -> Self {
        self.facts.source = Some(source.into());
        self
    }

    /// Sets whether results contain private data: mail, files, a customer's record. The data count as private as long as they are
    /// in the prompt, in later turns too: see [`no_exfiltration`](crate::tool::approval::no_exfiltration).
    ///
    /// Default: `false`.
    ///
    /// ```
    /// use serde_json::{Value, json};
    /// use turnwright_core::{Effects, Tool, ToolContext};
    ///
    /// let read_mail = Tool::dynamic("read_mail", json!({ "type": "object" }))
    ///     .description("Reads the newest mail.")
    ///     .effects(Effects::ReadOnly)
    ///     .source("mail")
    ///     .reads_private(true)
    ///     .handler(|_: Value, _: ToolContext| async { "Your code is 1234." })
    ///     .build()?;
    /// assert!(read_mail.reads_private() && !read_mail.sends_out());
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    pub fn reads_private(mut self, reads_private: bool) -> Self {
        self.facts.reads_private = reads_private;
        self
    }

    /// Sets whether data can leave through a call, in its arguments: a mail, a request to a URL that the model chooses, a commit to
    /// a public repository. See [`no_exfiltration`](crate::tool::approval::no_exfiltration).
    ///
    /// Default: `false`.
    pub fn sends_out(mut self, sends_out: bool) -> Self {
        self.facts.sends_out = sends_out;
        self
    }

    /// Sets the timeout of a call. With `None`, calls have no timeout.
    ///
    /// Default: 5 minutes.
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.facts.timeout = timeout.into();
        self
    }

    /// Sets the maximum size of a result in bytes: see
    /// [`TurnRunnerBuilder::max_result_bytes`](crate::runner::TurnRunnerBuilder::max_result_bytes).
    ///
    /// Default: the limit of the runner.
    pub fn max_result_bytes(mut self, bytes: u64) -> Self {
        self.facts.max_result_bytes = Some(bytes);
        self
    }

    /// Sets whether calls may run concurrently with others.
    pub fn concurrency(mut self, concurrency: Concurrency) -> Self {
        self.facts.concurrency = concurrency;
        self
    }
}
