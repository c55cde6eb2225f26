//! An MCP server over HTTP that requires a token, and its authorization server, on two ports of this machine.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use axum::response::Response;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::{Url, form_urlencoded};

/// Where the authorization server has its metadata too. No issuer has it there.
pub(super) const UNUSUAL: &str = "/x/.well-known/y";

/// A request that was received.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) path: String,
    /// The method of JSON-RPC, or that of HTTP.
    pub(super) method: String,
    pub(super) authorization: Option<String>,
    /// The fields of a form.
    pub(super) form: HashMap<String, String>,
}

/// How the servers behave.
#[derive(Clone, Default)]
pub(super) struct Behaviour {
    /// The issuer in the metadata of the authorization server.
    pub(super) issuer: Option<String>,
    /// The resource in the metadata of the MCP server.
    pub(super) resource: Option<String>,
    /// The authorization server that the MCP server names.
    pub(super) authorization_server: Option<String>,
    /// How many more it names.
    pub(super) more_authorization_servers: usize,
    /// The page for the person in the metadata of the authorization server.
    pub(super) authorization_endpoint: Option<String>,
    /// The token endpoint in the metadata of the authorization server.
    pub(super) token_endpoint: Option<String>,
    /// Where the token endpoint redirects to.
    pub(super) token_redirect: Option<String>,
    /// Where the MCP server redirects to, once it gets a token.
    pub(super) redirect: Option<String>,
    /// `iss` of the redirect.
    pub(super) iss: Option<String>,
    /// The metadata says that the redirect has `iss`.
    pub(super) announces_iss: bool,
    pub(super) expires_in: Option<u64>,
    /// The scope that calls require.
    pub(super) call_scope: Option<&'static str>,
    /// The token endpoint fails, and repeats in its error what it got.
    pub(super) echoes: bool,
    /// Metadata is larger than any client should read.
    pub(super) huge: bool,
    /// The metadata of the MCP server has a field that is nested too deeply for most parsers.
    pub(super) deep: bool,
    /// The result of a call is the token.
    pub(super) repeats_token: bool,
    /// Calls fail with an error that has the token.
    pub(super) rejects: bool,
    /// Tokens cannot be renewed.
    pub(super) without_refresh: bool,
    /// Only calls of `echo` require a token.
    pub(super) mostly_open: bool,
    /// Only tokens from this number on are accepted.
    pub(super) first_token: usize,
}

/// The two servers.
#[derive(Clone)]
pub(super) struct Site {
    pub(super) mcp: String,
    pub(super) auth: String,
    pub(super) behaviour: Arc<Mutex<Behaviour>>,
    received: Arc<Mutex<Vec<Received>>>,
    /// The scopes of each token.
    tokens: Arc<Mutex<Vec<String>>>,
    asked: Arc<Mutex<String>>,
}

impl Site {
    pub(super) async fn start(behaviour: Behaviour) -> Self {
        let (mcp, auth) = (listen().await, listen().await);
        let address = |listener: &TcpListener| format!("http://{}", listener.local_addr().unwrap());
        let site = Site {
            mcp: address(&mcp),
            auth: address(&auth),
            behaviour: Arc::new(Mutex::new(behaviour)),
            received: Arc::default(),
            tokens: Arc::default(),
            asked: Arc::default(),
        };
        for listener in [mcp, auth] {
            let router = Router::new().fallback(answer).with_state(site.clone());
            tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        }
        site
    }

    /// Returns the URL of the MCP server.
    pub(super) fn url(&self) -> String {
        format!("{}/mcp", self.mcp)
    }

    /// Returns the requests to a path.
    pub(super) fn received(&self, path: &str) -> Vec<Received> {
        let received = self.received.lock();
        received
            .iter()
            .filter(|request| request.path == path)
            .cloned()
            .collect()
    }

    pub(super) fn everything_received(&self) -> Vec<Received> {
        self.received.lock().clone()
    }

