//! Media as parts of a message.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use turnwright_core::media::MediaKind;
use turnwright_core::schema::admit;
use turnwright_core::trust::neutralise;
use turnwright_core::{Error, ErrorCode, Media};

use super::settings::MediaPart;

/// Whether most servers with media support accept this media.
pub(super) fn is_commonly_accepted(media: &Media) -> bool {
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
pub(super) enum MediaError {
    /// The part that the application made is invalid.
    Invalid(Error),
    /// It exceeds the size limit.
    TooLarge(Error),
    /// Its bytes cannot be read. They may be lost, and the conversation must go on.
    Unreadable(std::io::Error),
}

/// The media as a part of a message.
pub(super) async fn part(
    media: &Media,
    max_bytes: u64,
    custom: Option<&MediaPart>,
) -> Result<Value, MediaError> {
    let data = base64(media, max_bytes).await?;
    if let Some(part) = custom.and_then(|write| write(media, &data)) {
        return admit(part).map_err(|why| {
            let message = format!("the part that `media_part` returned cannot be sent: {why}");
            MediaError::Invalid(Error::new(ErrorCode::UNSUPPORTED_MEDIA, message))
        });
    }
    // Without parameters, because a comma in one would end the header.
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

/// Its bytes in base64, up to the limit.
async fn base64(media: &Media, max_bytes: u64) -> Result<String, MediaError> {
    let mut stream = media.stream().await.map_err(MediaError::Unreadable)?;
    let mut bytes = Vec::new();
    while let Some(piece) = stream.next().await {
        bytes.extend_from_slice(&piece.map_err(MediaError::Unreadable)?);
        if bytes.len() as u64 > max_bytes {
            let message = format!(
                "the {} {} has more than {max_bytes} bytes: make it smaller, or allow more with `max_media_bytes`",
                media.kind(),
                named(media)
            );
            let error = Error::new(ErrorCode::UNSUPPORTED_MEDIA, message);
            return Err(MediaError::TooLarge(error));
        }
    }
    Ok(STANDARD.encode(bytes))
}

/// The file name for a model: on one line, with our tags neutralised.
fn shown_name(media: &Media) -> String {
    let line: String = media
        .filename()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    neutralise(&line).into_owned()
}

/// The file name for operators, quoted.
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
