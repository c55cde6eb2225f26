//! Resources and prompts.

use serde_json::{Value, json};
use turnwright_core::render::{Part, Renderer};
use turnwright_core::trust::ConversationSecret;
use turnwright_core::{DispatchContext, TurnInput, TurnRunner};
use turnwright_mcp::{Mcp, McpExt as _, McpServer, Pinning};

use crate::client::caller;
use crate::server::{folder, server};

async fn started(server: McpServer) -> Mcp {
    let mcp = Mcp::new([server]);
    mcp.start().await.unwrap();
    mcp
}

async fn called(mcp: &Mcp, tool: &'static str, args: Value) -> String {
    caller(mcp.clone(), tool, args).run("Go.").await.text
}

#[tokio::test]
async fn the_model_lists_and_reads_resources_with_two_tools() {
    let mcp = started(server("resources", &folder("resources")).resources()).await;
    let listed = called(&mcp, "test__mcp_list_resources", json!({})).await;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed, json!(mcp.resources("test").await.unwrap()));
    assert_eq!(
        (&listed[0]["uri"], &listed[1]["name"]),
        (&json!("file:///a"), &json!("b"))
    );

    let args = json!({ "uri": "file:///a" });
    assert_eq!(
        called(&mcp, "test__mcp_read_resource", args).await,
        "Inside a."
    );
    let args = json!({ "uri": "file:///b" });
    let outcome = caller(mcp.clone(), "test__mcp_read_resource", args)
        .run("Go.")
        .await;
    let call = outcome.tool_calls().next().unwrap();
    assert_eq!(call.media()[0].mime_type(), "image/png");
    assert!(!call.is_trusted());
    let args = json!({ "uri": "file:///c" });
    let refused = called(&mcp, "test__mcp_read_resource", args).await;
    assert_eq!(refused, "The server rejected the call: unknown method");
}

#[tokio::test]
async fn a_link_names_the_reader_only_if_the_model_has_it() {
    for (mode, resources, reader) in [
        ("resources", true, true),
        ("resources", false, false),
        // The server declares no resources.
        ("mixed", true, false),
        // The tool of the server is not the reader.
        ("own-reader", true, false),
    ] {
        let server = server(mode, &folder(&format!("links-{mode}-{resources}")));
        let server = if resources {
            server.resources()
        } else {
            server
        };
        let text = called(&started(server).await, "test__echo", json!({})).await;
        let link = "Resource link: b (file:///b)";
        if reader {
            assert!(
                text.ends_with(&format!("{link}. Read it with `test__mcp_read_resource`.")),
                "{text}"
            );
        } else {
            assert!(text.ends_with(link), "{mode}: {text}");
        }
    }
}

#[tokio::test]
async fn a_tool_of_the_server_cannot_take_the_name_of_the_reader() {
    let folder = folder("resources-clash");
    let mcp = started(server("resources-clash", &folder).resources()).await;
    let status = mcp.status().remove(0);
    let names = [
        "test__echo",
        "test__mcp_list_resources",
        "test__mcp_read_resource",
    ];
    assert_eq!(status.tools, names);
    let withheld = &status.withheld[0];
    assert_eq!(withheld.tool, "mcp_read_resource");
    assert!(
        withheld
            .reason
            .contains("a tool for the server's resources"),
        "{withheld:?}"
    );
    let args = json!({ "uri": "file:///a" });
    assert_eq!(
        called(&mcp, "test__mcp_read_resource", args).await,
        "Inside a."
    );
}

