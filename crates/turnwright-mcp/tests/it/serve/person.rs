//! A client for tests: it answers questions and keeps what it is notified of.

use std::future::Future;
use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ElicitRequestParams,
    ElicitResult, ElicitationAction, Implementation, ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::{
    ClientLifecycleMode, NotificationContext, RequestContext, RunningService, ServiceError,
    serve_client_with_lifecycle,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::{Value, json};
use tokio::io::{duplex, split};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use turnwright_core::{Tool, ToolContext, ToolError};
use turnwright_mcp::McpService;

use crate::http_client;

/// The two lifecycles of the protocol.
pub(super) const LIFECYCLES: [Lifecycle; 2] = [Lifecycle::Sessions, Lifecycle::Stateless];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifecycle {
    Sessions,
    Stateless,
}

impl Lifecycle {
    fn mode(self) -> ClientLifecycleMode {
        match self {
            Lifecycle::Sessions => ClientLifecycleMode::Initialize,
            Lifecycle::Stateless => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
        }
    }
}

/// The person in front of the client.
#[derive(Clone)]
pub(super) struct Person {
    /// The answer to each form. `None`: the client does not support forms.
    answer: Option<ElicitResult>,
    /// The messages of the forms.
    pub(super) asked: Arc<Mutex<Vec<String>>>,
    progress: mpsc::UnboundedSender<ProgressNotificationParam>,
    /// Counts announcements of changed tools.
    pub(super) changes: Arc<tokio::sync::Semaphore>,
    pub(super) progressed:
        Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<ProgressNotificationParam>>>,
}

impl Person {
    pub(super) fn absent() -> Self {
        Person::with(None)
    }

    pub(super) fn who_accepts(content: Value) -> Self {
        let answer = ElicitResult::new(ElicitationAction::Accept).with_content(content);
        Person::with(Some(answer))
    }

    pub(super) fn who_declines() -> Self {
        Person::with(Some(ElicitResult::new(ElicitationAction::Decline)))
    }

    fn with(answer: Option<ElicitResult>) -> Self {
        let (progress, progressed) = mpsc::unbounded_channel();
        Person {
            answer,
            asked: Arc::default(),
            progress,
            changes: Arc::new(tokio::sync::Semaphore::new(0)),
            progressed: Arc::new(tokio::sync::Mutex::new(progressed)),
        }
    }

    /// Waits for the next progress notification.
    pub(super) async fn next_progress(&self) -> ProgressNotificationParam {
        self.progressed.lock().await.recv().await.unwrap()
    }
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let capabilities = match self.answer {
            Some(_) => ClientCapabilities::builder().enable_elicitation().build(),
            None => ClientCapabilities::default(),
        };
        ClientConfig::new(capabilities, Implementation::new("test", "1"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        if let ElicitRequestParams::FormElicitationParams { message, .. } = request {
            self.asked.lock().push(message);
        }
        Ok(self.answer.clone().unwrap())
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.add_permits(1);
    }

    fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) -> impl Future<Output = ()> + Send + '_ {
        self.progress.send(progress).unwrap();
        std::future::ready(())
    }
}

/// A client and the server that it is connected to.
pub(super) struct Connected {
    pub(super) client: RunningService<RoleClient, Person>,
    server: JoinHandle<std::io::Result<()>>,
}

impl Connected {
    /// Connects over a pair of streams in memory.
    pub(super) async fn over_streams(
        service: McpService,
        person: Person,
        lifecycle: Lifecycle,
    ) -> Self {
        let (near, far) = duplex(64 << 10);
        let (input, output) = split(far);
        let server = tokio::spawn(service.serve(input, output));
        let client = serve_client_with_lifecycle(person, split(near), lifecycle.mode()).await;
        Connected {
            client: client.unwrap(),
            server,
        }
    }

    /// Connects over HTTP on loopback.
    pub(super) async fn over_http(
        service: McpService,
        person: Person,
        lifecycle: Lifecycle,
    ) -> Self {
        let (url, server) = listen(service).await;
        let connected = Connected::to(&url, person, lifecycle).await;
        Connected {
            server,
            ..connected
        }
    }

    /// Connects to a server over HTTP.
    pub(super) async fn to(url: &str, person: Person, lifecycle: Lifecycle) -> Self {
        let config = StreamableHttpClientTransportConfig::with_uri(url);
        Connected::with(config, person, lifecycle).await
    }

    /// Connects to a server over HTTP, with a bearer token.
    pub(super) async fn with_token(
        url: &str,
        token: &str,
        person: Person,
        lifecycle: Lifecycle,
    ) -> Self {
        let config = StreamableHttpClientTransportConfig::with_uri(url).auth_header(token);
        Connected::with(config, person, lifecycle).await
    }

    async fn with(
        config: StreamableHttpClientTransportConfig,
        person: Person,
        lifecycle: Lifecycle,
    ) -> Self {
        let transport = StreamableHttpClientTransport::with_client(http_client(), config);
        let client = serve_client_with_lifecycle(person, transport, lifecycle.mode()).await;
        Connected {
            client: client.unwrap(),
            server: tokio::spawn(async { Ok(()) }),
        }
    }

    pub(super) async fn call(
        &self,
        tool: &str,
        args: Value,
    ) -> Result<CallToolResult, ServiceError> {
        let args = args.as_object().unwrap().clone();
        let call = CallToolRequestParams::new(tool.to_owned()).with_arguments(args);
        self.client.call_tool(call).await
    }

    /// Disconnects, and waits until the server has ended.
    pub(super) async fn leave(self) {
        let Connected { client, server } = self;
        client.cancel().await.unwrap();
        server.await.unwrap().unwrap();
    }
}

/// Serves over HTTP on a free port of loopback.
pub(super) async fn listen(service: McpService) -> (String, JoinHandle<std::io::Result<()>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    (url, tokio::spawn(service.http().serve_on(listener)))
}

pub(super) fn text_of(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| block.as_text());
    let texts: Vec<&str> = texts.map(|text| &*text.text).collect();
    texts.join("\n")
}

/// A tool without arguments.
pub(super) fn tool<F, Fut>(name: &str, handler: F) -> Tool
where
    F: Fn(ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, ToolError>> + Send + 'static,
{
    Tool::dynamic(name, json!({ "type": "object" }))
        .description("For tests.")
        .handler(move |_: Value, ctx| handler(ctx))
        .build()
        .unwrap()
}
