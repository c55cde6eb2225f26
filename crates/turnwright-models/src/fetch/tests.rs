//! Nothing here dials anything but loopback: every address is judged, and what was let through is dialled by a map.

mod address;
mod guard;
mod network;
mod redirects;
mod refusals;
mod rig;
mod secrets;
mod transfer;

use std::io;

use turnwright_core::media::MediaReader as _;
use turnwright_core::spool::ByteStream;
use turnwright_core::{Error, ErrorCode};

use super::HttpReader;

/// All that a reader gives.
async fn read(reader: &HttpReader) -> io::Result<Vec<u8>> {
    drain(reader.open().await?).await
}

async fn drain(mut stream: ByteStream) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(piece) = stream.next().await {
        all.extend_from_slice(&piece?);
    }
    Ok(all)
}

/// The refusal that a reader failed with.
#[track_caller]
fn refusal(error: &io::Error) -> &Error {
    let inside = error
        .get_ref()
        .and_then(|item| item.downcast_ref::<Error>());
    let refusal = inside.unwrap_or_else(|| panic!("not a refusal: {error:?}"));
    assert_eq!(refusal.code(), ErrorCode::ADDRESS_DENIED);
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    refusal
}
