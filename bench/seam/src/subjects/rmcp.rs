//! rmcp's `ToolRouter`: deserialises a JSON object into the struct, without validation.
//!
//! It accepts an object, so parsing the text into one is part of the call here, and so is the request context that a
//! server creates for each request.

use std::{error::Error, hint::black_box, marker::PhantomData, sync::Arc};

use rmcp::{
    ErrorData, Peer, RoleServer, ServerHandler,
    handler::server::{
        router::tool::{ToolRoute, ToolRouter},
        tool::ToolCallContext,
        wrapper::Parameters,
    },
    model::{CallToolRequestParams, CallToolResponse, JsonObject, NumberOrString, Tool},
    service::{RequestContext, RunningService, serve_directly},
};
use serde_json::Value;
use tokio::{io::DuplexStream, runtime::Runtime};
use turnwright_bench_measure::Subject;

use super::Reply;
use crate::arguments::Arguments;

pub(crate) const CALL: &str = "rmcp: parse into an object, `ToolRouter::call`";

struct Server;

impl ServerHandler for Server {}

/// A running server without traffic: the router needs its peer.
pub(crate) struct Connection {
    server: RunningService<RoleServer, Server>,
    _client: DuplexStream,
}

impl Connection {
    pub(crate) fn open(runtime: &Runtime) -> Self {
        let _entered = runtime.enter();
        let (server, client) = tokio::io::duplex(64);
        Self {
            server: serve_directly(Server, server, None),
            _client: client,
        }
    }
}

/// A router with one route.
pub(crate) struct Rmcp<A> {
    router: ToolRouter<Server>,
    peer: Peer<RoleServer>,
    arguments: PhantomData<fn() -> A>,
}

impl<A: Arguments> Rmcp<A> {
    pub(crate) fn new(document: &Value, connection: &Connection) -> Result<Self, Box<dyn Error>> {
        let document = document.as_object().ok_or("a schema must be an object")?;
        let tool = Tool::new(A::TOOL, A::DESCRIPTION, Arc::new(document.clone()));
        let answer = |Parameters(args): Parameters<A>| async move { args.answer() };
        Ok(Self {
            router: ToolRouter::new().with_route(ToolRoute::new(tool, answer)),
            peer: connection.server.peer().clone(),
            arguments: PhantomData,
        })
    }

    async fn call(&self, text: &str) -> Result<CallToolResponse, ErrorData> {
        let arguments: JsonObject = serde_json::from_str(text)
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        let request = CallToolRequestParams::new(A::TOOL).with_arguments(arguments);
        let context = RequestContext::new(NumberOrString::Number(1), self.peer.clone());
        self.router
            .call(ToolCallContext::new(&Server, request, context))
            .await
    }

    pub(crate) async fn reply(&self, text: &str) -> Reply {
        match self.call(text).await {
            Ok(CallToolResponse::Complete(result)) => {
                let text = result.content.first().and_then(|content| content.as_text());
                let shown = text.map(|text| text.text.clone()).unwrap_or_default();
                if result.is_error == Some(true) {
                    Reply::Refused(shown)
                } else {
                    Reply::Answered(shown)
                }
            }
            Ok(other) => Reply::Refused(format!("{other:?}")),
            Err(error) => Reply::Refused(error.to_string()),
        }
    }

    pub(crate) fn subject<'a>(
        &'a self,
        section: &'static str,
        runtime: &'a Runtime,
    ) -> Subject<'a> {
        Subject::awaited(section, CALL, runtime, async || {
            self.call(black_box(A::VALID)).await
        })
    }
}
