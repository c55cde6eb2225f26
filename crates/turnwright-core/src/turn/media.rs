//! Stores the bytes of media, so that they outlive the process.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::{Either, select};
use serde_json::Value;

use crate::deadline::{TimeLimit, within};
use crate::error::{Error, ErrorCode};
use crate::ids::new_id;
use crate::media::Media;
use crate::record::Record;
use crate::spool::{Body, ByteReader, ByteStream, Spooled};
use crate::store::Change;
use crate::tool::context::TurnContext;

/// How long a copy may continue after the turn was cancelled. Without it, the media has no bytes in later turns.
const GRACE: Duration = Duration::from_secs(5);

impl TurnContext {
    /// Copies the bytes of media into the spool, if the store is persistent and the bytes can be read by range. An in-memory store
    /// keeps the readers themselves.
    pub(crate) async fn store_media(&self, mut media: Vec<Media>) -> io::Result<Vec<Media>> {
        if self.stores_media() {
            for media in &mut media {
                if let Some(reader) = media.unspooled() {
                    *media = self.spool_media(media.clone(), reader).await?;
                }
            }
        }
        Ok(media)
    }

    /// Copies the bytes into the spool. If they are too many or cannot be read, they stay where they are: only what reads them
    /// later needs them, and describes the media without them.
    async fn spool_media(&self, media: Media, reader: Arc<dyn ByteReader>) -> io::Result<Media> {
        let named = || format!("the {} {}", media.kind(), Value::from(media.filename()));
        let (length, most) = (reader.len(), self.setup().max_spooled_media_bytes);
        if length > most {
            self.warn(format!(
                "{} has {length} bytes and is not copied into the spool, whose limit for media is {most}: increase \
                 `max_spooled_media_bytes` of the runner, or build the media with `in_place()` and find its bytes after a \
                 restart with `ByteResolver::media`",
                named()
            ));
            return Ok(media.in_place());
        }
        let unreadable = Arc::new(AtomicBool::default());
        let failed = Arc::clone(&unreadable);
        let content =
            ByteStream::of_reader(reader).on_error(move |_| failed.store(true, Ordering::Release));
        let spool_id = self.spool_id(&format!("media-{}", new_id()));
        // A reader may never return.
        let limit = TimeLimit::from_now(Some(self.setup().store_timeout));
        let put = Spooled::put(&**self.spool(), &spool_id, Body::Stream(content));
        let stopped = async {
            self.cancellation().cancelled().await;
            tokio::time::sleep(GRACE).await;
        };
        let why = match within(limit, None, select(pin!(put), pin!(stopped))).await {
            Ok(Either::Left((Ok((spooled, reader)), _))) => return Ok(media.moved(spooled, reader)),
            Ok(Either::Left((Err(error), _))) if unreadable.load(Ordering::Acquire) => {
                error.to_string()
            }
            Ok(Either::Left((Err(error), _))) => return Err(error),
            Ok(Either::Right(_)) => "the turn was cancelled".to_owned(),
            Err(_) => "this took longer than the runner's `store_timeout`".to_owned(),
        };
        self.warn(format!(
            "the bytes of {} were not copied into the spool: {why}",
            named()
        ));
        Ok(media.in_place())
    }

    /// Returns the record with its media in the spool.
    ///
    /// # Errors
    /// Returns `E_SPOOL_ERROR` if the bytes cannot be stored.
    pub(crate) async fn store_media_of(&self, record: Record) -> Result<Record, Error> {
        let mut media = record.media().iter();
        if !media.any(|media| media.unspooled().is_some()) || !self.stores_media() {
            return Ok(record);
        }
        let media = record.media().to_vec();
        let media = self.store_media(media).await.map_err(|error| {
            let message = "the media of a record could not be stored in the spool";
            Error::new(ErrorCode::SPOOL_ERROR, message).with_source(error)
        })?;
        Ok(record.with_media(media))
    }

    /// Writes the media of new records to the spool.
    ///
    /// # Errors
    /// Returns `E_SPOOL_ERROR` if the bytes cannot be stored.
    pub(crate) async fn store_media_in(&self, changes: &mut [Change]) -> Result<(), Error> {
        for change in changes {
            if let Change::Put(record) = change {
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
