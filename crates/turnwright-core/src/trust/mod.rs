//! Trust.

mod taint;
mod tier;

pub use taint::Taint;
pub use tier::TrustTier;
