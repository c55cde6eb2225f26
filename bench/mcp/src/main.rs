//! The cost of calls of MCP tools over standard input and output, compared with rmcp alone; the start of ten servers; the memory of
//! 1,600 tools; the tokens of real definitions with and without `find_tools`.
//!
//! `cargo run --release` prints the report; `-- --rounds 5 --slice-ms 20` makes it short. The definitions are read from the folder that
//! `TURNWRIGHT_VECTORS` names, else from `../shared/vectors` beside the project.

mod calls;
mod memory;
mod server;
mod start;
mod tokens;

use std::error::Error;

use turnwright_bench_measure::{
    MEDIAN, Plan, Row, Timings, grouped, header, locked, measure, rustc, verdict,
};

const LOCK: &str = include_str!("../Cargo.lock");

/// The goal: a call costs at most this many times what it costs by rmcp alone.
const OF_RMCP: f64 = 1.3;

fn main() -> Result<(), Box<dyn Error>> {
    let mut plan = Plan::new(20, 200);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "serve" => return server::serve(),
            "memory" => return memory::measure(),
            word => plan.option(word, &mut words)?,
        }
    }
    println!("{}", Report::measure(plan)?);
    Ok(())
}

/// One complete run.
struct Report {
    plan: Plan,
    timings: Timings,
    start: start::Started,
    memory: Result<memory::Used, String>,
    tokens: Result<tokens::Counted, String>,
}

impl Report {
    fn measure(plan: Plan) -> Result<Self, Box<dyn Error>> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let subjects = calls::Subjects::connect(&runtime)?;
        let timings = measure(&mut subjects.all(&runtime), plan);
        Ok(Report {
            plan,
            timings: Timings(timings),
            start: runtime.block_on(start::measure())?,
            memory: memory::in_a_child(),
            tokens: runtime
                .block_on(tokens::count())
                .map_err(|error| error.to_string()),
        })
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}; {}; {}.", rustc(), locked(LOCK, "rmcp"), self.plan)?;
        for section in calls::SECTIONS {
            header(f, section, &["median µs", "min µs", "spread", "of rmcp"])?;
            let bare = self.timings.of(section, calls::RMCP, MEDIAN);
            for timing in self.timings.section(section) {
                let row = Row {
                    timing,
                    unit: 1_000.0,
                    decimals: 1,
                };
                writeln!(f, "{row} {:.2} × |", MEDIAN(timing) / bare)?;
            }
        }
        header(f, "Goal", &["measured", "goal", ""])?;
        for section in calls::SECTIONS {
            let ours = self.timings.of(section, calls::OURS, MEDIAN);
            let ratio = ours / self.timings.of(section, calls::RMCP, MEDIAN);
            let met = verdict(ratio <= OF_RMCP);
            writeln!(
                f,
                "| {section}, of rmcp | {ratio:.2} × | {OF_RMCP} × | {met} |"
            )?;
        }
        header(f, "Start of servers, until their tools are listed", &["ms"])?;
        writeln!(f, "| one | {} |", grouped(self.start.one_ms, 1))?;
        writeln!(f, "| ten at once | {} |", grouped(self.start.ten_ms, 1))?;
        match &self.memory {
            Ok(used) => {
                header(
                    f,
                    "Memory of 1,600 tools, made from real definitions",
                    &["MiB", "KiB a tool"],
                )?;
                let mib = |bytes: f64| grouped(bytes / (1 << 20) as f64, 1);
                let each = |bytes: f64| grouped(bytes / used.tools as f64 / 1024.0, 1);
                writeln!(
                    f,
                    "| their JSON as text | {} | {} |",
                    mib(used.text),
                    each(used.text)
                )?;
                writeln!(
                    f,
                    "| resident, as tools | {} | {} |",
                    mib(used.resident),
                    each(used.resident)
                )?;
                writeln!(
                    f,
                    "\n{} tools were built, {} withheld.",
                    used.tools, used.withheld
                )?;
            }
            Err(why) => writeln!(f, "\nSKIPPED: memory of 1,600 tools: {why}")?,
        }
        match &self.tokens {
            Ok(counted) => tokens(f, counted),
            Err(why) => writeln!(f, "\nSKIPPED: tokens of real definitions: {why}"),
        }
    }
}

fn tokens(f: &mut std::fmt::Formatter<'_>, counted: &tokens::Counted) -> std::fmt::Result {
    let title = format!("Estimated tokens of {} real definitions", counted.tools);
    header(f, &title, &["tokens", "of all"])?;
    for (label, tokens) in [
        ("without `find_tools`", counted.all),
        ("with it, before a search", counted.hidden),
        ("with it, after one search", counted.after_one),
    ] {
        let (tokens, share) = (tokens as f64, tokens as f64 / counted.all as f64 * 100.0);
        writeln!(f, "| {label} | {} | {share:.1} % |", grouped(tokens, 0))?;
    }
    writeln!(
        f,
        "\nBudget: {} tokens. Of {} questions, the right tool is the first for {} and among the first five for {}.",
        grouped(tokens::BUDGET as f64, 0),
        counted.questions,
        counted.first,
        counted.among_five
    )
}