    fn reply(&self, request: &Received, query: &HashMap<String, String>, body: &Value) -> Response {
        let behaviour = self.behaviour.lock().clone();
        match request.path.as_str() {
            "/mcp" => self.mcp(&behaviour, request, body),
            "/.well-known/oauth-protected-resource/mcp" => json_reply(&json!({
                "authorization_servers": self.named(&behaviour),
                "resource": behaviour.resource.unwrap_or_else(|| self.url()),
                "scopes_supported": ["basic"],
                "padding": (0..if behaviour.deep { 200 } else { 0 }).fold(json!(0), |inner, _| json!([inner])),
            })),
            "/.well-known/oauth-authorization-server" | UNUSUAL => json_reply(&json!({
                "issuer": behaviour.issuer.unwrap_or_else(|| self.auth.clone()),
                "authorization_endpoint": behaviour
                    .authorization_endpoint
                    .unwrap_or_else(|| format!("{}/authorize", self.auth)),
                "token_endpoint": behaviour.token_endpoint.unwrap_or_else(|| format!("{}/token", self.auth)),
                "registration_endpoint": format!("{}/register", self.auth),
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": behaviour.announces_iss,
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
                "padding": if behaviour.huge { "x".repeat(1 << 20) } else { String::new() },
            })),
            "/register" => {
                json_reply(&json!({ "client_id": "client-1", "client_secret": "secret-client" }))
            }
            "/authorize" => self.authorize(&behaviour, query),
            "/token" => self.token(&behaviour, request),
            _ => status(StatusCode::NOT_FOUND),
        }
    }

    /// The authorization servers that the MCP server names.
    fn named(&self, behaviour: &Behaviour) -> Vec<String> {
        let more = (0..behaviour.more_authorization_servers)
            .map(|number| format!("{}/tenant-{number}", self.auth));
        let own = behaviour.authorization_server.clone();
        more.chain([own.unwrap_or_else(|| self.auth.clone())])
            .collect()
    }

    fn authorize(&self, behaviour: &Behaviour, query: &HashMap<String, String>) -> Response {
        *self.asked.lock() = query.get("scope").cloned().unwrap_or_default();
        let mut url = Url::parse(&query["redirect_uri"]).unwrap();
        let mut fields = url.query_pairs_mut();
        fields.append_pair("code", "secret-code");
        fields.append_pair("state", &query["state"]);
        if let Some(iss) = &behaviour.iss {
            fields.append_pair("iss", iss);
        }
        drop(fields);
        redirect(StatusCode::FOUND, url.as_str())
    }

    fn token(&self, behaviour: &Behaviour, request: &Received) -> Response {
        if let Some(target) = &behaviour.token_redirect {
            return redirect(StatusCode::TEMPORARY_REDIRECT, target);
        }
        if behaviour.echoes {
            let echo = format!("{:?}", request.form);
            let body = json!({ "error": "invalid_grant", "error_description": echo });
            return reply(StatusCode::BAD_REQUEST, &body);
        }
        let is_known = match request.form["grant_type"].as_str() {
            "authorization_code" => request.form["code"] == "secret-code",
            _ => request.form["refresh_token"].starts_with("secret-refresh-"),
        };
        if !is_known {
            return reply(
                StatusCode::BAD_REQUEST,
                &json!({ "error": "invalid_grant" }),
            );
        }
        let mut tokens = self.tokens.lock();
        tokens.push(self.asked.lock().clone());
        let number = tokens.len();
        json_reply(&json!({
            "access_token": format!("secret-access-{number}"),
            "refresh_token": (!behaviour.without_refresh).then(|| format!("secret-refresh-{number}")),
            "id_token": "secret-identity",
            "token_type": "Bearer",
            "expires_in": behaviour.expires_in.unwrap_or(3_600),
            "scope": tokens[number - 1],
        }))
    }

