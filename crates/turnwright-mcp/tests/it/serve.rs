//! The server, with the client of `rmcp` and with raw messages.

mod answers;
mod authentication;
mod calls;
mod http;
mod lists;
mod person;
mod results;
mod streams;
