//! Media over HTTP, from addresses that may be fetched from.
//!
//! A [`Fetcher`] makes readers for URLs. Making one dials nothing; each time its media is read is a new `GET`, bounded in
//! size and time. Only public addresses are dialled unless an [`AddressGuard`] opens more: a URL often comes from a model
//! or from a page, and must not lead to what only this machine can reach.
//!
//! ```
//! use turnwright_core::{Error, ErrorCode, Media};
//! use turnwright_core::media::MediaKind;
//! use turnwright_models::fetch::Fetcher;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let fetcher = Fetcher::builder().max_bytes(5 << 20).build()?;
//! let reader = fetcher.reader("http://2130706433/photo.png")?.expect_types(["image/*"]);
//! let photo = Media::retrieved_public(MediaKind::Image, "image/png", "photo.png", reader).build()?;
//!
//! // That number is 127.0.0.1. Nothing was dialled until now, and nothing is.
//! let refused = photo.bytes().await.unwrap_err();
//! let cause = refused.get_ref().and_then(|cause| cause.downcast_ref::<Error>()).unwrap();
//! assert_eq!(cause.code(), ErrorCode::ADDRESS_DENIED);
//! # Ok::<(), Error>(()) }).unwrap();
//! ```
//!
//! # What holds
//!
//! - Every address is judged: one that stands in the URL before anything is dialled, a name's after it was looked up.
//!   What was judged is what is dialled; there is no second look-up in between. If one address of a name is denied, the
//!   name is: a public name does not point inside.
//! - A redirect is a new URL, judged like the first: five at most, never from `https` to `http`.
//! - Headers that you give go to the origin that you give them for. After a redirect to another they are dropped, also if
//!   a later one leads back. There are no cookies and no referer, and credentials in a URL are refused.
//! - No proxy is used, whatever the environment says: it would look up names itself, behind the guard's back. Connections
//!   are not kept either, so that each request is judged for itself.
//! - Compressed answers are not asked for and not taken, so that the bytes on the wire are the bytes that are counted.
//! - A body that is cut off, too large or too slow fails; it never just ends. Only where a server says neither a length nor
//!   where the body ends does the end of the connection count as the end.
//! - Errors and `Debug` name hosts, never paths, queries or headers: these may hold keys.

mod address;
mod failure;
mod fetcher;
mod guard;
mod network;
mod reader;
mod redirects;
mod resolve;
mod transfer;

#[cfg(test)]
mod tests;

pub use fetcher::{Fetcher, FetcherBuilder};
pub use guard::AddressGuard;
pub use reader::HttpReader;
pub use resolve::{Resolver, SystemResolver};
