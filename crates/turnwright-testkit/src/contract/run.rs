//! One run: values made, tried and counted.

use std::collections::BTreeMap;

use serde_json::Value;
use turnwright_core::{Error, Tool};

use super::breaking::{self, Broken};
use super::document::Document;
use super::finding::{Finding, FindingKind};
use super::generate::{Generator, Guide};
use super::judge::Judge;
use super::place;
use super::report::Report;
use super::rng::Rng;
use super::shrink::shrunk;
use super::tally::Tally;
use super::tour::{Stop, tour};
use super::verdict::Verdict;

/// Attempts to make one accepted value.
const ATTEMPTS: usize = 10;
/// After so many cases without a value it is time to ask whether any more will come.
const HOPELESS: usize = 40;
/// After so many cases it is seen anew which parts of the document no value has reached.
const LOOK_AROUND: usize = 10;
/// The check tells no more faults than these; the one at the broken place may be among those it left out.
const FAULTS_TOLD: usize = 20;

pub(crate) fn run(tool: &Tool, cases: usize, seed: u64) -> Report {
    let doc = Document::new(tool.schema().document());
    let mut run = Run {
        tool,
        doc: &doc,
        rng: Rng::new(seed),
        guide: Guide::default(),
        tally: Tally::default(),
        findings: BTreeMap::new(),
        report: Report {
            tool: tool.name().to_owned(),
            seed,
            accepted: 0,
            by_trial: 0,
            refused: 0,
            broken: 0,
            missed: 0,
            dropped: 0,
            per_keyword: BTreeMap::new(),
            skipped: Vec::new(),
            findings: Vec::new(),
        },
    };
    for case in 0..cases {
        if case % LOOK_AROUND == 0 {
            run.guide.look_for(run.tally.unreached(&doc));
        }
        run.case();
        if run.is_hopeless() {
            break;
        }
    }
    let Run {
        tally,
        findings,
        mut report,
        ..
    } = run;
    report.per_keyword = tally.per_keyword(&doc);
    report.skipped = tally.skipped(&doc);
    report.findings = findings.into_values().collect();
    report
}

struct Run<'a, 'd> {
    tool: &'a Tool,
    doc: &'a Document<'d>,
    rng: Rng,
    guide: Guide,
    tally: Tally<'d>,
    /// One for each kind and place: a hundred values that show the same are one finding.
    findings: BTreeMap<(FindingKind, String), Finding>,
    report: Report,
}

