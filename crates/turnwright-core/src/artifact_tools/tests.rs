use super::readable::{Current, Readable};
use super::tool::{enumerated, stable};
use std::io;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::artifact::*;
use crate::effects::OnCollision;
use crate::error::Error;
use crate::record::{Retrievable, ToolCall, ToolResults};
use crate::spool::{ByteReader, ByteStream};
use crate::trust::TrustTier;
use crate::{
    DispatchContext, Effects, ErrorCode, Tool, ToolBuilder, ToolContext, ToolError, ToolRegistry,
};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Row {
    /// Which row.
    row: usize,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

static ROWS: LazyLock<Vec<Query>> = LazyLock::new(|| {
    vec![
        Query::new(
            "artifact_rows_get",
            "One row.",
            |artifact: SpooledArtifact, asked: Row| async move {
                let all = artifact.as_bytes().await?;
                let row = all.split(|byte| *byte == b'\n').nth(asked.row);
                let row = row.ok_or_else(|| Error::bad_artifact_query("there is no such row"))?;
                Ok::<_, Error>(String::from_utf8_lossy(row).into_owned())
            },
        ),
        Query::new(
            "artifact_rows_all",
            "All rows, unbounded.",
            |artifact: SpooledArtifact, _: Nothing| async move {
                let all = artifact.as_bytes().await?;
                Ok::<_, Error>(String::from_utf8_lossy(&all).into_owned())
            },
        ),
    ]
});
const ROWS_KIND: ArtifactKind = ArtifactKind::new("rows", || &ROWS);

fn handle(id: &str, text: &str, kind: ArtifactKind) -> Arc<ToolCall> {
    ToolCall::builder("made_by_hand", "{}")
        .id(id)
        .results(ToolResults::Artifacts(vec![SpooledArtifact::in_memory(
            text.to_owned(),
            kind,
        )]))
        .build()
        .unwrap()
}

fn names(registry: &ToolRegistry) -> Vec<String> {
    let all = registry.all();
    all.iter().map(|tool| tool.name().to_owned()).collect()
}

fn base() -> Vec<String> {
    let queries = text::queries().iter();
    queries.map(|query| query.name().to_owned()).collect()
}

fn noop(name: &str) -> ToolBuilder<Value> {
    Tool::dynamic(name, json!({ "type": "object" }))
        .description("Does nothing.")
        .handler(|_: Value, _: ToolContext| async { "" })
}

async fn ask(registry: &ToolRegistry, tool: &str, args: Value) -> Result<String, Error> {
    let ctx = DispatchContext::standalone();
    let tool = registry.get(tool).expect("the tool was built");
    let output = tool.call(&ctx, args).await?;
    Ok(output.as_text().unwrap().to_owned())
}

#[test]
fn tools_exist_only_with_artifacts_and_each_kind_adds_its_own() {
    let ctx = DispatchContext::standalone();
    assert!(names(&build_artifact_tools(ctx.turn()).unwrap()).is_empty());
    ctx.records().add(handle("a", "x", ArtifactKind::TEXT));
    assert_eq!(names(&build_artifact_tools(ctx.turn()).unwrap()), base());
    ctx.records().add(handle("b", "x", ROWS_KIND));
    let mut all = base();
    all.extend([
        "artifact_rows_get".to_owned(),
        "artifact_rows_all".to_owned(),
    ]);
    assert_eq!(names(&build_artifact_tools(ctx.turn()).unwrap()), all);
    assert_eq!(
        base(),
        [
            "artifact_head",
            "artifact_tail",
            "artifact_grep",
            "artifact_cat",
            "artifact_byte_length",
            "artifact_line_count",
            "artifact_estimate_tokens",
        ]
    );
}

#[test]
fn artifact_tools_are_ephemeral_read_only_untrusted_and_replace_on_collision() {
    let ctx = DispatchContext::standalone();
    ctx.records().add(handle("a", "x", ROWS_KIND));
    for policy in [ArtifactToolPolicy::Enumerated, ArtifactToolPolicy::Stable] {
        for tool in policy.build_tools(ctx.turn()).unwrap().all() {
            assert!(tool.is_ephemeral() && tool.is_artifact_tool() && !tool.is_trusted());
            assert_eq!(tool.on_collision(), OnCollision::Replace);
            assert_eq!(tool.effects(), Effects::ReadOnly);
        }
    }
    // Building and merging them repeatedly causes no collision.
    let merged = ToolRegistry::merge(
        [
            &build_artifact_tools(ctx.turn()).unwrap(),
            &build_artifact_tools(ctx.turn()).unwrap(),
        ],
        OnCollision::Error,
    );
    assert_eq!(merged.unwrap().all().len(), base().len() + 2);
}

#[test]
fn the_schema_lists_the_readable_ids_if_enumerated_and_is_constant_if_stable() {
    let ctx = DispatchContext::standalone();
    ctx.records().add(handle("a", "x", ArtifactKind::TEXT));
    let fingerprints = |policy: ArtifactToolPolicy| -> Vec<String> {
        let tools = policy.build_tools(ctx.turn()).unwrap().all();
        tools
            .iter()
            .map(|tool| tool.fingerprint().to_owned())
            .collect()
    };
    let checksum = |policy: ArtifactToolPolicy| {
        let tool = policy
            .build_tools(ctx.turn())
            .unwrap()
            .get("artifact_head")
            .unwrap();
        let document = tool.schema().document();
        assert_eq!(document["required"], json!(["callId"]));
        document["properties"]["callId"].clone()
    };
    let (stable, enumerated) = (
        fingerprints(ArtifactToolPolicy::Stable),
        fingerprints(ArtifactToolPolicy::Enumerated),
    );
    assert_eq!(
        checksum(ArtifactToolPolicy::Enumerated)["enum"],
        json!(["a"])
    );
    assert_eq!(checksum(ArtifactToolPolicy::Stable)["enum"], Value::Null);
    ctx.records().add(handle("b", "x", ArtifactKind::TEXT));
    assert_eq!(
        checksum(ArtifactToolPolicy::Enumerated)["enum"],
        json!(["a", "b"])
    );
    assert_eq!(fingerprints(ArtifactToolPolicy::Stable), stable);
    assert_ne!(fingerprints(ArtifactToolPolicy::Enumerated), enumerated);
}

#[test]
fn stable_tools_are_registered_with_the_first_tool_that_is_never_inline() {
    let tools = ToolRegistry::new([noop("small")
        .artifact_kind(ArtifactKind::JSON)
        .build()
        .unwrap()]);
    let ctx = DispatchContext::builder().tools(tools.unwrap()).build();
    assert!(names(&ArtifactToolPolicy::Stable.build_tools(ctx.turn()).unwrap()).is_empty());
    let large = noop("large").artifact_kind(ROWS_KIND).inline(Inline::Never);
    ctx.tools().register(large.build().unwrap()).unwrap();
    let promised = names(&ArtifactToolPolicy::Stable.build_tools(ctx.turn()).unwrap());
    assert_eq!(promised.len(), base().len() + 2);
    assert!(
        names(&build_artifact_tools(ctx.turn()).unwrap()).is_empty(),
        "enumerated: no ids to list"
    );
    ctx.records().add(handle("a", "x", ROWS_KIND));
    assert_eq!(
        names(&ArtifactToolPolicy::Stable.build_tools(ctx.turn()).unwrap()),
        promised
    );
}

#[tokio::test]
async fn the_error_for_an_unreadable_id_lists_the_readable_ones() {
    let ctx = DispatchContext::standalone();
    ctx.records()
        .add(handle("text-1", "one\ntwo", ArtifactKind::TEXT));
    ctx.records().add(handle("rows-1", "a\nb", ROWS_KIND));
    for policy in [ArtifactToolPolicy::Enumerated, ArtifactToolPolicy::Stable] {
        let built = policy.build_tools(ctx.turn()).unwrap();
        let got = ask(
            &built,
            "artifact_rows_get",
            json!({ "callId": "rows-1", "row": 1 }),
        )
        .await;
        assert_eq!(got.unwrap(), "b");
        for wrong in ["text-1", "missing"] {
            let asked = json!({ "callId": wrong, "row": 0 });
            let error = ask(&built, "artifact_rows_get", asked).await.unwrap_err();
            assert_eq!(error.code(), ErrorCode::INVALID_TOOL_ARGS);
            assert_eq!(error.faults()[0].pointer, "/callId");
            let text = error.model_text();
            assert!(text.contains("\"rows-1\""), "{text}");
        }
    }
    let promised = noop("later").artifact_kind(ROWS_KIND).inline(Inline::Never);
    let tools = ToolRegistry::new([promised.build().unwrap()]).unwrap();
    let ctx = DispatchContext::builder().tools(tools).build();
    let built = ArtifactToolPolicy::Stable.build_tools(ctx.turn()).unwrap();
    let error = ask(&built, "artifact_head", json!({ "callId": "x" }))
        .await
        .unwrap_err();
    assert!(error.model_text().contains("there are none yet"));
}

#[tokio::test]
async fn index_selects_one_of_several_artifacts_of_a_call() {
    let ctx = DispatchContext::standalone();
    let mixed = ToolResults::Artifacts(vec![
        SpooledArtifact::in_memory("zero", ROWS_KIND),
        SpooledArtifact::in_memory("one", ArtifactKind::TEXT),
    ]);
    let call = ToolCall::builder("t", "{}").id("c").results(mixed).build();
    ctx.records().add(call.unwrap());
    let built = build_artifact_tools(ctx.turn()).unwrap();
    let rows = |index: u64| {
        let args = json!({ "callId": "c", "index": index, "row": 0 });
        let built = built.clone();
        async move { ask(&built, "artifact_rows_get", args).await }
    };
    let plain = ask(
        &built,
        "artifact_rows_get",
        json!({ "callId": "c", "row": 0 }),
    )
    .await;
    assert_eq!(plain.unwrap(), "zero");
    assert_eq!(
        rows(1).await.unwrap_err().model_text(),
        "This artifact has kind text, which this tool cannot read."
    );
    assert_eq!(
        rows(2).await.unwrap_err().model_text(),
        "Artifact 2 does not exist. The result has 2, numbered from 0."
    );
    let head = ask(
        &built,
        "artifact_head",
        json!({ "callId": "c", "index": 1 }),
    )
    .await;
    assert!(head.unwrap().contains("one"));
}

#[tokio::test]
async fn answers_of_artifact_tools_do_not_become_artifacts() {
    let ctx = DispatchContext::standalone();
    ctx.records()
        .add(handle("a", &"x\n".repeat(9000), ROWS_KIND));
    let built = build_artifact_tools(ctx.turn()).unwrap();
    let tool = built.get("artifact_rows_all").unwrap();
    let record = tool.call_and_record(&ctx, json!({ "callId": "a" })).await;
    assert!(record.from_artifact_tool() && record.is_inline() && !record.is_trusted());
    let ToolResults::Text(answer) = record.results() else {
        panic!("{record:?}")
    };
    assert!(
        answer.len() <= 8 * 1024,
        "bounded, though the query did not bound it"
    );
    assert!(
        answer.ends_with(
            "more bytes omitted: an answer can have at most 8192 bytes. Request less at once.]"
        ),
        "{answer}"
    );
    assert_eq!(
        Readable::of(ctx.turn()).unwrap().ids().collect::<Vec<_>>(),
        ["a"]
    );
}

#[tokio::test]
async fn a_tool_reads_the_snapshot_it_was_built_from_and_holds_no_context() {
    let ctx = DispatchContext::standalone();
    ctx.records().add(handle("a", "first", ROWS_KIND));
    let built = ArtifactToolPolicy::Stable.build_tools(ctx.turn()).unwrap();
    ctx.records().add(handle("b", "second", ROWS_KIND));
    let weak = ctx.turn().downgrade();
    drop(ctx);
    assert!(
        weak.upgrade().is_none(),
        "the tools do not hold the dispatch"
    );
    let first = ask(
        &built,
        "artifact_rows_get",
        json!({ "callId": "a", "row": 0 }),
    )
    .await;
    assert_eq!(first.unwrap(), "first");
    let second = ask(
        &built,
        "artifact_rows_get",
        json!({ "callId": "b", "row": 0 }),
    )
    .await;
    assert_eq!(second.unwrap_err().code(), ErrorCode::INVALID_TOOL_ARGS);
}

#[tokio::test]
async fn retrievables_that_are_not_inline_are_readable_and_must_not_share_an_id_with_a_call() {
    let ctx = DispatchContext::standalone();
    let document = |id: &str, inline: bool| {
        let artifact = SpooledArtifact::in_memory("page", ROWS_KIND);
        Retrievable::artifact(artifact, TrustTier::FirstParty)
            .id(id)
            .inline(inline)
            .build()
            .unwrap()
    };
    ctx.records().add(document("doc", false));
    ctx.records().add(document("shown", true));
    ctx.records().add(handle("a", "x", ArtifactKind::TEXT));
    let built = build_artifact_tools(ctx.turn()).unwrap();
    assert_eq!(
        Readable::of(ctx.turn()).unwrap().ids().collect::<Vec<_>>(),
        ["a", "doc"]
    );
    let page = ask(
        &built,
        "artifact_rows_get",
        json!({ "callId": "doc", "row": 0 }),
    )
    .await;
    assert_eq!(page.unwrap(), "page");
    ctx.records().add(document("a", false));
    let error = build_artifact_tools(ctx.turn()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ARTIFACT_ID_COLLISION);
    assert!(error.message().contains("\"a\"") && !error.is_fatal());
}

#[test]
fn a_query_with_reserved_names_or_without_a_schema_is_rejected() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Taken {
        #[expect(dead_code, reason = "its name is what matters")]
        index: u8,
    }
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[expect(dead_code, reason = "its type is what matters")]
    struct Vast {
        n: u128,
    }
    static BAD: LazyLock<Vec<Query>> = LazyLock::new(|| {
        let answer = || std::future::ready(Ok::<_, ToolError>(String::new()));
        vec![
            Query::new("taken", "x", move |_, _: Taken| answer()),
            Query::new("vast", "x", move |_, _: Vast| answer()),
        ]
    });
    for (query, why) in BAD.iter().zip(["name `index` is reserved", "n"]) {
        let current = Arc::<Current>::default();
        let ids: [&str; 0] = [];
        for built in [enumerated(query, &ids, &current), stable(query, &current)] {
            let error = built.unwrap_err();
            assert_eq!(error.code(), ErrorCode::INVALID_INITIAL_TOOL_VALUE);
            let message = error.message();
            assert!(
                message.contains(query.name()) && message.contains(why),
                "{message}"
            );
        }
    }
}

