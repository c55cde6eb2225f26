//! What a connected server offers: its definitions as tools, and what is withheld.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use turnwright_core::schema::{SchemaOptions, escape};
use turnwright_core::{Effects, Tool, ToolContext};

use super::call::{self, RemoteTool};
use super::connection::{Connection, Ready};
use super::pages::List;
use super::resources;
use super::status::{Withheld, WithheldKind};
use crate::definition::{Definition, exposed_name, harmless, harmless_schema, name_for_messages};
use crate::limits::Limits;
use crate::pin::{Difference, LockedServer, Pins};
use crate::protocol::{Failure, Session};

impl Ready {
    /// Compares what a server says with its pins, and builds its tools. The list was requested at a time, after a number of announced
    /// changes. Takes long for a long list.
    ///
    /// # Errors
    /// The time for the start of a server is over.
    pub(super) fn new(
        server: &Arc<Connection>,
        pins: &Pins,
        session: Arc<dyn Session>,
        (announced, listed_at): (u64, Instant),
        list: List,
    ) -> Result<Self, Failure> {
        let config = server.config();
        let about = session.about();
        let (definitions, mut withheld) = definitions(list, &config.alias, &config.limits);
        let seen = LockedServer::of(config.source(), about.instructions.clone(), &definitions);
        let seen = Arc::new(seen);
        let differences = pins.differences(&seen);
        let (mut tools, mut left_out, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        let mut own = Vec::new();
        if config.resources && about.has_resources {
            match resources::tools(server, &differences) {
                Ok(tools) => own = tools,
                Err(both) => withheld.extend(both),
            }
        }
        let of_all = differences.iter().find(|one| one.withholds_all());
        let of_tools: HashMap<&str, &Difference> = differences
            .iter()
            .filter_map(|difference| Some((difference.tool.as_deref()?, difference)))
            .collect();
        for definition in &definitions {
            let limit = config.limits.start;
            if listed_at.elapsed() >= limit {
                return Err(Failure::Timeout(limit));
            }
            let name = definition.name();
            let exposed = exposed_name(&config.alias, name);
            if let Some(reason) = config.filter.reason_against(name) {
                left_out.push(Withheld::new(name, WithheldKind::LeftOut, reason));
                continue;
            }
            let built = if own.iter().any(|tool: &Tool| tool.name() == exposed) {
                Err(format!(
                    "`{exposed}` is the name of a tool for the server's resources"
                ))
            } else {
                build(definition, server)
            };
            // First whether it can be used at all: pinning would not help then.
            match (built, of_all.or_else(|| of_tools.get(name).copied())) {
                (Ok((tool, warning)), None) => {
                    tools.push(tool);
                    warnings.extend(warning);
                }
                (Ok(_), Some(difference)) => {
                    let reason = difference.reason();
                    withheld.push(Withheld::new(name, WithheldKind::Unpinned, reason));
                }
                (Err(reason), _) => {
                    withheld.push(Withheld::new(name, WithheldKind::Unusable, reason));
                }
            }
        }
        tools.extend(own);
        Ok(Ready {
            session,
            announced,
            listed_at,
            tools,
            withheld,
            left_out,
            warnings,
            differences,
            seen,
        })
    }
}

/// Reads definitions. What is malformed or repeated is withheld.
fn definitions(list: List, alias: &str, limits: &Limits) -> (Vec<Definition>, Vec<Withheld>) {
    let (mut definitions, mut withheld) = (Vec::new(), Vec::new());
    let mut names = HashMap::<String, String>::new();
    for (index, raw) in list.items.into_iter().enumerate() {
        let shown = name_for_messages(&raw, index);
        let read = Definition::read(raw, limits).and_then(|definition| {
            if list.unusable.contains(definition.name()) {
                let reason = "its `x-mcp-header` annotations are invalid, or there are too many";
                return Err(reason.to_owned());
            }
            let exposed = exposed_name(alias, definition.name());
            if let Some(other) = names.get(&exposed) {
                let other = escape(other, 80);
                return Err(format!(
                    "would be named `{exposed}` like `{other}`, another tool of the server"
                ));
            }
            names.insert(exposed, definition.name().to_owned());
            Ok(definition)
        });
        match read {
            Ok(definition) => definitions.push(definition),
            Err(reason) => withheld.push(Withheld::new(shown, WithheldKind::Unusable, reason)),
        }
    }
    (definitions, withheld)
}

/// Builds the tool of a definition. Also returns what operators should know about it.
///
/// # Errors
/// Returns why the tool is withheld.
fn build(
    definition: &Definition,
    server: &Arc<Connection>,
) -> Result<(Tool, Option<String>), String> {
    let config = server.config();
    let limit = config.limits.description_chars;
    let schema = harmless_schema(definition.input_schema().clone(), limit).map_err(|pointer| {
        let pointer = escape(&pointer, 80);
        format!("the schema has hidden or misleading text at `{pointer}`")
    })?;
    // The server fills in its defaults.
    let options = SchemaOptions::foreign().fill_defaults(false);
    let schema = options
        .clone()
        .document(schema)
        .map_err(|error| format!("the schema is unusable: {error}"))?;
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
    let mut description = harmless(definition.description(), limit);
    if description.trim().is_empty() {
        description = format!("`{name}` of the MCP server `{}`.", config.alias);
    }
    // The request has its own deadlines; this one is only a backstop.
    let backstop = config
        .limits
        .call_total
        .saturating_add(Duration::from_secs(5));
    let tool = config
        .labelled(Tool::dynamic(name, schema))
        .description(description)
        .version(definition.pin())
        .effects(effects)
        .timeout(backstop)
        .meta(json!({ "mcp": { "tool": definition.name() } }))
        .handler(move |args: Value, ctx: ToolContext| call::run(Arc::clone(&remote), args, ctx))
        .build()
        .map_err(|error| error.message().to_owned())?;
    Ok((tool, warning))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use async_trait::async_trait;
    use tokio::sync::watch;
    use tokio::time::advance;
    use turnwright_core::Cancellation;

    use super::super::server::McpServer;
    use super::*;
    use crate::pin::Pinning;
    use crate::protocol::{About, Request, Response};

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
        let server = Connection::new(config, Cancellation::new());
        let mut withheld = BTreeMap::<String, Vec<String>>::new();
        let total = definitions.len();
        for raw in definitions {
            let built = Definition::read(raw.clone(), &limits);
            let built = built.and_then(|definition| build(&definition, &server));
            if let Err(reason) = built.and_then(|(_, warning)| warning.map_or(Ok(()), Err)) {
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

        async fn request(&self, _: Request) -> Result<Response, Failure> {
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
        let server = Connection::new(config, Cancellation::new());
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
            let list = List {
                items: vec![json!({ "name": "a", "inputSchema": { "type": "object" } })],
                ..List::default()
            };
            let pins = Pins::new(Pinning::Unpinned, None);
            Ready::new(&server, &pins, Arc::clone(&session), (0, listed_at), list)
        };
        assert_eq!(ready().map(|ready| ready.tools.len()).ok(), Some(1));
        advance(limit).await;
        assert!(matches!(ready().err(), Some(Failure::Timeout(exceeded)) if exceeded == limit));
    }
}
