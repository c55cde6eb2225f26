//! Media as parts of a message.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use turnwright_core::media::MediaKind;
use turnwright_core::trust::neutralise;
use turnwright_core::{Error, ErrorCode, Media};

use super::item::{EncodedMedia, UserPart};
use super::settings::MediaPart;

/// Returns `true` for images that all providers with image support accept.
pub(crate) fn is_common_image(media: &Media) -> bool {
    let mime = essence(media.mime_type());
    let common = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    media.kind() == MediaKind::Image && common.contains(&mime.as_str())
}

/// Returns `true` for PDF documents.
pub(crate) fn is_pdf(media: &Media) -> bool {
    media.kind() == MediaKind::Document && essence(media.mime_type()) == "application/pdf"
}

/// Why media cannot be part of a message.
pub(super) enum MediaError {
    /// The media exceeds the size limit.
    TooLarge(Error),
    /// The bytes cannot be read. They may be lost, but the conversation must continue.
    Unreadable(std::io::Error),
}

/// Returns the media as a part of a message.
pub(super) async fn part(
    media: &Media,
    max_bytes: u64,
    custom: Option<&MediaPart>,
) -> Result<UserPart, MediaError> {
    let data = base64(media, max_bytes).await?;
    if let Some(part) = custom.and_then(|write| write(media, &data)) {
        return Ok(UserPart::Custom(part));
    }
    Ok(UserPart::Media(EncodedMedia {
        mime: essence(media.mime_type()),
        media: media.clone(),
        data,
    }))
}

impl EncodedMedia {
    /// Returns a data URL. Its MIME type has no parameters, because a comma in one would end the header.
    pub(crate) fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.mime, self.data)
    }

    /// Returns the file name for a model: on one line, with our tags neutralised.
    pub(crate) fn shown_name(&self) -> String {
        let chars = self.media.filename().chars();
        let line: String = chars
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        neutralise(&line).into_owned()
    }

    /// Returns the format of audio that most servers accept.
    pub(crate) fn audio_format(&self) -> Option<&'static str> {
        audio_format(&self.mime)
    }
}

/// Returns the bytes in base64, up to the limit.
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

/// Returns the file name for operators, quoted.
pub(super) fn named(media: &Media) -> String {
    Value::from(media.filename()).to_string()
}

/// Returns the format of audio that most servers accept.
pub(crate) fn audio_format(mime: &str) -> Option<&'static str> {
    match essence(mime).as_str() {
        "audio/wav" | "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => Some("wav"),
        "audio/mpeg" | "audio/mp3" => Some("mp3"),
        _ => None,
    }
}

/// Returns the MIME type without parameters.
fn essence(mime: &str) -> String {
    let essence = mime.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}
