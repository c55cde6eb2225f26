//! Fetches media over HTTP, with an address guard.
//!
//! A [`Fetcher`] creates readers for URLs. Creating a reader does not connect. Each time the media is read, the
//! reader sends a new `GET`, limited in size and time. Only public addresses are dialled unless an [`AddressGuard`]
//! allows more: a URL often comes from a model or a web page, and must not reach services that only this machine can
//! reach.
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
//! // That number is 127.0.0.1. It is never dialled.
//! let error = photo.bytes().await.unwrap_err();
//! let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<Error>()).unwrap();
//! assert_eq!(cause.code(), ErrorCode::ADDRESS_DENIED);
//! # Ok::<(), Error>(()) }).unwrap();
//! ```
//!
//! # Guarantees
//!
//! - Every address is checked before it is dialled: an IP address in the URL immediately, a host name after it is
//!   resolved. The checked address is the one that is dialled; there is no second lookup. If one address of a name is
//!   denied, the name is denied.
//! - Each redirect target is checked like the first URL. At most five redirects are followed, never from `https` to
//!   `http`.
//! - Custom headers are sent only to the origin of the URL. A redirect to another origin drops them, even if a later
//!   redirect leads back. There are no cookies and no referer, and URLs with credentials are rejected.
//! - Proxies are not used, even if the environment sets one: a proxy would resolve names itself and bypass the guard.
//!   Connections are not reused, so that each request is checked.
//! - Compressed responses are neither requested nor accepted, so that the size limit counts the bytes on the wire.
//! - A body that is truncated, too large or too slow is an error. Only if a server sends neither a length nor an end
//!   marker does the end of the connection count as the end of the body.
//! - Errors and `Debug` output contain hosts, but never paths, queries or headers, which may contain keys.

mod address;
mod failure;
mod fetcher;
mod guard;
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
