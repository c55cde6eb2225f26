//! A server that requires a login, with an authorization server on this machine.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use turnwright_testkit::server::{Answer, ReceivedRequest, Server};
use url::Url;

use crate::mcp_server::Setup;
use crate::pty::Launch;

const TOKEN: &str = "secret-token";

/// A server and its authorization server, on one port.
struct Site {
    server: Server,
    /// The server runs as long as this does.
    _runtime: Runtime,
}

impl Site {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        Site {
            server: runtime.block_on(Server::start(answer)).unwrap(),
            _runtime: runtime,
        }
    }

    /// A configuration that the user has agreed to.
    fn setup(&self, more: &Value) -> Setup {
        let mut server = json!({ "type": "http", "url": format!("{}/mcp", self.server.url()) });
        for (name, value) in more.as_object().unwrap() {
            server[name] = value.clone();
        }
        let setup = Setup::new();
        setup.write_config(&json!({ "mcpServers": { "wiki": server } }).to_string());
        assert_eq!(setup.run(&["mcp", "trust", "--yes"]).code, 0);
        setup
    }
}

fn answer(request: &ReceivedRequest) -> Answer {
    let site = format!("http://{}", request.header("host").unwrap());
    let metadata = format!("{site}/.well-known/oauth-protected-resource/mcp");
    match request.route() {
        "/mcp" if request.header("authorization") != Some("Bearer secret-token") => {
            let challenge = format!("Bearer resource_metadata=\"{metadata}\"");
            Answer::status(401).header("www-authenticate", challenge)
        }
        "/mcp" => mcp(&request.json().unwrap_or_default()),
        "/.well-known/oauth-protected-resource/mcp" => Answer::json(
            200,
            json!({ "resource": format!("{site}/mcp"), "authorization_servers": [site] }),
        ),
        "/.well-known/oauth-authorization-server" => Answer::json(
            200,
            json!({
                "issuer": site,
                "authorization_endpoint": format!("{site}/authorize"),
                "token_endpoint": format!("{site}/token"),
                "registration_endpoint": format!("{site}/register"),
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
            }),
        ),
        "/register" => Answer::json(201, json!({ "client_id": "client-1" })),
        "/token" => Answer::json(
            200,
            json!({ "access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600 }),
        ),
        _ => Answer::status(404),
    }
}

fn mcp(message: &Value) -> Answer {
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "wiki", "version": "1" },
        }),
        Some("tools/list") => {
            json!({ "tools": [{ "name": "page", "inputSchema": { "type": "object" } }] })
        }
        Some(method) if message["id"].is_null() || method.is_empty() => return Answer::status(202),
        Some(_) => {
            let error = json!({ "code": -32601, "message": "unknown method" });
            return Answer::json(
                200,
                json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }),
            );
        }
        None => return Answer::status(405),
    };
    Answer::json(
        200,
        json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }),
    )
}

/// What the browser of a person does who agrees: it is redirected back.
fn agree(page: &str) {
    let page = Url::parse(page).unwrap();
    let field = |name: &str| {
        let mut fields = page.query_pairs();
        let field = fields.find(|(key, _)| key == name);
        field.unwrap().1.into_owned()
    };
    let mut back = Url::parse(&field("redirect_uri")).unwrap();
    back.query_pairs_mut()
        .append_pair("code", "secret-code")
        .append_pair("state", &field("state"));
    let address = ("127.0.0.1", back.port().unwrap());
    let mut stream = TcpStream::connect(address).unwrap();
    let target = format!("{}?{}", back.path(), back.query().unwrap());
    let host = format!("127.0.0.1:{}", back.port().unwrap());
    write!(
        stream,
        "GET {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut shown = String::new();
    stream.read_to_string(&mut shown).unwrap();
    assert!(shown.starts_with("HTTP/1.1 200"), "{shown}");
}

#[test]
fn a_person_logs_in_once() {
    let site = Site::start();
    let setup = site.setup(&json!({}));
    // Without a terminal and without a token.
    let listed = setup.run(&["mcp", "list", "--json"]).json();
    assert_eq!(listed[0]["state"], "loginRequired", "{listed:?}");
    let listed = setup.run(&["mcp", "list"]);
    assert_eq!(
        listed.out,
        "wiki  waits for a login. Run `turnwright mcp doctor --mcp .mcp.json` at a terminal\n"
    );
    let doctor = setup.run(&["mcp", "doctor"]);
    assert!(doctor.out.contains("a person must log in"), "{doctor:?}");
    assert!(
        doctor.out.contains("to log in, or add a token"),
        "{doctor:?}"
    );

    let mut terminal = Launch::new(&["mcp", "pin", "--yes"])
        .env("TURNWRIGHT_HOME", setup.home.path())
        .current_dir(setup.folder.path())
        .window(40, 1_000)
        .start();
    terminal.wait_for("? 127.0.0.1 wants you to log in at 127.0.0.1.");
    terminal.wait_for("/authorize?");
    let rows = terminal.rows();
    let page = rows.iter().find(|row| row.starts_with("http://127.0.0.1:"));
    agree(page.unwrap().trim_end());
    terminal.wait_for("Pinned 1 tool");
    assert_eq!(terminal.end(), 0);

    let tokens = setup.home.file("mcp-tokens.json");
    let mode = std::os::unix::fs::PermissionsExt::mode(&tokens.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    // The token is used, also without a terminal, and never shown.
    let ran = setup.run(&["mcp", "list", "--json"]);
    assert_eq!(ran.json()[0]["state"], "connected", "{ran:?}");
    assert_eq!(ran.json()[0]["tools"][0]["name"], "wiki__page");
    assert!(!format!("{ran:?}").contains(TOKEN));
}

#[test]
fn a_login_can_be_switched_off_or_configured() {
    let site = Site::start();
    let setup = site.setup(&json!({ "oauth": false }));
    let doctor = setup.run(&["mcp", "doctor"]);
    assert!(doctor.out.contains("requires authorisation"), "{doctor:?}");
    // A token of the user is sent as it is.
    let headers = json!({ "Authorization": format!("Bearer {TOKEN}") });
    let setup = site.setup(&json!({ "headers": headers }));
    let listed = setup.run(&["mcp", "list", "--json"]).json();
    assert_eq!(listed[0]["state"], "connected", "{listed:?}");

    for (oauth, expected) in [
        (
            json!({ "clientID": "x" }),
            "`oauth` must be true, false or an object with known keys",
        ),
        (
            json!({ "clientSecret": "hunter2" }),
            "a client secret requires a client id",
        ),
        (
            json!({ "clientId": "${NO_SUCH_VARIABLE}" }),
            ".oauth.clientId: the environment variable",
        ),
    ] {
        let server = json!({ "url": "http://127.0.0.1:9/mcp", "oauth": oauth });
        setup.write_config(&json!({ "mcpServers": { "wiki": server } }).to_string());
        let ran = setup.run(&["mcp", "trust", "--yes"]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
        assert!(ran.err.contains(expected), "{}", ran.err);
        assert!(!ran.err.contains("hunter2"), "{}", ran.err);
    }
}
