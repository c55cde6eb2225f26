//! Lines of text: what can be asked of every artifact.
//!
//! Lines are numbered from 0 and shown without their `\n` or `\r\n`; a final newline starts no further line. What is
//! read is what is needed: the first bytes for [`head`](crate::artifact::SpooledArtifact::head), the last ones for
//! [`tail`](crate::artifact::SpooledArtifact::tail), and everything only for [`grep`](crate::artifact::SpooledArtifact::grep) and for counting, piece by
//! piece, with memory that does not grow.
//!
//! ```
//! use turnwright_core::artifact::text::Grep;
//! use turnwright_core::artifact::{ArtifactKind, SpooledArtifact};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let log = SpooledArtifact::in_memory("start\nERROR disk\nstop\nerror net\n", ArtifactKind::TEXT);
//! assert_eq!(log.line_count().await?, 4);
//! assert_eq!(log.tail(1).await?.lines[0].bytes, b"error net");
//!
//! let errors = log.grep(&Grep::new("^error").flags("i")?).await?;
//! assert_eq!(errors.total, 2);
//! assert_eq!(errors.to_answer(), "1:ERROR disk\n3:error net");
//! # Ok::<(), turnwright_core::Error>(()) }).unwrap();
//! ```

mod content;
mod excerpt;
mod forward;
mod grep;
mod index;
mod line;
mod queries;
mod show;
mod source;
mod tail;
#[cfg(test)]
mod tests;
mod tokens;

pub use content::Text;
pub use excerpt::Excerpt;
pub use grep::{FoundLine, Grep, Matches};
pub use line::Line;
pub use tokens::TokenCount;

pub(super) use index::LineIndex;
pub(crate) use queries::queries;
pub(super) use show::shown_lines;

use super::Page;
use super::limits::ArtifactLimits;

/// The page of an answer under these limits, and never one without room for content.
fn page(answer: usize) -> Page {
    Page::new(answer.max(ArtifactLimits::LEAST_ANSWER))
}
