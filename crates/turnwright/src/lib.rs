//! Turnwright.
