//! One run: generates, tests and counts values.

use std::collections::{BTreeMap, HashSet};
use std::panic::resume_unwind;

use serde_json::Value;
use turnwright_core::{Error, Tool};

use super::coverage::{Coverage, Site, Unbroken};
use super::document::{Address, Document, Object};
use super::finding::{Finding, FindingKind};
use super::generator::{FUEL, Generator};
use super::mutation::mutations;
use super::repair::{is_promised, is_repairable};
use super::report::Report;
use super::shrink::shrunk;
use super::validator::{Validator, Violations};
use crate::pointer;
use fastrand::Rng;

/// The number of attempts to generate one accepted value.
const ATTEMPTS: usize = 10;
/// The number of cases without a value after which the run may stop.
const HOPELESS: usize = 40;
/// The number of cases between two updates of the unreached schemas.
const LOOK_AROUND: usize = 10;
/// A check reports at most this many faults. The one at the broken location may be among the rest.
const MAX_FAULTS: usize = 20;
/// The stack size for validation, which recurses: at most 64 schemas at each of 18 levels. The system commits only
/// the memory that is used.
const STACK: usize = 128 << 20;

/// Runs on a thread with a large stack.
pub(crate) fn run(tool: &Tool, cases: usize, seed: u64) -> Report {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        match thread.spawn_scoped(scope, || run_here(tool, cases, seed)) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => run_here(tool, cases, seed),
        }
    })
}

fn run_here(tool: &Tool, cases: usize, seed: u64) -> Report {
    let doc = Document::new(tool.schema().document());
    let validator = Validator::new(&doc);
    let mut run = Run {
        tool,
        doc: &doc,
        validator: &validator,
        rng: Rng::with_seed(seed),
        unreached: HashSet::new(),
        coverage: Coverage::new(&doc),
        findings: BTreeMap::new(),
        report: Report {
            tool: tool.name().to_owned(),
            seed,
            ..Report::default()
        },
    };
    for case in 0..cases {
        if case % LOOK_AROUND == 0 {
            run.unreached = run.coverage.unreached();
        }
        run.case();
        if run.is_hopeless() {
            break;
        }
    }
    let mut report = run.report;
    report.per_keyword = run.coverage.per_keyword();
    report.skipped = run.coverage.skipped();
    report.findings = run.findings.into_values().collect();
    report
}

struct Run<'a, 'd> {
    tool: &'a Tool,
    doc: &'a Document<'d>,
    validator: &'a Validator<'a, 'd>,
    rng: Rng,
    unreached: HashSet<Address>,
    coverage: Coverage<'a, 'd>,
    /// One per kind and location: a hundred values with the same violation are one finding.
    findings: BTreeMap<(FindingKind, String), Finding>,
    report: Report,
}

