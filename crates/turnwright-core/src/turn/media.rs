//! Media whose bytes must outlive the process.

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
    /// Puts the bytes of media into the spool, if records are stored for later and the bytes can be read by range. A store in memory
    /// keeps the readers themselves.
    pub(crate) async fn keep_media(&self, media: Vec<Media>) -> io::Result<Vec<Media>> {
        if !self.keeps_media() {
            return Ok(media);
        }
        let mut kept = Vec::with_capacity(media.len());
        for media in media {
            kept.push(match media.is_to_be_spooled() {
                true => {
                    let spool_id = self.spool_id(&format!("media-{}", new_id()));
                    media.keep(&**self.spool(), &spool_id).await?
                }
                false => media,
            });
        }
        Ok(kept)
    }

    /// The record with its media in the spool.
    ///
    /// # Errors
    /// `E_SPOOL_ERROR`.
    pub(crate) async fn keep_media_of(&self, record: Record) -> Result<Record, Error> {
        if !has_unkept(&record) || !self.keeps_media() {
            return Ok(record);
        }
        let media = record.media().to_vec();
        // The spool and the readers are foreign code.
        let kept = AssertUnwindSafe(self.keep_media(media)).catch_unwind();
        let message = "the media of a record could not be stored in the spool";
        match kept.await {
            Ok(Ok(media)) => Ok(record.with_media(media)),
            Ok(Err(error)) => Err(Error::new(ErrorCode::Spool, message).with_source(error)),
            Err(panic) => {
                let message = format!("{message}: the spool panicked: {}", text_of(panic));
                Err(Error::new(ErrorCode::Spool, message))
            }
        }
    }

    /// The changes with the media of their records in the spool.
    ///
    /// # Errors
    /// `E_SPOOL_ERROR`.
    pub(crate) async fn keep_media_in(&self, changes: Vec<Change>) -> Result<Vec<Change>, Error> {
        let has_unkept = |change: &Change| match change {
            Change::Put(record) => has_unkept(record),
            Change::Delete(..) => false,
        };
        if !changes.iter().any(has_unkept) {
            return Ok(changes);
        }
        let mut kept = Vec::with_capacity(changes.len());
        for change in changes {
            kept.push(match change {
                Change::Put(record) => Change::Put(self.keep_media_of(record).await?),
                change @ Change::Delete(..) => change,
            });
        }
        Ok(kept)
    }

    fn keeps_media(&self) -> bool {
        let store = self.record_store();
        self.spool().reopens() && store.is_some_and(|store| store.is_persistent())
    }
}

fn has_unkept(record: &Record) -> bool {
    record.media().iter().any(Media::is_to_be_spooled)
}
