//! A tool and its contract: what the model sees, what is enforced, and what the model reads.
//!
//! Runs offline: `cargo run -p turnwright --example first_tool`

use turnwright::Error;
use turnwright::prelude::*;
use turnwright::schema::RawArgs;

/// Weather forecast for a city.
#[tool(effects = "read_only", timeout_secs = 10)]
async fn forecast(
    /// City to look up.
    #[arg(min_length = 1, example = "Paris")]
    city: &str,
    /// Days ahead.
    #[arg(default = 3, min = 1, max = 14)]
    days: u8,
    ctx: &ToolContext,
) -> Result<String, ToolError> {
    ctx.progress("asking the weather service");
    if city == "Atlantis" {
        return Err(ToolError::not_found("no row for city 'Atlantis' in db-7")
            .for_model("There is no forecast for this city."));
    }
    Ok(format!("{city}: sunny for {days} days"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let tool = forecast()?;
    println!("What the model sees, and what is enforced:\n");
    println!("{:#}\n", tool.schema().document());

    let ctx = DispatchContext::builder()
        .tools(ToolRegistry::new([tool])?)
        .build();
    ctx.turn()
        .events()
        .observe(|event| println!("  · {}", event.name()));

    for (why, name, args) in [
        (
            "a call with a number sent as a string",
            "forecast",
            r#"{"city": "Paris", "days": "5"}"#,
        ),
        ("a default is filled in", "forecast", r#"{"city": "Oslo"}"#),
        (
            "all faults at once; the handler does not run",
            "forecast",
            r#"{"city": "", "day": 99}"#,
        ),
        (
            "a repeated key",
            "forecast",
            r#"{"city": "Paris", "city": "Rome"}"#,
        ),
        ("truncated text", "forecast", r#"{"city": "Par"#),
        (
            "a tool that does not exist",
            "forcast",
            r#"{"city": "Paris"}"#,
        ),
        (
            "a failure: internal details are only for the operator",
            "forecast",
            r#"{"city": "Atlantis"}"#,
        ),
    ] {
        println!("{why}: {name}({args})");
        if let Ok(checked) = check(&ctx, name, args).await {
            for repair in checked.repairs() {
                let after = repair.after.clone().unwrap_or_default();
                println!(
                    "  · repair ({:?}) at {}: {after}",
                    repair.kind, repair.pointer
                );
            }
        }
        let record = ctx.call(name, args).await;
        let text = record.text().await.unwrap_or_default();
        let mark = if record.is_error() { '✗' } else { '✓' };
        println!("  {mark} {}\n", text.replace('\n', "\n    "));
    }

    println!("Equal calls have equal checksums, whatever the order of their keys:");
    for args in [
        r#"{"city": "Paris", "days": 5}"#,
        r#"{"days":5,"city":"Paris"}"#,
    ] {
        println!("  {}  {args}", turnwright::call::checksum("forecast", args));
    }
    Ok(())
}

/// Returns what the call path will report about the arguments, without running anything.
async fn check(
    ctx: &DispatchContext,
    name: &str,
    args: impl Into<RawArgs>,
) -> Result<turnwright::schema::CheckedArgs, Option<Error>> {
    let tool = ctx.tools().get(name).ok_or(None)?;
    tool.validate_in(ctx, args).await.map_err(Some)
}
