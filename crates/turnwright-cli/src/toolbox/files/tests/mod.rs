//! The file tools stay in their directory.

#[cfg(unix)]
mod links;
mod listing;
mod paths;
mod reading;
mod searching;

use serde_json::Value;

use super::tools;
use crate::toolbox::tests::{Scratch, result_of};

async fn done(folder: &Scratch, name: &str, args: Value) -> String {
    let tools = tools(folder.path()).unwrap();
    result_of(tools, name, args).await.unwrap()
}

async fn failure(folder: &Scratch, name: &str, args: Value) -> String {
    let tools = tools(folder.path()).unwrap();
    result_of(tools, name, args).await.unwrap_err()
}
