//! The OpenAI Responses protocol.

mod loopback;
mod real_server;
