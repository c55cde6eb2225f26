//! The definitions of the metrics.

/// A metric of this crate. Events carry only its name and its value: see [`METRICS`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Metric {
    /// The name.
    pub name: &'static str,
    /// The unit, in the notation of UCUM.
    pub unit: &'static str,
    /// What is measured.
    pub description: &'static str,
    /// The boundaries of the buckets of a histogram. Empty for a counter.
    pub boundaries: &'static [f64],
}

/// The boundaries that the conventions recommend for durations, in seconds.
const DURATION: &[f64] = &[
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];

/// The boundaries that the conventions recommend for tokens.
const TOKENS: &[f64] = &[
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

/// For what takes up to an hour, in seconds.
const MINUTES: &[f64] = &[
    0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0,
];

/// For what waits for a person, in seconds: up to a week.
const DAYS: &[f64] = &[
    1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 86_400.0, 604_800.0,
];

/// All metrics. The bridge to OpenTelemetry learns names and values from events. A view of the meter provider adds the rest:
///
/// ```
/// use turnwright_core::telemetry::METRICS;
///
/// let duration = METRICS.iter().find(|metric| metric.name == "gen_ai.client.operation.duration");
/// assert_eq!(duration.map(|metric| metric.unit), Some("s"));
/// ```
pub const METRICS: &[Metric] = &[
    Metric {
        name: "gen_ai.client.operation.duration",
        unit: "s",
        description: "GenAI operation duration.",
        boundaries: DURATION,
    },
    Metric {
        name: "gen_ai.client.token.usage",
        unit: "{token}",
        description: "Number of input and output tokens used.",
        boundaries: TOKENS,
    },
    Metric {
        name: "turnwright.turn.duration",
        unit: "s",
        description: "Duration of a turn, up to its end or suspension.",
        boundaries: MINUTES,
    },
    Metric {
        name: "turnwright.tool.duration",
        unit: "s",
        description: "Duration of one run of a tool's handler.",
        boundaries: DURATION,
    },
    Metric {
        name: "turnwright.tool.refusals",
        unit: "{call}",
        description: "Number of tool calls that were refused before they ran.",
        boundaries: &[],
    },
    Metric {
        name: "turnwright.gate.openings",
        unit: "{gate}",
        description: "Number of gates that were opened.",
        boundaries: &[],
    },
    Metric {
        name: "turnwright.gate.duration",
        unit: "s",
        description: "Time from the opening of a gate to its answer, timeout or abort.",
        boundaries: DAYS,
    },
];
