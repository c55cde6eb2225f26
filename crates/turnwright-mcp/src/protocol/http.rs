//! The transport over HTTP.

use rmcp::transport::DynamicTransportError;

use super::Failure;
use super::raw_results::RawResults;
use super::stdio::Stdio;
use crate::limits::Limits;

/// The address of a server, and what is sent to it.
#[derive(Clone, Debug)]
pub(crate) struct HttpSettings {}

pub(super) fn transport(_: &HttpSettings, _: RawResults, _: &Limits) -> Result<Stdio, Failure> {
    Err(Failure::NotSent("not yet".to_owned()))
}

pub(super) fn failure_of(_: &DynamicTransportError) -> Option<Failure> {
    None
}
