//! Media as parts of a message.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use turnwright_core::schema::admit;
use turnwright_core::trust::neutralise;
use turnwright_core::{Error, ErrorCode, Media, MediaKind};

use super::builder::Adapter;

/// What happens to a media that the server cannot be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MediaPolicy {
    /// The turn fails with `E_UNSUPPORTED_MEDIA`.
    Throw,
    /// The model is told what it is, and what was derived from it.
    #[default]
    Describe,
    /// The model is told nothing of it.
    Drop,
}

/// What most servers that can be shown anything can be shown.
pub(super) fn usually_shown(media: &Media) -> bool {
    match media.kind() {
        MediaKind::Image => matches!(
            essence(media.mime_type()).as_str(),
            "image/png" | "image/jpeg" | "image/gif" | "image/webp"
        ),
        MediaKind::Audio => audio_format(media.mime_type()).is_some(),
        MediaKind::Document => essence(media.mime_type()) == "application/pdf",
        _ => false,
    }
}

/// Why a media cannot be part of a message.
pub(super) enum Unwritten {
    /// It may not be sent.
    Refused(Error),
    /// It has more bytes than one media may have.
    TooLarge(Error),
    /// Its bytes cannot be read: they may be gone for good, and the conversation must go on.
    Unreadable(std::io::Error),
}

/// The media as a part of a message.
pub(super) async fn part(media: &Media, adapter: &Adapter) -> Result<Value, Unwritten> {
    let data = base64(media, adapter.max_media).await?;
    let told = adapter.media_part.as_ref();
    if let Some(part) = told.and_then(|write| write(media, &data)) {
        return admit(part).map_err(|why| {
            let message = format!("the part that `media_part` returned cannot be sent: {why}");
            Unwritten::Refused(Error::new(ErrorCode::UnsupportedMedia, message))
        });
    }
    // Without parameters, in which a comma would begin other data.
    let mime = essence(media.mime_type());
    let url = || format!("data:{mime};base64,{data}");
    Ok(match media.kind() {
        MediaKind::Image => json!({ "type": "image_url", "image_url": { "url": url() } }),
        MediaKind::Audio => {
            let other = mime.rsplit('/').next().unwrap_or_default();
            let format = audio_format(&mime).unwrap_or(other);
            json!({ "type": "input_audio", "input_audio": { "data": data, "format": format } })
        }
        MediaKind::Video => json!({ "type": "video_url", "video_url": { "url": url() } }),
        _ => json!({
            "type": "file",
            "file": { "filename": shown_name(media), "file_data": url() },
        }),
    })
}

/// All of its bytes, and no more than may be.
async fn base64(media: &Media, most: u64) -> Result<String, Unwritten> {
    let mut stream = media.stream().await.map_err(Unwritten::Unreadable)?;
    let mut bytes = Vec::new();
    while let Some(piece) = stream.next().await {
        bytes.extend_from_slice(&piece.map_err(Unwritten::Unreadable)?);
        if bytes.len() as u64 > most {
            let message = format!(
                "the {} {} has more than {most} bytes: make it smaller, or allow more with `max_media_bytes`",
                media.kind(),
                named(media)
            );
            let error = Error::new(ErrorCode::UnsupportedMedia, message);
            return Err(Unwritten::TooLarge(error));
        }
    }
    Ok(STANDARD.encode(bytes))
}

/// A file's name as a model may read it: on one line, and no tag of ours.
fn shown_name(media: &Media) -> String {
    let line: String = media
        .filename()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    neutralise(&line).into_owned()
}

/// How a media is called to operators: its file name may be anything.
pub(super) fn named(media: &Media) -> String {
    Value::from(media.filename()).to_string()
}

fn audio_format(mime: &str) -> Option<&'static str> {
    match essence(mime).as_str() {
        "audio/wav" | "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => Some("wav"),
        "audio/mpeg" | "audio/mp3" => Some("mp3"),
        _ => None,
    }
}

/// The type without its parameters.
fn essence(mime: &str) -> String {
    let essence = mime.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}