#[tokio::test]
async fn size_and_tool_decide_whether_a_result_is_inlined() {
    let output = |bytes: usize, inline: Inline| {
        noop("t")
            .inline(inline)
            .handler(move |_: Value, _: ToolContext| async move { "x".repeat(bytes) })
            .build()
            .unwrap()
    };
    let standard = DispatchContext::standalone();
    let small = DispatchContext::builder().inline_limit(10).build();
    for (ctx, bytes, inline, expected) in [
        (&standard, 4096, Inline::ByLimit, true),
        (&standard, 4097, Inline::ByLimit, false),
        (&small, 10, Inline::ByLimit, true),
        (&small, 11, Inline::ByLimit, false),
        (&small, 100_000, Inline::Always, true),
        (&standard, 1, Inline::Never, false),
        (&standard, 0, Inline::Never, false),
        (&small, 20, Inline::UpTo(20), true),
        (&standard, 21, Inline::UpTo(20), false),
    ] {
        let record = output(bytes, inline).call_and_record(ctx, "{}").await;
        assert_eq!(record.is_inline(), expected, "{bytes} {inline:?}");
        assert_eq!(record.handles().is_empty(), expected);
    }
}

#[tokio::test]
async fn binary_results_become_handles_whatever_their_size() {
    let ctx = DispatchContext::standalone();
    let settled = |bytes: &'static [u8], stream: bool| {
        let tool = noop("t").handler(move |_: Value, _: ToolContext| async move {
            let (sender, pieces) = ByteStream::channel(4);
            if stream {
                sender.send(bytes).await.unwrap();
                return Ok(crate::ToolOutput::from(crate::spool::Body::Stream(pieces)));
            }
            Ok::<_, ToolError>(crate::ToolOutput::bytes(bytes))
        });
        let ctx = ctx.clone();
        async move { tool.build().unwrap().call_and_record(&ctx, "{}").await }
    };
    for stream in [false, true] {
        assert!(settled(b"text", stream).await.is_inline());
        assert!(!settled(b"\xff\xfe", stream).await.is_inline());
    }
}