    fn mcp(&self, behaviour: &Behaviour, request: &Received, body: &Value) -> Response {
        let token = request.authorization.as_deref();
        let number = token.and_then(|token| token.strip_prefix("Bearer secret-access-"));
        let number = number.and_then(|number| number.parse::<usize>().ok());
        let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", self.mcp);
        let refused = |status: StatusCode, more: &str| {
            let challenge = format!("Bearer resource_metadata=\"{metadata}\"{more}");
            Response::builder()
                .status(status)
                .header(WWW_AUTHENTICATE, challenge)
                .body(Body::empty())
                .unwrap()
        };
        let scopes = number.and_then(|number| self.tokens.lock().get(number - 1).cloned());
        let scopes = scopes.filter(|_| number >= Some(behaviour.first_token));
        let is_open = behaviour.mostly_open && body["params"]["name"] != "echo";
        let Some(scopes) = scopes.or_else(|| is_open.then(String::new)) else {
            return refused(StatusCode::UNAUTHORIZED, "");
        };
        if let Some(target) = &behaviour.redirect {
            return redirect(StatusCode::TEMPORARY_REDIRECT, target);
        }
        let result = match request.method.as_str() {
            "initialize" => json!({
                "protocolVersion": body["params"]["protocolVersion"],
                "capabilities": { "tools": {}, "resources": {}, "prompts": {} },
                "serverInfo": { "name": "test", "version": "1" },
            }),
            "tools/list" => {
                let names = ["echo", "open"]
                    .into_iter()
                    .take(1 + usize::from(behaviour.mostly_open));
                let tool = |name| json!({ "name": name, "inputSchema": { "type": "object" } });
                json!({ "tools": names.map(tool).collect::<Vec<_>>() })
            }
            "resources/list" => json!({ "resources": [{ "uri": "x:/1", "name": "one" }] }),
            "prompts/list" => json!({ "prompts": [{ "name": "review" }] }),
            "tools/call" => match behaviour.call_scope {
                Some(scope) if !scopes.split(' ').any(|granted| granted == scope) => {
                    let more = format!(", error=\"insufficient_scope\", scope=\"{scope}\"");
                    return refused(StatusCode::FORBIDDEN, &more);
                }
                _ if behaviour.rejects => {
                    let error = json!({ "code": -32000, "message": format!("{token:?} is bad") });
                    return json_reply(
                        &json!({ "jsonrpc": "2.0", "id": body["id"], "error": error }),
                    );
                }
                _ if behaviour.repeats_token => {
                    json!({ "content": [{ "type": "text", "text": token }] })
                }
                _ => json!({ "content": [{ "type": "text", "text": "called" }] }),
            },
            "GET" => return status(StatusCode::METHOD_NOT_ALLOWED),
            _ => return status(StatusCode::ACCEPTED),
        };
        json_reply(&json!({ "jsonrpc": "2.0", "id": body["id"], "result": result }))
    }
}

/// Listens on a free port of this machine.
pub(super) async fn listen() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

async fn answer(State(site): State<Site>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body: Bytes = to_bytes(body, 1 << 20).await.unwrap();
    let pairs = |text: &[u8]| form_urlencoded::parse(text).into_owned().collect();
    let query: HashMap<String, String> = pairs(parts.uri.query().unwrap_or_default().as_bytes());
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let is_form = parts
        .headers
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().ends_with(b"urlencoded"));
    let header = parts.headers.get(AUTHORIZATION);
    let received = Received {
        path: parts.uri.path().to_owned(),
        method: message["method"]
            .as_str()
            .unwrap_or(parts.method.as_str())
            .to_owned(),
        authorization: header.map(|value| value.to_str().unwrap().to_owned()),
        form: if is_form {
            pairs(&body)
        } else {
            HashMap::new()
        },
    };
    site.received.lock().push(received.clone());
    site.reply(&received, &query, &message)
}

fn status(status: StatusCode) -> Response {
    Response::builder()
        .status(status)
        .body(Body::empty())
        .unwrap()
}

fn redirect(status: StatusCode, target: &str) -> Response {
    let response = Response::builder().status(status).header(LOCATION, target);
    response.body(Body::empty()).unwrap()
}

fn reply(status: StatusCode, body: &Value) -> Response {
    let response = Response::builder()
        .status(status)
        .header(CONTENT_TYPE, "application/json");
    response.body(Body::from(body.to_string())).unwrap()
}

fn json_reply(body: &Value) -> Response {
    reply(StatusCode::OK, body)
}
