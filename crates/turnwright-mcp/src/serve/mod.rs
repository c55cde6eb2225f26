//! A server for your own tools, over standard input and output or streamable HTTP.
//!
//! A call takes the same path as a call of a model: the arguments are checked before the handler runs, policies decide, and
//! results are bounded.
//!
//! | of a tool | for the client |
//! | --- | --- |
//! | invalid arguments, a failure, a denial | a result with `isError` and the text for the model, never the text for operators |
//! | an approval, a gate | elicitation, or `input_required` in protocol 2026-07-28; a denial if the client does not support it |
//! | `ctx.progress(…)` | progress notifications, if the request has a progress token |
//! | a large result | a link to a resource, read in pieces with `resources/read`: see [`McpService`] |
//! | images and audio, other media | content of that type, embedded resources |
//! | [`Effects`](turnwright_core::Effects) | the annotations `readOnlyHint` and `destructiveHint` |
//! | [`output_schema`](turnwright_core::ToolBuilder::output_schema) | `outputSchema`; each result is checked and sent as `structuredContent` |
//!
//! Both lifecycles of the protocol are supported: sessions (`initialize`, up to 2025-11-25) and independent requests
//! (`server/discover`, 2026-07-28).
//!
//! `rmcp` speaks the protocol. It logs messages with `tracing` under the target `rmcp`, including arguments and results at the
//! level `debug`: keep that target at `warn` where logs must not contain them.

mod agent;
mod authentication;
mod call;
mod changes;
mod client;
mod connections;
mod content;
mod gate;
mod handler;
mod http;
mod idle;
mod limits;
mod listing;
mod method;
mod open_requests;
mod request_body;
mod results;
mod server;
mod session_limit;
mod stdio;
mod waiting;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use turnwright_core::dispatch::DispatchContextBuilder;
use turnwright_core::event::{Event, EventBus};
use turnwright_core::tool::ResultHook;
use turnwright_core::tool::approval::ApprovalPolicy;
use turnwright_core::{DispatchContext, Error, ErrorCode, Principal, Tool, ToolRegistry};

pub use agent::agent_tool;
pub use gate::client_request;
pub use http::McpHttp;
pub use limits::ServeLimits;
pub use method::MethodError;

use method::Methods;

/// Serves tools with the Model Context Protocol.
///
/// ```
/// use serde_json::json;
/// use turnwright_core::{Effects, Tool};
/// use turnwright_mcp::McpService;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let add = Tool::dynamic("add", json!({
///         "type": "object",
///         "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
///         "required": ["a", "b"],
///     }))
///     .description("Adds two numbers.")
///     .effects(Effects::ReadOnly)
///     .handler(async |args, _| args["a"].as_i64().zip(args["b"].as_i64()).map(|(a, b)| a + b))
///     .build()?;
/// let service = McpService::of([add])?.name("calculator", "1.0.0");
///
/// // `service.serve_stdio().await` serves the process that started this one. Here, two pipes:
/// let request = concat!(
///     r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
///     r#""capabilities":{},"clientInfo":{"name":"example","version":"1"}}}"#, "\n",
///     r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "\n",
///     r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":"x"}}}"#, "\n",
/// );
/// let mut output = Vec::new();
/// service.serve(request.as_bytes(), &mut output).await?;
/// let output = String::from_utf8(output)?;
/// assert!(output.contains("Invalid arguments for `add`"), "{output}");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
///
/// # Large results
///
/// A text larger than [`ServeLimits::inline_bytes`] is sent as a link: its size, its beginning, and a URI
/// `turnwright://results/ID` with an ID that cannot be guessed. `resources/read` returns at most [`ServeLimits::read_bytes`] of it.
/// To read a part, add `?offset=BYTES&length=BYTES`. The `_meta` of each piece has `turnwright/size` and, unless it is the last one,
/// `turnwright/next`, the URI of the next piece. Pieces of text end at character boundaries, so the joined pieces equal the result.
/// Results are kept in memory within [`ServeLimits::results_bytes`].
///
/// # Concurrency
///
/// Calls run concurrently, up to [`ServeLimits::calls`].
/// [`Concurrency::Exclusive`](turnwright_core::tool::Concurrency::Exclusive) orders the calls of one model response, not those of
/// clients: a tool that must not run twice at a time needs a lock of its own.
///
/// # Answers of the client
///
/// If a policy requires approval, the client shows a form with the tool, the reason and the arguments. A handler that waits at a
/// gate ([`ToolContext::wait_for`](turnwright_core::ToolContext::wait_for)) asks in the same way. In protocol 2026-07-28 the call
/// ends with `input_required`, and the client repeats it with the answers: until then it waits in this process, for at most
/// [`ServeLimits::waiting`]. Behind a load balancer, such a client must reach the same process.
#[derive(Clone)]
#[must_use = "a service does nothing until it is served"]
pub struct McpService {
    tools: ToolRegistry,
    context: DispatchContextBuilder,
    principal: Option<Principal>,
    events: EventBus,
    name: String,
    version: String,
    instructions: Option<String>,
    limits: ServeLimits,
    sends_logs: bool,
    methods: Methods,
    capabilities: Map<String, Value>,
}

impl McpService {
    /// Serves the visible tools of a registry. Later changes of the registry are announced to clients.
    pub fn new(tools: impl Into<ToolRegistry>) -> Self {
        McpService {
            tools: tools.into(),
            context: DispatchContext::builder(),
            principal: None,
            events: EventBus::default(),
            name: "turnwright".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: None,
            limits: ServeLimits::default(),
            sends_logs: false,
            methods: Methods::default(),
            capabilities: Map::new(),
        }
    }

