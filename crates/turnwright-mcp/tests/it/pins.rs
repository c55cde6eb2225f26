//! Definitions that change.

use serde_json::json;
use turnwright_core::DispatchContext;
use turnwright_mcp::{Mcp, McpExt as _, Pinning};

use crate::client::caller;
use crate::server::{folder, server};

#[tokio::test]
async fn a_definition_that_changes_is_withheld_from_the_next_iteration_on() {
    let folder = folder("rug-pull");
    let mcp = Mcp::new([server("rug-pull", &folder)]);
    let status = mcp.clone();
    let executor = move |ctx: DispatchContext| {
        let status = status.clone();
        async move {
            if ctx.iteration() == 1 {
                // The server changes the definition during the call.
                let call = ctx.call("test__echo", json!({})).await;
                assert_eq!(call.text().await.as_deref(), Some("changed"));
                // In the same iteration the tool is still there, but a call is not sent: it waits for the new list.
                let call = ctx.call("test__echo", json!({})).await;
                let text = call.text().await.unwrap_or_default();
                assert!(text.contains("The call was not sent"), "{text}");
                assert_eq!(status.status()[0].withheld.len(), 1);
                return Ok(());
            }
            let names: Vec<String> = ctx
                .tools()
                .all()
                .iter()
                .map(|tool| tool.name().to_owned())
                .collect();
            ctx.answer(format!("{names:?}")).await?;
            Ok(())
        }
    };
    let runner = turnwright_core::runner(executor)
        .mcp(mcp.clone())
        .build()
        .unwrap();
    let outcome = runner.run("Go.").await;
    assert_eq!(outcome.text, "[]", "{:?}", outcome.error());
    let status = mcp.status().remove(0);
    assert_eq!(status.withheld[0].tool, "echo");
    assert!(
        status.withheld[0]
            .reason
            .contains("the definition of `echo` has changed")
    );
}

#[tokio::test]
async fn without_a_lock_file_nothing_is_offered_when_pins_are_required() {
    let folder = folder("unpinned");
    let lock = folder.join("mcp.lock.json");
    let mcp = |pinning| {
        Mcp::new([server("rug-pull", &folder)])
            .lock_file(&lock)
            .pinning(pinning)
    };
    let first = mcp(Pinning::Pinned);
    first.start().await.unwrap();
    let status = first.status().remove(0);
    assert_eq!(status.tools, [""; 0]);
    assert!(
        status.withheld[0].reason.contains("not in the lock file"),
        "{status:?}"
    );

    // Once it is pinned, it is offered.
    first.pins().write(&lock).unwrap();
    let second = mcp(Pinning::Pinned);
    let outcome = caller(second.clone(), "test__echo", json!({}))
        .run("Go.")
        .await;
    assert_eq!(outcome.text, "changed");

    // After a restart, the changed definition is withheld by the pins in the file.
    for pinning in [Pinning::Pinned, Pinning::TrustOnFirstUse] {
        let third = mcp(pinning);
        third.start().await.unwrap();
        let status = third.status().remove(0);
        assert_eq!(status.tools, [""; 0], "{status:?}");
        assert_eq!(
            status.differences[0].to_string(),
            "the definition of `echo` has changed"
        );
    }
    let unpinned = mcp(Pinning::Unpinned);
    unpinned.start().await.unwrap();
    assert_eq!(unpinned.status()[0].tools, ["test__echo"]);
}

#[tokio::test]
async fn an_edited_lock_file_is_an_error() {
    let folder = folder("edited");
    let lock = folder.join("mcp.lock.json");
    std::fs::write(&lock, r#"{"version": 1, "servers": {"test": {}}}"#).unwrap();
    let mcp = Mcp::new([server("", &folder)]).lock_file(&lock);
    let error = mcp.start().await.unwrap_err();
    assert!(error.message().contains("mcp.lock.json"), "{error}");
}

#[tokio::test]
async fn every_kind_of_change_is_withheld() {
    for mode in ["rug-pull-meta", "rug-pull-invisible", "rug-pull-rename"] {
        let folder = folder(mode);
        let mcp = Mcp::new([server(mode, &folder)]);
        let outcome = caller(mcp.clone(), "test__echo", json!({}))
            .run("Go.")
            .await;
        assert_eq!(outcome.text, "changed", "{mode}");
        while mcp.status()[0].differences.is_empty() {
            tokio::task::yield_now().await;
        }
        let status = mcp.status().remove(0);
        assert_eq!(status.tools, [""; 0], "{mode}: {status:?}");
    }
}

#[tokio::test]
async fn a_source_that_is_named_is_pinned_instead_of_the_command_line() {
    let folder = folder("source");
    let pins = async |source: Option<&str>| {
        let server = server("", &folder);
        let mcp = Mcp::new([match source {
            Some(source) => server.pin_source(source),
            None => server,
        }]);
        mcp.start().await.unwrap();
        let pins = mcp.pins();
        mcp.stop().await;
        pins.servers["test"].source.clone()
    };
    let one = pins(Some("${HOME}/server")).await;
    assert_eq!(one, pins(Some("${HOME}/server")).await);
    assert_ne!(one, pins(Some("${HOME}/other")).await);
    assert_ne!(one, pins(None).await);
}