impl<'d> Run<'_, 'd> {
    fn case(&mut self) {
        let Some(value) = self.candidate() else {
            self.report.missed += 1;
            return;
        };
        if let Err(error) = self.tool.probe(&value) {
            self.report.refused += 1;
            self.refusal(&value, &error);
            return;
        }
        self.report.accepted += 1;
        let stops = tour(self.doc, &value);
        self.tally.accepted(&stops);
        if let Some((stop, broken)) = self.broken(&value, stops) {
            self.report.broken += 1;
            self.tally.broken(&stop);
            self.judge_broken(&stop, broken);
        }
    }

    /// Whether the run must fail for want of values, so that there is no point in going on.
    fn is_hopeless(&self) -> bool {
        let found = self.report.accepted + self.report.refused;
        self.report.missed >= HOPELESS && found * 10 < self.report.missed
    }

    /// A value that the document accepts.
    fn candidate(&mut self) -> Option<Value> {
        for _ in 0..ATTEMPTS {
            let Some(value) = Generator::new(self.doc, &mut self.rng, &mut self.guide).whole()
            else {
                continue;
            };
            match Judge::strict(self.doc).valid(self.doc.root, &value) {
                Verdict::Valid => return Some(value),
                Verdict::Unknown if self.tool.schema().accepts(&value) => {
                    self.report.by_trial += 1;
                    return Some(value);
                }
                Verdict::Unknown | Verdict::Invalid => {}
            }
        }
        None
    }

    /// The value broken by the keyword that had the least attention so far, or by the next that can be broken.
    fn broken(&mut self, value: &Value, mut stops: Vec<Stop<'d>>) -> Option<(Stop<'d>, Broken)> {
        self.rng.shuffle(&mut stops);
        stops.sort_by_key(|stop| self.tally.attention(stop));
        for stop in stops.into_iter().take(12) {
            let mut generator = Generator::new(self.doc, &mut self.rng, &mut self.guide);
            match breaking::broken(&mut generator, value, &stop) {
                Ok(broken) => return Some((stop, broken)),
                Err(why) => {
                    self.report.dropped += usize::from(why == breaking::Unbroken::Rescued);
                    self.tally.unbroken(&stop, why);
                }
            }
        }
        None
    }

    fn refusal(&mut self, value: &Value, error: &Error) {
        let kind = refusal_kind(error);
        let still = |value: &Value| {
            let accepted = match Judge::strict(self.doc).valid(self.doc.root, value) {
                Verdict::Valid => true,
                Verdict::Unknown => self.tool.schema().accepts(value),
                Verdict::Invalid => false,
            };
            accepted
                && self
                    .tool
                    .probe(value)
                    .is_err_and(|error| refusal_kind(&error) == kind)
        };
        let value = shrunk(value, still);
        let (pointer, said) = match self.tool.probe(&value) {
            Err(error) => (
                error
                    .faults()
                    .first()
                    .map(|fault| fault.pointer.clone())
                    .unwrap_or_default(),
                told(&error),
            ),
            Ok(_) => (String::new(), told(error)),
        };
        self.note(Finding {
            kind,
            value,
            pointer,
            keyword: None,
            said,
            times: 1,
        });
    }

    fn judge_broken(&mut self, stop: &Stop<'d>, broken: Broken) {
        let Broken { value, expected } = broken;
        let keyword = place::join(self.doc.pointer(stop.schema), stop.keyword);
        let (kind, said) = match self.tool.probe(&value) {
            Ok(_) => (
                FindingKind::BrokenAccepted,
                "nothing: it was accepted".to_owned(),
            ),
            Err(error) if error.code().as_str() != "E_INVALID_TOOL_ARGS" => {
                (FindingKind::OtherError, told(&error))
            }
            Err(error) if is_deserialisation(&error) => {
                (FindingKind::BrokenPassedCheck, told(&error))
            }
            Err(error) => {
                let faults = error.faults();
                let found = faults.iter().any(|fault| {
                    let inside = |place: &String| place::is_inside(&fault.pointer, place);
                    expected.contains(&fault.pointer)
                        || may_be_a_branch(&keyword) && expected.iter().any(inside)
                });
                if found || faults.len() >= FAULTS_TOLD {
                    return;
                }
                (FindingKind::FaultElsewhere, told(&error))
            }
        };
        let pointer = expected.into_iter().next().unwrap_or_default();
        self.note(Finding {
            kind,
            value,
            pointer,
            keyword: Some(keyword),
            said,
            times: 1,
        });
    }

    fn note(&mut self, finding: Finding) {
        // Items of one array and keys of one map are one place.
        let place = finding.keyword.clone().unwrap_or_else(|| {
            finding
                .pointer
                .split('/')
                .map(|token| {
                    if token.parse::<usize>().is_ok() {
                        "*"
                    } else {
                        token
                    }
                })
                .collect::<Vec<_>>()
                .join("/")
        });
        let known = self
            .findings
            .entry((finding.kind, place))
            .and_modify(|known| {
                known.times += 1;
            });
        let known = known.or_insert_with(|| finding.clone());
        if finding.value.to_string().len() < known.value.to_string().len() {
            *known = Finding {
                times: known.times,
                ..finding
            };
        }
    }
}

fn refusal_kind(error: &Error) -> FindingKind {
    if error.code().as_str() != "E_INVALID_TOOL_ARGS" {
        FindingKind::OtherError
    } else if is_deserialisation(error) {
        FindingKind::TypeRefuses
    } else {
        FindingKind::CheckRefuses
    }
}

/// Whether a keyword may belong to a branch of a union. Where only one branch can be meant, its faults are told at their own
/// places inside the value, and none at the value itself.
fn may_be_a_branch(keyword: &str) -> bool {
    let in_union = |token: &str| matches!(token, "anyOf" | "oneOf" | "$defs" | "definitions");
    keyword.split('/').any(in_union)
}

/// Whether the check was passed, and the type said no.
fn is_deserialisation(error: &Error) -> bool {
    !error.faults().is_empty()
        && error
            .faults()
            .iter()
            .all(|fault| fault.rule == "deserialize")
}

fn told(error: &Error) -> String {
    // What a type says of its arguments is for operators alone, and stands in the error's own text.
    if is_deserialisation(error) {
        return error.to_string();
    }
    let faults: Vec<String> = error
        .faults()
        .iter()
        .map(|fault| format!("{}: {} ({})", fault.pointer, fault.message, fault.rule))
        .collect();
    if faults.is_empty() {
        error.to_string()
    } else {
        faults.join("; ")
    }
}
