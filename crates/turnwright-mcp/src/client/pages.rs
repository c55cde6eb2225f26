//! Lists of servers, which have pages.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::connection::Connection;
use crate::limits::Limits;
use crate::protocol::{Failure, Listener, Request, Session};

/// A list as a server sent it.
#[derive(Default)]
pub(super) struct List {
    pub(super) items: Vec<Value>,
    /// The names of tools that the transport cannot call.
    pub(super) unusable: HashSet<String>,
}

/// Reads the list of tools.
///
/// # Errors
/// The server fails, or lists more than its limits allow. A partial list would look as if tools had been removed.
pub(super) async fn tools(session: &dyn Session, limits: &Limits) -> Result<List, Failure> {
    if !session.about().has_tools {
        return Ok(List::default());
    }
    let pages = Pages {
        method: "tools/list",
        key: "tools",
        most: limits.tools,
        limits,
        listener: None,
    };
    pages.read(session).await
}

/// A list with pages.
pub(super) struct Pages<'l> {
    pub(super) method: &'static str,
    /// The field of a page with its items.
    pub(super) key: &'static str,
    /// The most items.
    pub(super) most: usize,
    pub(super) limits: &'l Limits,
    pub(super) listener: Option<Arc<dyn Listener>>,
}

impl Pages<'_> {
    /// Reads the list of a server that is connected. If it requires authorisation, that is obtained.
    ///
    /// # Errors
    /// The server fails, or lists more than its limits allow.
    pub(super) async fn read_from(&self, server: &Connection) -> Result<Vec<Value>, Failure> {
        let read = |session: Arc<dyn Session>| async move { self.read(&*session).await };
        let list = server.authorized(|| server.session(), read).await?;
        Ok(list.items)
    }

    async fn read(&self, session: &dyn Session) -> Result<List, Failure> {
        let limit = self.limits.start;
        let read = timeout(limit, self.read_pages(session)).await;
        read.unwrap_or(Err(Failure::Timeout(limit)))
    }

    async fn read_pages(&self, session: &dyn Session) -> Result<List, Failure> {
        let (key, limits) = (self.key, self.limits);
        let mut list = List::default();
        let mut size = 0_usize;
        let mut params = json!({});
        for _ in 0..limits.pages {
            let request = Request {
                method: self.method,
                params: params.clone(),
                idle: limits.idle,
                total: limits.start,
                listener: self.listener.clone(),
            };
            let response = session.request(request).await?;
            list.unusable.extend(response.unusable_tools);
            let mut page = response.result;
            // Each page fits into a message; many of them must not fill the memory.
            size = size.saturating_add(page.to_string().len());
            if size > limits.message_bytes {
                let bytes = limits.message_bytes;
                let message = format!("its list of {key} has more than {bytes} bytes");
                return Err(Failure::Malformed(message));
            }
            match page.get_mut(key).map(Value::take) {
                Some(Value::Array(items)) => list.items.extend(items),
                _ => return Err(Failure::Malformed(format!("its list has no `{key}`"))),
            }
            if list.items.len() > self.most {
                let message = format!("it lists more than {} {key}", self.most);
                return Err(Failure::Malformed(message));
            }
            match page.get("nextCursor") {
                Some(Value::String(cursor)) => params = json!({ "cursor": cursor }),
                _ => return Ok(list),
            }
        }
        let message = format!("its list of {key} has more than {} pages", limits.pages);
        Err(Failure::Malformed(message))
    }
}
