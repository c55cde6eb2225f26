//! Text queries, which every artifact supports.
//!
//! Lines are numbered from 0 and shown without their `\n` or `\r\n`. A final newline does not start another line. Queries read
//! only what they need: [`head`](crate::artifact::SpooledArtifact::head) reads the first bytes and [`tail`](crate::artifact::SpooledArtifact::tail)
//! the last ones. [`grep`](crate::artifact::SpooledArtifact::grep) and counting read everything, in pieces and with constant memory.
//!
//! ```
//! use turnwright_artifact::artifact::text::Grep;
//! use turnwright_artifact::artifact::{ArtifactKind, SpooledArtifact};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let log = SpooledArtifact::in_memory("start\nERROR disk\nstop\nerror net\n", ArtifactKind::TEXT);
//! assert_eq!(log.line_count().await?, 4);
//! assert_eq!(log.tail(1).await?.lines[0].bytes, b"error net");
//!
//! let errors = log.grep(&Grep::new("^error").flags("i")?).await?;
//! assert_eq!(errors.total, 2);
//! assert_eq!(errors.to_page(), "1:ERROR disk\n3:error net");
//! # Ok::<(), turnwright_artifact::Error>(()) }).unwrap();
//! ```

mod content;
mod excerpt;
mod forward;
mod grep;
mod index;
mod queries;
mod show;
mod tail;
#[cfg(test)]
mod tests;
mod tokens;

pub use content::Text;
pub use excerpt::Excerpt;
pub use grep::{FoundLine, Grep, Matches};
pub use show::Line;
pub use tokens::TokenCount;

pub(super) use index::LineIndex;
#[doc(hidden)]
pub use queries::queries;
pub(super) use show::shown_lines;
