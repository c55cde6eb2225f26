//! The contract of a tool in a program in which `serde_json` keeps all digits of numbers.

use serde_json::{json, Value};
use std::sync::Arc;
use turnwright_core::record::{Record, RecordKind, ByteResolver, ToolCall};
use turnwright_core::spool::MemorySpool;
use turnwright_core::{DispatchContext, Tool, ToolContext};
use turnwright_core::call::checksum;
use turnwright_core::schema::{RawArgs, Schema};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Args {
    #[schemars(range(min = 0.5, max = 2.5))]
    share: f64,
    total: i64,
    more: Option<f64>,
}

fn tool() -> Tool {
    Tool::typed::<Args>("split")
        .description("Splits.")
        .handler(|args: Args, _: ToolContext| async move {
            format!("{} {} {:?}", args.share, args.total, args.more)
        })
        .build()
        .expect("the tool is well defined")
}

fn main() {
    let exact: Value = serde_json::from_str("1.50").expect("a number");
    assert_eq!(exact.to_string(), "1.50", "the feature is enabled");

    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(async {
        let ctx = DispatchContext::standalone();
        let run = |args: RawArgs| {
            let (tool, ctx) = (tool(), ctx.clone());
            async move { tool.call(&ctx, args).await }
        };
        let text = r#"{"share": 1.250, "total": 2.0, "more": "0.5"}"#;
        for args in [
            text.into(),
            serde_json::from_str::<Value>(text).expect("JSON").into(),
        ] {
            let output = run(args).await.expect("the arguments fit");
            assert_eq!(output.as_text(), Some("1.25 2 Some(0.5)"));
        }
        let error = run(r#"{"share": 2.75, "total": 2.5}"#.into())
            .await
            .expect_err("too much");
        let faults: Vec<&str> = error
            .faults()
            .iter()
            .map(|fault| fault.pointer.as_str())
            .collect();
        assert_eq!(faults, ["/share", "/total"], "{error}");
        assert!(run(r#"{"share": 1e400, "total": 1}"#.into()).await.is_err());
    });

    let schema = Schema::from_document(json!({
        "type": "object", "properties": { "n": { "type": "number", "multipleOf": 0.25, "default": 0.75 }, "any": {} },
    }));
    let schema = schema.expect("a schema");
    assert_eq!(
        schema.check("{}").expect("a default").value(),
        &json!({ "n": 0.75 })
    );
    assert!(schema.check(r#"{"n": 1.3}"#).is_err());
    // A fraction is not a level, and an object is not a number.
    let deep = format!(r#"{{"any": {}1.5{}}}"#, "[".repeat(127), "]".repeat(127));
    assert!(schema.check(deep).is_ok());
    for name in ["Number", "RawValue"] {
        let text = format!(r#"{{"any": {{"$serde_json::private::{name}": "1.5"}}}}"#);
        let error = schema.check(text).expect_err("a reserved key");
        assert!(
            error.to_string().contains("$serde_json::private::"),
            "{error}"
        );
    }

    // Every accepted value can be stored and read back.
    let reopen = ByteResolver::new(Arc::new(MemorySpool::default()));
    let huge: Value = serde_json::from_str("[1e400]").expect("a number");
    let fraction: Value = serde_json::from_str("[1.50, 0.1234567890123456789]").expect("numbers");
    for args in [huge, fraction] {
        let call = ToolCall::builder("split", args).build().expect("a record");
        let stored = Record::from(call).to_json().expect("storable");
        Record::from_json(RecordKind::ToolCall, &stored, &reopen).expect("readable");
    }
    println!(
        "{}",
        checksum(
            "split",
            r#"{"share": 1.50, "n": 1e2, "big": 12345678901234567890123}"#
        )
    );
}