impl<'d> Run<'_, 'd> {
    fn case(&mut self) {
        let Some((value, applied)) = self.candidate() else {
            self.report.missed += 1;
            return;
        };
        match self.tool.probe(&value) {
            Err(error) => {
                self.report.refused += 1;
                return self.note_refused(&value, &error);
            }
            Ok(checked) if !is_promised(self.doc, &value, checked.value(), true) => {
                let answer = format!("it was changed to {}", checked.value());
                let (kind, place) = (FindingKind::Changed, String::new());
                self.note(kind, value.clone(), place, None, answer);
            }
            Ok(_) => {}
        }
        self.report.accepted += 1;
        let mut sites = self.coverage.sites(&applied, &value);
        self.coverage.count_accepted(&sites);
        self.rng.shuffle(&mut sites);
        sites.sort_by_key(|site| self.coverage.attempts(site));
        for site in sites.into_iter().take(12) {
            match self.try_broken(&value, &site) {
                Ok(()) => break,
                Err(reason) => {
                    self.report.dropped += usize::from(reason == Unbroken::Rescued);
                    self.coverage.count_failure(&site, reason);
                }
            }
        }
    }

    /// Returns `true` if the run must fail for lack of values, so that more cases are useless.
    fn is_hopeless(&self) -> bool {
        let found = self.report.accepted + self.report.refused;
        self.report.missed >= HOPELESS && found * 10 < self.report.missed
    }

    fn generator(&mut self) -> Generator<'_, 'd> {
        Generator {
            doc: self.doc,
            validator: self.validator,
            rng: &mut self.rng,
            unreached: &self.unreached,
            fuel: FUEL,
            applied: Vec::new(),
            uncertain: false,
        }
    }

    /// Returns a value that the document accepts, and the schemas that applied to its parts.
    fn candidate(&mut self) -> Option<(Value, Vec<(&'d Object, String)>)> {
        for _ in 0..ATTEMPTS {
            let mut generator = self.generator();
            let made = generator.root();
            let (applied, uncertain) = (generator.applied, generator.uncertain);
            let Some(value) = made else {
                continue;
            };
            match self.validator.validate(&value) {
                Ok(()) if !uncertain => return Some((value, applied)),
                Err(violations) if violations.certain => {}
                _ if self.tool.schema().accepts(&value) => {
                    self.report.by_trial += 1;
                    return Some((value, applied));
                }
                _ => {}
            }
        }
        None
    }

    /// Breaks a value at a site and tests the result.
    fn try_broken(&mut self, value: &Value, site: &Site<'d>) -> Result<(), Unbroken> {
        let part = value.pointer(&site.at).unwrap_or(value);
        let mut parts =
            mutations(&mut self.generator(), site, part).ok_or(Unbroken::OnlyApplies)?;
        self.rng.shuffle(&mut parts);
        let mut reason = Unbroken::NothingBroken;
        for part in parts {
            let Some(broken) = pointer::replaced(value, &site.at, part) else {
                continue;
            };
            match self.validator.validate(&broken) {
                Err(violations) if violations.certain && violations.is_by(&site.pointer) => {
                    if self.judge(&broken, site, &violations) {
                        return Ok(());
                    }
                    reason = Unbroken::Rescued;
                }
                Err(_) => {}
                Ok(()) => {
                    let part = broken.pointer(&site.at).unwrap_or(&broken);
                    let rescued = !self.validator.part_accepts(site.schema, part);
                    reason = if rescued { Unbroken::Rescued } else { reason };
                }
            }
        }
        Err(reason)
    }

    /// Tests a value that the document rejects. Returns `false` if a permitted repair makes it valid.
    fn judge(&mut self, value: &Value, site: &Site<'d>, violations: &Violations) -> bool {
        let repaired = |after: &Value| {
            let broken = self.validator.validate(after);
            !broken.is_err_and(|violations| violations.certain)
                && is_promised(self.doc, value, after, false)
        };
        let fault = match self.tool.probe(value) {
            Ok(checked) if repaired(checked.value()) => return false,
            Ok(checked) => {
                let answer = if checked.value() == value {
                    "no error: it was accepted".to_owned()
                } else {
                    format!("it was accepted as {}", checked.value())
                };
                Some((FindingKind::BrokenAccepted, answer))
            }
            Err(error) if error.code().as_str() != "E_INVALID_TOOL_ARGS" => {
                Some((FindingKind::OtherError, describe(&error)))
            }
            Err(error) if is_deserialisation(&error) => {
                let checked = self.tool.schema().check(value.clone());
                if checked.is_ok_and(|checked| repaired(checked.value())) {
                    return false;
                }
                Some((FindingKind::BrokenPassedCheck, describe(&error)))
            }
            Err(error) => {
                let mut places = error.faults().iter().map(|fault| &fault.pointer);
                let found = error.faults().len() >= MAX_FAULTS
                    || places.any(|at| is_expected(at, self.doc, value, site, violations));
                (!found).then(|| (FindingKind::FaultElsewhere, describe(&error)))
            }
        };
        self.report.broken += 1;
        self.coverage.count_broken(violations);
        if let Some((kind, answer)) = fault {
            let place = violations.places.first().unwrap_or(&site.at).clone();
            let keyword = Some(site.pointer.clone());
            self.note(kind, value.clone(), place, keyword, answer);
        }
        true
    }

    fn note_refused(&mut self, value: &Value, error: &Error) {
        let kind = kind_of_error(error);
        let shows = |value: &Value| {
            let accepted = match self.validator.validate(value) {
                Ok(()) => true,
                Err(violations) => !violations.certain && self.tool.schema().accepts(value),
            };
            let refused = |error: Error| kind_of_error(&error) == kind;
            accepted && self.tool.probe(value).is_err_and(refused)
        };
        let value = shrunk(value, shows);
        let shown = self.tool.probe(&value).err();
        let error = shown.as_ref().unwrap_or(error);
        let fault = error.faults().first();
        let pointer = fault.map(|fault| fault.pointer.clone()).unwrap_or_default();
        self.note(kind, value, pointer, None, describe(error));
    }

    fn note(
        &mut self,
        kind: FindingKind,
        value: Value,
        pointer: String,
        keyword: Option<String>,
        answer: String,
    ) {
        let place = keyword.clone().unwrap_or_else(|| without_indices(&pointer));
        let finding = Finding {
            kind,
            value,
            pointer,
            keyword,
            answer,
            times: 0,
        };
        let known = self.findings.entry((kind, place));
        let known = known.or_insert_with(|| finding.clone());
        let times = known.times + 1;
        if finding.value.to_string().len() < known.value.to_string().len() {
            *known = finding;
        }
        known.times = times;
    }
}