#[tokio::test]
async fn a_read_error_keeps_its_advice_through_a_parser() {
    let artifact = SpooledArtifact::new(Arc::new(Broken), ArtifactKind::TEXT);
    let error = artifact.as_bytes().await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ARTIFACT_UNREADABLE);
    let parsed: Result<String, ToolError> = artifact
        .read_with(|read: ArtifactRead| Ok(io::read_to_string(read)?))
        .await;
    let error = parsed.unwrap_err();
    assert_eq!(
        error.model_text(),
        "The artifact could not be read at byte 0 of 10. It was not changed. Try again, or request a different part."
    );
    assert!(!error.model_text().contains("secret-host"));
    let panicked: Result<(), Error> = artifact.read_with(|_| panic!("oh")).await;
    assert_eq!(panicked.unwrap_err().code(), ErrorCode::ARTIFACT_UNREADABLE);
}

#[derive(Debug)]
struct Broken;

#[async_trait::async_trait]
impl ByteReader for Broken {
    fn len(&self) -> u64 {
        10
    }

    async fn read(&self, _: Range<u64>) -> io::Result<Bytes> {
        Err(io::Error::other("secret-host refused"))
    }

    fn read_now(&self, _at: u64, _into: &mut [u8]) -> Option<io::Result<usize>> {
        None
    }
}
