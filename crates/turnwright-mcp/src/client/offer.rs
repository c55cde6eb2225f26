//! What a server offers: its definitions as tools, and what is withheld.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;
use turnwright_core::schema::{SchemaOptions, escape};
use turnwright_core::{Effects, Tool, ToolContext};

use super::call::{self, RemoteTool};
use super::server::McpServer;
use super::status::{Withheld, WithheldKind};
use super::supervisor::Supervised;
use crate::definition::{Definition, exposed_name, harmless, harmless_schema, name_for_messages};
use crate::limits::Limits;
use crate::protocol::{Failure, Listener, Request, Session};

/// A list as a server sent it.
#[derive(Default)]
pub(super) struct Listed {
    items: Vec<Value>,
    /// The names of tools that the transport cannot call.
    refused: HashSet<String>,
}

/// What the definitions of a server became.
#[derive(Default)]
pub(super) struct Offer {
    pub(super) definitions: Vec<Definition>,
    pub(super) withheld: Vec<Withheld>,
}

/// Reads the list of tools.
///
/// # Errors
/// The server fails, or lists more than its limits allow. A partial list would look as if tools had been removed.
pub(super) async fn list(session: &dyn Session, limits: &Limits) -> Result<Listed, Failure> {
    if !session.about().has_tools {
        return Ok(Listed::default());
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
    pub(super) async fn read_from(&self, server: &Supervised) -> Result<Vec<Value>, Failure> {
        let read = |session: Arc<dyn Session>| async move { self.read(&*session).await };
        let listed = server.authorized(|| server.session(), read).await?;
        Ok(listed.items)
    }

    async fn read(&self, session: &dyn Session) -> Result<Listed, Failure> {
        let limit = self.limits.start;
        let listed = timeout(limit, self.read_pages(session)).await;
        listed.unwrap_or(Err(Failure::Timeout(limit)))
    }

    async fn read_pages(&self, session: &dyn Session) -> Result<Listed, Failure> {
        let (key, limits) = (self.key, self.limits);
        let mut listed = Listed::default();
        let mut size = 0_usize;
        let mut params = json!({});
        for _ in 0..limits.pages {
            let answer = session.request(Request {
                method: self.method,
                params: params.clone(),
                idle: limits.idle,
                total: limits.start,
                listener: self.listener.clone(),
            });
            let answer = answer.await?;
            let mut page = answer.result;
            listed.refused.extend(answer.refused_tools);
            // Each page fits into a message; many of them must not fill the memory.
            size = size.saturating_add(page.to_string().len());
            if size > limits.message_bytes {
                let message = format!(
                    "its list of {key} has more than {} bytes",
                    limits.message_bytes
                );
                return Err(Failure::Malformed(message));
            }
            match page.get_mut(key).map(Value::take) {
                Some(Value::Array(items)) => listed.items.extend(items),
                _ => return Err(Failure::Malformed(format!("its list has no `{key}`"))),
            }
            if listed.items.len() > self.most {
                let message = format!("it lists more than {} {key}", self.most);
                return Err(Failure::Malformed(message));
            }
            match page.get("nextCursor") {
                Some(Value::String(cursor)) => params = json!({ "cursor": cursor }),
                _ => return Ok(listed),
            }
        }
        let message = format!("its list of {key} has more than {} pages", limits.pages);
        Err(Failure::Malformed(message))
    }
}

impl Offer {
    /// Reads definitions. What is malformed, repeated or filtered out is withheld.
    pub(super) fn read(listed: Listed, server: &McpServer) -> Self {
        let mut offer = Offer::default();
        let mut names: HashMap<String, String> = HashMap::new();
        for (index, raw) in listed.items.into_iter().enumerate() {
            let shown = name_for_messages(&raw, index);
            let read = Definition::read(raw, &server.limits);
            let read = read.and_then(|definition| {
                if listed.refused.contains(definition.name()) {
                    return Err(
                        "its `x-mcp-header` annotations are invalid, or there are too many"
                            .to_owned(),
                    );
                }
                let exposed = exposed_name(&server.alias, definition.name());
                match names.get(&exposed) {
                    Some(other) => Err(format!(
                        "would be named `{exposed}` like `{}`, another tool of the server",
                        escape(other, 80)
                    )),
                    None => {
                        names.insert(exposed, definition.name().to_owned());
                        Ok(definition)
                    }
                }
            });
            match read {
                Ok(definition) => offer.definitions.push(definition),
                Err(reason) => offer.withheld.push(Withheld {
                    tool: shown,
                    reason,
                    kind: WithheldKind::Unusable,
                }),
            }
        }
        offer
    }
}

/// A tool, and what operators should know about it.
pub(super) struct Built {
    pub(super) tool: Tool,
    pub(super) warning: Option<String>,
}

/// Builds the tool of a definition.
///
/// # Errors
/// Returns why the tool is withheld.
pub(super) fn tool(definition: &Definition, server: &Arc<Supervised>) -> Result<Built, String> {
    let config = server.config();
    let limit = config.limits.description_chars;
    let schema = harmless_schema(definition.input_schema().clone(), limit);
    let schema = schema.map_err(|pointer| {
        format!(
            "the schema has hidden or misleading text at `{}`",
            escape(&pointer, 80)
        )
    })?;
    // The server fills in its defaults.
    let options = SchemaOptions::foreign().fill_defaults(false);
    let schema = options.clone().document(schema);
    let schema = schema.map_err(|error| format!("the schema is unusable: {error}"))?;
    let name = exposed_name(&config.alias, definition.name());
    // The model does not see the output schema, so the tool can be used without it.
    let output_schema = definition.output_schema().cloned();
    let output_schema = output_schema.map(|schema| options.any_root().document(schema));
    let (output_schema, warning) = match output_schema.transpose() {
        Ok(schema) => (schema, None),
        Err(error) => {
            let warning = format!(
                "the results of `{name}` are not checked: its output schema is unusable: {error}"
            );
            (None, Some(warning))
        }
    };
    let effects = if config.believe_annotations && definition.claims_read_only() {
        Effects::ReadOnly
    } else {
        Effects::Writes
    };
    let remote = Arc::new(RemoteTool {
        server: Arc::clone(server),
        name: definition.name().to_owned(),
        pin: definition.pin().to_owned(),
        output_schema,
        effects,
    });
    let description = harmless(definition.description(), limit);
    let description = if description.trim().is_empty() {
        format!("`{name}` of the MCP server `{}`.", config.alias)
    } else {
        description
    };
    // The request has its own deadlines; this one is only a backstop.
    let backstop = config
        .limits
        .call_total
        .saturating_add(Duration::from_secs(5));
    let tool = Tool::dynamic(name, schema)
        .description(description)
        .version(definition.pin())
        .effects(effects)
        .source(config.alias.as_str())
        .reads_private(config.reads_private)
        .sends_out(config.sends_out)
        .timeout(backstop)
        .meta(json!({ "mcp": { "tool": definition.name() } }))
        .handler(move |args: Value, ctx: ToolContext| call::run(Arc::clone(&remote), args, ctx))
        .build()
        .map_err(|error| error.message().to_owned())?;
    Ok(Built { tool, warning })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use async_trait::async_trait;
    use tokio::sync::watch;
    use tokio::time::{Instant, advance};
    use turnwright_core::Cancellation;

    use super::super::ready::Ready;
    use super::*;
    use crate::pin::Pinning;
    use crate::protocol::{About, Answer};

    /// Reads the definitions of real tools. Says so if they are not there.
    fn definitions() -> Option<Vec<Value>> {
        let folder = std::env::var_os("TURNWRIGHT_VECTORS").map(PathBuf::from);
        let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
        let file = folder.unwrap_or(beside).join("mcp/tools.jsonl");
        let Ok(text) = std::fs::read_to_string(&file) else {
            eprintln!("SKIPPED: there are no definitions at `{}`", file.display());
            return None;
        };
        let tool = |line: &str| serde_json::from_str::<Value>(line).unwrap()["tool"].clone();
        Some(text.lines().map(tool).collect())
    }

    #[test]
    fn the_definitions_of_real_servers_become_tools() {
        let Some(definitions) = definitions() else {
            return;
        };
        let config = McpServer::stdio("none", [""; 0]).alias("real");
        let limits = config.limits.clone();
        let server = Supervised::new(config, Pinning::Unpinned, None, Cancellation::new());
        let mut withheld = BTreeMap::<String, Vec<String>>::new();
        let total = definitions.len();
        for raw in definitions {
            let built = Definition::read(raw.clone(), &limits);
            let built = built.and_then(|definition| tool(&definition, &server));
            if let Err(reason) = built.and_then(|built| built.warning.map_or(Ok(()), Err)) {
                let name = raw["name"].as_str().unwrap_or_default().to_owned();
                withheld.entry(reason).or_default().push(name);
            }
        }
        let count: usize = withheld.values().map(Vec::len).sum();
        println!("{} of {total} definitions became tools", total - count);
        assert!(withheld.is_empty(), "{withheld:#?}");
    }

    /// A session on which nothing is sent.
    struct Introduced(About);

    #[async_trait]
    impl Session for Introduced {
        fn about(&self) -> &About {
            &self.0
        }

        async fn request(&self, _: Request) -> Result<Answer, Failure> {
            Err(Failure::NotSent("this is a test".to_owned()))
        }

        fn tool_changes(&self) -> watch::Receiver<u64> {
            watch::channel(0).1
        }

        fn announces_changes(&self) -> bool {
            false
        }

        fn assume_change(&self) {}

        fn has_ended(&self) -> bool {
            false
        }

        async fn ended(&self) -> String {
            std::future::pending().await
        }

        async fn close(&self) {}
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_for_a_start_limits_the_building_of_tools() {
        let config = McpServer::stdio("none", [""; 0]).alias("test");
        let limit = config.limits.start;
        let server = Supervised::new(config, Pinning::Unpinned, None, Cancellation::new());
        let session = Introduced(About {
            name: "test".to_owned(),
            version: "1".to_owned(),
            protocol_version: "2025-11-25".to_owned(),
            instructions: None,
            has_tools: true,
            has_resources: false,
            has_prompts: false,
        });
        let session: Arc<dyn Session> = Arc::new(session);
        let listed_at = Instant::now();
        let ready = || {
            let listed = Listed {
                items: vec![json!({ "name": "a", "inputSchema": { "type": "object" } })],
                ..Listed::default()
            };
            Ready::new(&server, Arc::clone(&session), (0, listed_at), listed)
        };
        assert_eq!(ready().map(|ready| ready.tools.len()).ok(), Some(1));
        advance(limit).await;
        assert!(matches!(ready().err(), Some(Failure::Timeout(exceeded)) if exceeded == limit));
    }
}
