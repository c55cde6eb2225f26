//! Stores the bytes of media, so that they outlive the process.

use std::io;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;

use crate::error::{Error, ErrorCode};
use crate::ids::new_id;
use crate::media::Media;
use crate::panic::text_of;
use crate::record::Record;
use crate::store::Change;
use crate::tool::context::TurnContext;

impl TurnContext {
    /// Writes the bytes of media to the spool, if the store is persistent and the bytes can be read by range. An in-memory store
    /// keeps the readers themselves.
    pub(crate) async fn store_media(&self, mut media: Vec<Media>) -> io::Result<Vec<Media>> {
        if !self.stores_media() {
            return Ok(media);
        }
        for media in &mut media {
            if media.is_to_be_spooled() {
                let spool_id = self.spool_id(&format!("media-{}", new_id()));
                *media = media
                    .clone()
                    .store_bytes(&**self.spool(), &spool_id)
                    .await?;
            }
        }
        Ok(media)
    }

    /// Returns the record with its media in the spool.
    ///
    /// # Errors
    /// Returns `E_SPOOL_ERROR` if the bytes cannot be stored.
    pub(crate) async fn store_media_of(&self, record: Record) -> Result<Record, Error> {
        if !has_unstored(&record) || !self.stores_media() {
            return Ok(record);
        }
        let media = record.media().to_vec();
        // The spool and the readers are user code.
        let spooled = AssertUnwindSafe(self.store_media(media)).catch_unwind();
        let message = "the media of a record could not be stored in the spool";
        match spooled.await {
            Ok(Ok(media)) => Ok(record.with_media(media)),
            Ok(Err(error)) => Err(Error::new(ErrorCode::SPOOL_ERROR, message).with_source(error)),
            Err(panic) => {
                let message = format!("{message}: the spool panicked: {}", text_of(panic));
                Err(Error::new(ErrorCode::SPOOL_ERROR, message))
            }
        }
    }

    /// Writes the media of new records to the spool.
    ///
    /// # Errors
    /// Returns `E_SPOOL_ERROR` if the bytes cannot be stored.
    pub(crate) async fn store_media_in(&self, changes: &mut [Change]) -> Result<(), Error> {
        for change in changes {
            if let Change::Put(record) = change
                && has_unstored(record)
            {
                *record = self.store_media_of(record.clone()).await?;
            }
        }
        Ok(())
    }

    fn stores_media(&self) -> bool {
        let store = self.record_store();
        self.spool().can_reopen() && store.is_some_and(|store| store.is_persistent())
    }
}

fn has_unstored(record: &Record) -> bool {
    record.media().iter().any(Media::is_to_be_spooled)
}
