//! A custom artifact kind. The library does not know CSV: a name and two queries let a model ask a table of 50,000
//! rows for its columns, and for the rows that it needs.
//!
//! Runs offline: `cargo run -p turnwright --example csv_artifact`

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use turnwright::artifact::{ArtifactKind, ArtifactRead, Query, SpooledArtifact};
use turnwright::artifact_tools::build_artifact_tools;
use turnwright::prelude::*;
use turnwright::{Effects, Error};

/// The kind that a tool declares for its output. Kinds with the same name are the same, so choose a unique one.
const CSV: ArtifactKind = ArtifactKind::new("csv", || &QUERIES);

/// Each query becomes a tool as soon as there is an artifact of the kind. The model sees the name, the description
/// and the argument type as a schema, to which `callId` is added: it selects the artifact.
static QUERIES: LazyLock<Vec<Query>> = LazyLock::new(|| {
    let columns_text = "The columns of a table, with the values of its first rows.";
    let select_text = "The rows of a table in which a column has a value.";
    vec![
        Query::new("artifact_csv_columns", columns_text, columns),
        Query::new("artifact_csv_select", select_text, select),
    ]
});

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
struct Select {
    /// Column to look at.
    column: String,
    /// What the column is to contain.
    value: String,
    /// Whether the value must match exactly.
    #[serde(default)]
    exact: bool,
    /// Columns to show.
    show: Vec<String>,
    /// Number of matching rows to skip.
    #[serde(default)]
    skip: u64,
}

async fn columns(table: SpooledArtifact, _: Nothing) -> Result<String, ToolError> {
    // A page accepts lines as long as they fit, and reserves room for notes about the rest.
    let mut page = table.page();
    // The work runs on a thread where it may block, over a plain `std::io::Read`, so any parser works. This one
    // streams, so memory does not grow with the table.
    let work = move |read: ArtifactRead| {
        let mut csv = csv::Reader::from_reader(read);
        let mut columns: Vec<String> = csv.headers()?.iter().map(str::to_owned).collect();
        let mut rows = 0;
        for row in csv.records() {
            let row = row?;
            for (column, value) in columns.iter_mut().zip(&row).filter(|_| rows < 3) {
                *column += if rows == 0 { ": " } else { ", " };
                *column += value;
            }
            rows += 1;
        }
        if !columns.iter().all(|column| page.line(column)) {
            page.note("not all columns are shown: artifact_head shows the names");
        }
        page.note(&format!("{} columns, {rows} rows", columns.len()));
        Ok(page.finish())
    };
    table.read_with(work).await
}

async fn select(table: SpooledArtifact, asked: Select) -> Result<String, ToolError> {
    let mut page = table.page();
    let work = move |read: ArtifactRead| {
        let mut csv = csv::Reader::from_reader(read);
        let names = csv.headers()?.clone();
        let column = place(&names, &asked.column)?;
        let show = asked.show.iter().map(|name| place(&names, name));
        let show = show.collect::<Result<Vec<usize>, _>>()?;
        let (mut found, mut next) = (0, asked.skip);
        for row in csv.records() {
            let row = row?;
            let value = row.get(column).unwrap_or_default();
            if value != asked.value && (asked.exact || !value.contains(&asked.value)) {
                continue;
            }
            // After a row did not fit, rows are only counted. A row that is too long for any page is truncated, so
            // that every page shows something.
            if found == next {
                let values: Vec<&str> = show.iter().filter_map(|at| row.get(*at)).collect();
                let line = values.join(" | ");
                let fits = page.line(&line) || (page.is_empty() && page.part_of_line(&line) > 0);
                next += u64::from(fits);
            }
            found += 1;
        }
        page.note(&format!("rows {}..{next} of {found}", asked.skip));
        if next < found {
            page.note(&format!("continue with skip={next}"));
        }
        Ok(page.finish())
    };
    table.read_with(work).await
}

/// If the query cannot be answered, the message for the model lists what it could have asked.
fn place(names: &csv::StringRecord, wanted: &str) -> Result<usize, ToolError> {
    names.iter().position(|name| name == wanted).ok_or_else(|| {
        let names = names.iter().collect::<Vec<_>>().join(", ");
        ToolError::not_found(format!("no column {wanted:?}"))
            .for_model(format!("There is no such column. Columns: {names}."))
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let orders = Tool::dynamic("orders", json!({ "type": "object" }))
        .description("All orders of the year.")
        .effects(Effects::ReadOnly)
        .artifact_kind(CSV)
        .handler(|_: Value, _: ToolContext| async {
            let cities = ["Oslo", "Paris", "Rome", "New York"].iter().cycle();
            let row = |(n, city): (u32, &&str)| format!("{n},{city},{}.50\n", n % 97);
            let rows: String = (0..50_000).zip(cities).map(row).collect();
            format!("id,city,total\n{rows}")
        })
        .build()?;
    let tools = ToolRegistry::new([orders])?;
    let ctx = DispatchContext::builder().tools(tools).build();
    let call = ctx.call("orders", "{}").await;

    // Tools for the current artifacts. They use the same call path and contract as all other tools.
    for tool in build_artifact_tools(ctx.turn())?.all() {
        ctx.tools().register_overwriting(tool);
    }
    let all = json!({ "callId": call.id() });
    let rows = json!({ "callId": call.id(), "column": "city", "value": "New", "show": ["id"] });
    let wrong = json!({ "callId": call.id(), "column": "town", "value": "Rome", "show": ["id"] });
    for (tool, args) in [("columns", all), ("select", rows), ("select", wrong)] {
        println!("artifact_csv_{tool}({args})");
        let answer = ctx.call(format!("artifact_csv_{tool}"), args).await;
        let answer = answer.text().await.unwrap_or_default();
        match answer.lines().collect::<Vec<_>>().as_slice() {
            [a, b, .., y, z] if answer.len() > 500 => println!("  {a}\n  {b}\n  …\n  {y}\n  {z}\n"),
            lines => println!("  {}\n", lines.join("\n  ")),
        }
    }
    Ok(())
}
