//! Answers the requests of one connection.

#![expect(
    deprecated,
    reason = "subscriptions of sessions and logging are deprecated in the newest protocol and in use in the others"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, ConstString, CustomRequest, CustomResult, ErrorCode, GetPromptRequestMethod,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation,
    InputRequiredResult, ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, LoggingLevel, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerCapabilities,
    ServerConfig, SetLevelRequestMethod, SetLevelRequestParams, SubscribeRequestMethod,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestMethod, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use turnwright_core::Cancellation;

use super::client::{Client, is_modern};
use super::server::Server;
use super::{changes, listing, results};

type Context = RequestContext<RoleServer>;

/// The handler of one connection, or of one request without a session.
#[derive(Clone)]
pub(super) struct Handler {
    server: Arc<Server>,
    session: Arc<Session>,
}

/// The state of a session.
struct Session {
    /// The lowest level of log entries that the client wants.
    level: Mutex<LoggingLevel>,
    /// Whether changes of the list are announced.
    announces: AtomicBool,
    ended: Cancellation,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

impl Handler {
    pub(super) fn new(server: Arc<Server>) -> Self {
        Handler {
            server,
            session: Arc::new(Session {
                level: Mutex::new(LoggingLevel::Info),
                announces: AtomicBool::new(false),
                ended: Cancellation::new(),
            }),
        }
    }

    /// Calls a method of the author. `None` if there is none with this name.
    async fn added<T: DeserializeOwned>(
        &self,
        method: &str,
        params: impl Serialize,
        context: &Context,
    ) -> Option<Result<T, ErrorData>> {
        let caller = self.server.caller(&context.extensions);
        let methods = &self.server.service.methods;
        let result = methods.call(method, params, caller).await?;
        Some(result.and_then(|result| read(method, result)))
    }

    /// Calls a method of the author.
    async fn required<M: ConstString, T: DeserializeOwned>(
        &self,
        params: impl Serialize,
        context: &Context,
    ) -> Result<T, ErrorData> {
        let result = self.added(M::VALUE, params, context).await;
        result.unwrap_or_else(|| Err(ErrorData::method_not_found::<M>()))
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let service = &self.server.service;
        let mut capabilities = json!({ "tools": { "listChanged": true }, "resources": {} });
        if let Some(all) = capabilities.as_object_mut() {
            if service.sends_logs {
                all.insert("logging".to_owned(), json!({}));
            }
            all.extend(service.capabilities.clone());
        }
        let capabilities: ServerCapabilities =
            serde_json::from_value(capabilities).unwrap_or_default();
        let name = Implementation::new(&service.name, &service.version);
        let info = ServerConfig::new(capabilities).with_server_info(name);
        match &service.instructions {
            Some(text) => info.with_instructions(text),
            None => info,
        }
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.session.announces.swap(true, Ordering::Relaxed) {
            return;
        }
        let tools = self.server.service.tools.clone();
        let ended = self.session.ended.clone();
        tokio::spawn(changes::announce(tools, context.peer, ended));
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let _permit = self.server.subscribe()?;
        tokio::select! {
            ended = changes::listen(&self.server.service.tools, &subscription) => ended,
            () = self.server.stopped() => Ok(()),
        }
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let service = &self.server.service;
        listing::page(&service.tools, cursor.as_deref(), service.limits.page)
    }

    fn get_tool(&self, name: &str) -> Option<rmcp::model::Tool> {
        let tool = listing::find(&self.server.service.tools, name).ok()?;
        Some(listing::definition(&tool))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let sends_logs = self.server.service.sends_logs;
        let level = sends_logs.then(|| *self.session.level.lock());
        let caller = self.server.caller(&context.extensions);
        let client = Client::new(context, caller, level);
        Box::pin(self.server.call_tool(request, &client)).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        // Results of calls are not listed: another client's must stay unknown.
        let added = self.added("resources/list", request, &context).await;
        added.unwrap_or_else(|| Ok(ListResourcesResult::default()))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let is_first = request.as_ref().is_none_or(|it| it.cursor.is_none());
        let added = self.added("resources/templates/list", request, &context);
        let none = || Ok(ListResourceTemplatesResult::with_all_items(Vec::new()));
        let mut list: ListResourceTemplatesResult = added.await.unwrap_or_else(none)?;
        if is_first {
            list.resource_templates.push(results::template());
        }
        Ok(list)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri.starts_with(results::PREFIX) {
            let limits = &self.server.service.limits;
            let read = self.server.results.read(&request.uri, limits).await?;
            return Ok(read.into());
        }
        let method = "resources/read";
        match self.added(method, &request, &context).await {
            None => Err(results::not_found(&request.uri)),
            Some(result) => read_response::<ReadResourceResult, _>(method, result?),
        }
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.required::<ListPromptsRequestMethod, _>(request, &context)
            .await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let result = self.required::<GetPromptRequestMethod, _>(request, &context);
        read_response::<GetPromptResult, _>(GetPromptRequestMethod::VALUE, result.await?)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: Context,
    ) -> Result<CompleteResult, ErrorData> {
        self.required::<CompleteRequestMethod, _>(request, &context)
            .await
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        if !self.server.service.sends_logs {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        *self.session.level.lock() = request.level;
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        let done = self.required::<SubscribeRequestMethod, IgnoredAny>(request, &context);
        done.await.map(drop)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        let done = self.required::<UnsubscribeRequestMethod, IgnoredAny>(request, &context);
        done.await.map(drop)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, params, .. } = request;
        let not_found = |method| Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None));
        if is_modern(&context) && OF_SESSIONS.contains(&&*method) {
            return not_found(method);
        }
        // `rmcp` takes a request whose parameters it cannot read for one that it does not know.
        if KNOWN.contains(&&*method) || OF_SESSIONS.contains(&&*method) {
            let message = format!("The parameters of `{method}` are invalid.");
            return Err(ErrorData::invalid_params(message, None));
        }
        match self.added(&method, params, &context).await {
            Some(result) => result.map(CustomResult::new),
            None => not_found(method),
        }
    }
}

/// The methods that `rmcp` reads, in both lifecycles.
const KNOWN: [&str; 9] = [
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];

/// The methods that exist only in sessions.
const OF_SESSIONS: [&str; 5] = [
    "initialize",
    "logging/setLevel",
    "ping",
    "resources/subscribe",
    "resources/unsubscribe",
];

/// Reads a result that may ask for input.
fn read_response<T, R>(method: &str, result: Value) -> Result<R, ErrorData>
where
    T: DeserializeOwned,
    R: From<T> + From<InputRequiredResult>,
{
    if result.get("resultType").and_then(Value::as_str) == Some("input_required") {
        read::<InputRequiredResult>(method, result).map(R::from)
    } else {
        read::<T>(method, result).map(R::from)
    }
}

fn read<T: DeserializeOwned>(method: &str, result: Value) -> Result<T, ErrorData> {
    serde_json::from_value(result).map_err(|error| {
        // The author reads it, while the server is being written.
        tracing::error!(method, %error, "the result of a method is malformed");
        ErrorData::internal_error("The method returned a malformed result.", None)
    })
}
