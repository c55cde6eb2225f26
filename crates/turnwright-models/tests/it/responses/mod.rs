//! The OpenAI Responses protocol.

mod fuzz;
mod loopback;
mod real_server;
mod recorded;
mod recordings;
mod requests;
