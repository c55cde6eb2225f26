//! Tests across modules.

mod serve;