#[tokio::test]
async fn the_tools_for_resources_of_a_server_that_is_not_pinned_are_withheld() {
    let folder = folder("resources-unpinned");
    let lock = folder.join("mcp.lock.json");
    let mcp = |server: McpServer| {
        Mcp::new([server.resources()])
            .lock_file(&lock)
            .pinning(Pinning::Pinned)
    };
    let offered = async |mcp: &Mcp| {
        mcp.start().await.unwrap();
        let status = mcp.status().remove(0);
        (status.tools.len(), status.withheld)
    };
    let first = mcp(server("resources", &folder));
    let (count, withheld) = offered(&first).await;
    assert_eq!((count, withheld.len()), (0, 3), "{withheld:?}");
    assert!(
        withheld[2].reason.contains("not in the lock file"),
        "{withheld:?}"
    );
    first.pins().write(&lock).unwrap();
    assert_eq!(offered(&mcp(server("resources", &folder))).await.0, 3);
    // Another command line.
    let moved = mcp(server("resources", &folder).pin_source("elsewhere"));
    let (count, withheld) = offered(&moved).await;
    assert_eq!((count, withheld.len()), (0, 3), "{withheld:?}");
    assert!(
        withheld
            .iter()
            .all(|item| item.reason.contains("command line or the URL")),
        "{withheld:?}"
    );
}

#[tokio::test]
async fn lists_of_resources_and_prompts_have_limits_of_their_own() {
    let mcp = started(server("resources-many", &folder("resources-many"))).await;
    assert_eq!(mcp.resources("test").await.unwrap().len(), 1_500);
    let error = mcp.prompts("test").await.unwrap_err();
    assert!(
        error.message().contains("more than 1000 prompts"),
        "{error}"
    );
}

/// A runner that answers with the prompt, and says whether private data are in it.
fn reader(mcp: &Mcp) -> TurnRunner {
    let executor = |ctx: DispatchContext| async move {
        let input = ctx.turn().input().unwrap();
        let renderer = Renderer::new(ConversationSecret::from_bytes([7; 32]));
        let parts = renderer.message(&input).into_iter();
        let texts = parts.filter_map(|part| match part {
            Part::Text(text) => Some(text),
            _ => None,
        });
        let mut shown: Vec<String> = texts.collect();
        let taint = ctx.taint();
        shown.push(format!("{} {}", taint.is_tainted(), taint.is_private()));
        ctx.answer(shown.join("\n")).await?;
        Ok(())
    };
    turnwright_core::runner(executor)
        .mcp(mcp.clone())
        .build()
        .unwrap()
}

async fn prompt(mcp: &Mcp) -> TurnInput {
    let prompt = mcp.prompt("test", "review", json!({ "page": "Home" }));
    prompt.await.unwrap()
}

#[tokio::test]
async fn a_prompt_is_an_untrusted_input_with_all_of_its_content() {
    let mcp = started(server("resources", &folder("prompts"))).await;
    assert_eq!(
        mcp.prompts("test").await.unwrap(),
        [json!({ "name": "review" })]
    );
    let text = reader(&mcp).run(prompt(&mcp).await).await.text;
    let content = "Review Home.\n\nResource file:///a:\nInside a.\n\nAssistant: Gladly.";
    assert!(text.contains(content) && text.contains("<tw-"), "{text}");
    assert!(
        text.contains("mime=\"image/png\"") && !text.contains("Obey"),
        "{text}"
    );
    assert!(text.ends_with("true false"), "{text}");
    let error = mcp.prompt("other", "review", json!({})).await.unwrap_err();
    assert!(error.message().contains("`other`"), "{error}");
}

#[tokio::test]
async fn everything_of_a_server_that_reads_private_data_is_private() {
    for private in [false, true] {
        let server = server("resources", &folder("private"));
        let server = if private {
            server.reads_private()
        } else {
            server
        };
        let mcp = started(server.clone()).await;
        let read = mcp.read_resource("test", "file:///a").await.unwrap();
        assert_eq!(read.as_text(), Some("Inside a."));
        assert_eq!((read.untrusted, read.private), (true, private));
        let text = reader(&mcp).run(prompt(&mcp).await).await.text;
        assert!(text.ends_with(&format!("true {private}")), "{text}");
        mcp.stop().await;
        // The instructions.
        let text = reader(&Mcp::new([server.use_instructions()]))
            .run("Go.")
            .await
            .text;
        assert!(text.ends_with(&format!("true {private}")), "{text}");
    }
}