/// Returns `true` if a fault is reported where the document rejects the value.
fn is_expected(
    fault: &str,
    doc: &Document<'_>,
    value: &Value,
    site: &Site<'_>,
    violations: &Violations,
) -> bool {
    // The validator counts the items after a prefix from 0.
    let comparable = |place: &str| {
        if doc.has_prefixes {
            without_indices(place)
        } else {
            place.to_owned()
        }
    };
    let fault = comparable(fault);
    // A repair may have changed the value before the faults were found.
    let repairable = value.pointer(&site.at).is_none_or(is_repairable);
    let in_branch = repairable || is_in_union(&site.pointer);
    let mut places = violations.places.iter().map(|place| comparable(place));
    let (_, name) = fault.rsplit_once('/').unwrap_or_default();
    violations
        .names
        .iter()
        .any(|refused| pointer::join("", refused).get(1..) == Some(name))
        || places.any(|place| {
            fault == place
                || in_branch && pointer::is_inside(&fault, &place)
                || repairable && pointer::is_inside(&place, &fault)
        })
}

/// Returns a location in which all items of an array are the same.
fn without_indices(place: &str) -> String {
    let tokens = place.split('/').map(|token| match token.parse::<usize>() {
        Ok(_) => "*",
        Err(_) => token,
    });
    tokens.collect::<Vec<_>>().join("/")
}

fn kind_of_error(error: &Error) -> FindingKind {
    if error.code().as_str() != "E_INVALID_TOOL_ARGS" {
        FindingKind::OtherError
    } else if is_deserialisation(error) {
        FindingKind::TypeDisagrees
    } else {
        FindingKind::ValidValueInvalid
    }
}

/// Returns `true` if a keyword may belong to a branch of a union. If only one branch can be meant, its faults are
/// reported at their own locations inside the value, and none at the value itself.
fn is_in_union(keyword: &str) -> bool {
    let is_union = |token: &str| matches!(token, "anyOf" | "oneOf" | "$defs" | "definitions");
    keyword.split('/').any(is_union)
}

/// Returns `true` if the check accepted the value and the argument type rejected it.
fn is_deserialisation(error: &Error) -> bool {
    let mut faults = error.faults().iter();
    !error.faults().is_empty() && faults.all(|fault| fault.rule == "deserialize")
}

fn describe(error: &Error) -> String {
    // The message of a type is only for operators, so it is in the error's own text.
    if error.faults().is_empty() || is_deserialisation(error) {
        return error.to_string();
    }
    let faults = error.faults().iter();
    let faults =
        faults.map(|fault| format!("{}: {} ({})", fault.pointer, fault.message, fault.rule));
    faults.collect::<Vec<_>>().join("; ")
}
