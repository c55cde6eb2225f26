//! Stores results in the spool, or shares bytes that a record already has.
//!
//! A returned artifact is shared within its conversation, and otherwise copied. A store deletes bytes that no record
//! names, and bytes of another conversation could be deleted between the end of the handler and the write of the
//! record.

use std::io;

use crate::artifact::{ArtifactKind, Place, SpooledArtifact};
use crate::error::{Error, ErrorCode};
use crate::ids::new_id;
use crate::spool::{Body, ByteStream, Spooled};
use crate::tool::context::{ToolContext, TurnContext};

impl ToolContext {
    /// Writes content to the spool of this turn and returns it as an artifact, so that the handler can query it before returning
    /// it. Returning it does not copy it: see [`ToolOutput::artifact`](crate::ToolOutput::artifact).
    ///
    /// Content that the handler does not return belongs to no record. In a persistent spool, it stays until unreferenced bytes
    /// are removed.
    ///
    /// ```
    /// use turnwright_core::{DispatchContext, Tool};
    /// use turnwright_core::artifact::ArtifactKind;
    /// use serde_json::json;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let export = Tool::dynamic("export", json!({ "type": "object" }))
    ///     .description("Exports the log.")
    ///     .handler(async |_, ctx| {
    ///         let log = ctx.spool("one\ntwo\n", ArtifactKind::TEXT).await?;
    ///         ctx.progress(format!("{} lines", log.line_count().await?));
    ///         Ok(log)
    ///     })
    ///     .build()?;
    /// let output = export.call(&DispatchContext::standalone(), "{}").await?;
    /// assert_eq!(output.into_text().await?.as_deref(), Some("one\ntwo\n"));
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns `E_SPOOL_ERROR` if the spool cannot store the content.
    pub async fn spool(
        &self,
        content: impl Into<Body>,
        kind: ArtifactKind,
    ) -> Result<SpooledArtifact, Error> {
        let turn = self.turn();
        let spool_id = turn.spool_id(&format!("{}-{}", self.id(), new_id()));
        let stored = turn.spool_artifact(&spool_id, content.into(), kind).await;
        stored.map_err(|error| {
            Error::new(
                ErrorCode::SPOOL_ERROR,
                "the spool could not store an artifact",
            )
            .with_source(error)
        })
    }
}

impl TurnContext {
    /// Writes content to the spool of this turn.
    pub(super) async fn spool_artifact(
        &self,
        spool_id: &str,
        content: Body,
        kind: ArtifactKind,
    ) -> io::Result<SpooledArtifact> {
        let (spooled, reader) = Spooled::put(&**self.spool(), spool_id, content).await?;
        let place = if self.spool().can_reopen() {
            Place::Spool(spooled)
        } else {
            Place::Reader
        };
        Ok(SpooledArtifact::placed(place, reader, kind))
    }

    /// Returns whether a record of this turn may refer to the bytes of an artifact. Bytes of another conversation may be deleted
    /// with it before the record is stored, and bytes of another spool cannot be found when the record is loaded.
    pub(super) fn may_share(&self, artifact: &SpooledArtifact) -> bool {
        if !self.spool().can_reopen() {
            // Records hold the reader itself.
            return true;
        }
        match artifact.spool_id() {
            None => false,
            Some(id) => self.made(id) || self.refers_to(id),
        }
    }

    /// Returns whether this turn wrote these bytes.
    fn made(&self, spool_id: &str) -> bool {
        // The digest of the conversation and the turn, and a hyphen.
        let own = self.spool_id("");
        own.get(..33)
            .is_some_and(|prefix| spool_id.starts_with(prefix))
    }

    /// Returns whether a record of this conversation refers to these bytes.
    fn refers_to(&self, spool_id: &str) -> bool {
        let records = self.journal().records();
        let mut all = records.all().into_iter();
        all.any(|record| record.spool_ids().any(|id| id == spool_id))
    }
}

/// Returns the content of an artifact, to be copied.
pub(super) fn content_of(artifact: &SpooledArtifact) -> Body {
    match artifact.place() {
        Place::Memory(bytes) => Body::Bytes(bytes.clone()),
        Place::Spool(_) | Place::Reader => {
            Body::Stream(ByteStream::of_reader(artifact.reader().clone()))
        }
    }
}