    /// Serves these tools.
    ///
    /// # Errors
    /// Returns `E_TOOL_ALREADY_REGISTERED` if two tools have the same name.
    pub fn of(tools: impl IntoIterator<Item = Tool>) -> Result<Self, Error> {
        ToolRegistry::new(tools).map(McpService::new)
    }

    /// Sets the name and version that clients see.
    ///
    /// Default: `turnwright` and its version.
    pub fn name(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.name = name.into();
        self.version = version.into();
        self
    }

    /// Sets instructions for clients: how the tools belong together. Clients may add them to their prompt.
    ///
    /// Default: none.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Sets the limits.
    pub fn limits(mut self, limits: ServeLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds a policy that decides whether a call may run: see [`turnwright_core::tool::approval`].
    ///
    /// ```
    /// use turnwright_core::ToolRegistry;
    /// use turnwright_core::tool::approval::before_writes;
    /// use turnwright_mcp::McpService;
    ///
    /// let service = McpService::new(ToolRegistry::default()).policy(before_writes("it may change something"));
    /// ```
    pub fn policy(mut self, policy: impl ApprovalPolicy + 'static) -> Self {
        self.context = self.context.policy(policy);
        self
    }

    /// Adds application state that handlers access by type.
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.context = self.context.state(value);
        self
    }

    /// Adds a hook that changes results before they are sent: see [`ResultHook`].
    pub fn on_result(mut self, hook: impl ResultHook + 'static) -> Self {
        self.context = self.context.on_result(hook);
        self
    }

    /// Sets who calls act for: the user of this process, if clients use standard input and output. Handlers and policies read it with
    /// [`ToolContext::principal`](turnwright_core::ToolContext::principal). Over HTTP, [`McpHttp::authenticate`] sets it for each request.
    ///
    /// ```
    /// use turnwright_core::ToolRegistry;
    /// use turnwright_mcp::McpService;
    ///
    /// let service = McpService::new(ToolRegistry::default()).principal("ada");
    /// ```
    ///
    /// Default: none.
    pub fn principal(mut self, principal: impl Into<Principal>) -> Self {
        self.principal = Some(principal.into());
        self
    }

    /// Changes the context in which calls run: an approver, or a conversation in which calls are recorded. Each call gets its own tools,
    /// stash, events and cancellation, and the sizes of results from [`limits`](Self::limits): those that are set here are ignored. A principal that is set here is an error when the service is
    /// served: set it with [`principal`](Self::principal), or with [`McpHttp::authenticate`].
    ///
    /// ```
    /// use turnwright_core::ToolRegistry;
    /// use turnwright_core::tool::approval::{GateAnswer, ApprovalRequest};
    /// use turnwright_mcp::McpService;
    ///
    /// let approve = |_: ApprovalRequest| async { GateAnswer::approve() };
    /// let service = McpService::new(ToolRegistry::default()).context(|context| context.approver(approve));
    /// ```
    pub fn context(
        mut self,
        change: impl FnOnce(DispatchContextBuilder) -> DispatchContextBuilder,
    ) -> Self {
        self.context = change(self.context);
        self
    }

    /// Adds an observer of all calls: their start and end, refusals, warnings and log entries.
    pub fn observer(self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.events.observe(observer);
        self
    }

    /// Sends the log entries of handlers (`ctx.log(…)`) to clients, from the level that the client has set. They are written for
    /// operators: enable this only if clients may read them.
    ///
    /// Default: `false`.
    pub fn send_logs(mut self, send: bool) -> Self {
        self.sends_logs = send;
        self
    }

    /// Adds a method that the service does not offer by itself, such as `prompts/list`, `prompts/get`, `completion/complete`,
    /// `resources/list` or `resources/read`. It receives the parameters and the principal of the caller, and returns the result as JSON.
    ///
    /// ```
    /// use serde_json::json;
    /// use turnwright_core::ToolRegistry;
    /// use turnwright_mcp::McpService;
    ///
    /// let service = McpService::new(ToolRegistry::default())
    ///     .capability("prompts", json!({}))
    ///     .method("prompts/list", async |_, _| Ok(json!({ "prompts": [{ "name": "greet" }] })));
    /// ```
    pub fn method<F, Fut>(mut self, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Value, Option<Principal>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, MethodError>> + Send + 'static,
    {
        self.methods.add(name.into(), handler);
        self
    }

    /// Declares a capability for the methods that were added. `tools` and `resources` are declared already.
    pub fn capability(mut self, name: impl Into<String>, settings: impl Into<Value>) -> Self {
        self.capabilities.insert(name.into(), settings.into());
        self
    }

    /// Checks what a call needs: the state of the tools, and a valid principal. Those of the request and of the process are the only ones:
    /// calls without one must not act for another.
    fn check(&self) -> Result<(), Error> {
        if self.context.clone().build().turn().principal().is_some() {
            let message = "the context of a service must not have a principal: set it with `McpService::principal`, or with \
                           `McpHttp::authenticate`";
            return Err(Error::new(ErrorCode::INVALID_TURN_CONTEXT, message));
        }
        let context = self.context.clone().tools(self.tools.clone());
        match &self.principal {
            Some(principal) => context.principal(principal).check(),
            None => context.check(),
        }
    }

    /// Returns an HTTP endpoint: see [`McpHttp`].
    pub fn http(self) -> McpHttp {
        McpHttp::new(Arc::new(server::Server::new(self)))
    }

    /// Returns a router with the endpoint `/mcp`, for local clients: see [`McpHttp`].
    ///
    /// # Errors
    /// See [`McpHttp::into_router`].
    pub fn into_router(self) -> Result<axum::Router, Error> {
        self.http().into_router()
    }
}

impl fmt::Debug for McpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpService")
            .field("name", &self.name)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}
