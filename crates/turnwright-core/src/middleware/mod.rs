//! Middleware that is ready made.

mod hydrate;

pub use hydrate::{Hydrate, hydrate};
