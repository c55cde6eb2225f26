//! What happens in a few turns, as data. Small, so that a failing script is readable.

use proptest::prelude::*;
use proptest::sample::select;

#[derive(Clone, Debug)]
pub(super) struct Script {
    pub(super) turns: Vec<TurnScript>,
    /// Whether all turns share one conversation.
    pub(super) shared: bool,
    /// Whether an approver answers without a gate.
    pub(super) approver: bool,
    pub(super) store: StoreScript,
    pub(super) parallel_calls: usize,
    pub(super) stream_capacity: usize,
    pub(super) iteration_limit: u32,
}

#[derive(Clone, Debug)]
pub(super) struct TurnScript {
    pub(super) iterations: Vec<Iteration>,
    pub(super) layers: Vec<Layer>,
    /// Whether there is a caller at the gates.
    pub(super) answered: bool,
    pub(super) reader: Reader,
    pub(super) cut: Option<Cut>,
}

#[derive(Clone, Debug)]
pub(super) struct Iteration {
    pub(super) says: Vec<Say>,
    pub(super) calls: Vec<Call>,
    /// The maximum time the executor waits for its calls.
    pub(super) patience: Option<Patience>,
    pub(super) end: End,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Patience {
    Millis(u64),
    /// How many times it polls them, at least once.
    Polls(usize),
}

/// Text in this many pieces.
#[derive(Clone, Copy, Debug)]
pub(super) enum Say {
    Text(usize),
    Thought(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Next,
    Ack,
    Nack,
    Fail,
    Panic,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) tool: Kind,
    pub(super) args: Args,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Args {
    Good(u8),
    NotJson,
    OutOfRange,
    Missing,
}

/// What a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Look,
    Note,
    Alone,
    Fails,
    Panics,
    Slow,
    Stuck,
    StuckLook,
    Blocks,
    Gate(Answer),
    Ask(Verdict),
    Rewrite(Rewrite),
    Large,
    Never,
    CallsOne,
    CallsTwo,
    Checked(Check),
    Cancels,
    Aborts,
    Acks,
    Nacks,
    /// The tool that the turn registered itself.
    Own,
    /// The tool that another turn registered.
    Others,
    Unknown,
}

/// What happens at a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Resolved,
    BadFirst,
    Twice,
    Rejected,
    Left,
}

/// What happens to a request for approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Granted,
    Edited,
    EditedBadly,
    Refused,
    Silence,
    Panic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rewrite {
    Well,
    Badly,
    ForEver,
    Denied,
    ThenAsk,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    Passes,
    Slow,
    Rejects,
    Panics,
}

#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) pipeline: Pipe,
    /// Of a dispatch. A turn passes its own layers once.
    pub(super) iteration: u32,
    pub(super) act: Act,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pipe {
    TurnInput,
    DispatchInput,
    DispatchOutput,
    TurnOutput,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Abort,
    AbortAfter,
    Cancel,
    Fail,
    FailAfter,
    Panic,
    ShortCircuit,
    Gate(Answer),
    Slow(u64),
    Yield,
    Register,
    /// In a dispatch only.
    Ack,
    Nack,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Reader {
    All,
    Slow,
    Leaves(usize),
    /// `run`, without answers.
    Absent,
}

/// What ends a turn from outside.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cut {
    Token(u64),
    Drop(u64),
    Deadline(u64),
    /// With the n-th event.
    AtEvent(usize),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct StoreScript {
    pub(super) pace: Pace,
    pub(super) fault: Option<(Fault, usize)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    AtOnce,
    /// Pending for a varying number of polls.
    Yields(usize),
    Sleeps(u64),
}

/// At the n-th batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Fails,
    Panics,
}

impl Kind {
    /// Whether it may end the turn or the dispatch from inside.
    pub(super) fn ends(self) -> bool {
        matches!(
            self,
            Kind::Cancels | Kind::Aborts | Kind::Acks | Kind::Nacks
        )
    }
}

pub(super) fn scripts(most_turns: usize) -> impl Strategy<Value = Script> {
    (
        prop::collection::vec(turn(), 1..=most_turns),
        any::<bool>(),
        any::<bool>(),
        store(),
        1_usize..4,
        1_usize..4,
        prop_oneof![6 => Just(8_u32), 1 => 1_u32..3],
    )
        .prop_map(
            |(turns, shared, approver, store, parallel_calls, stream_capacity, iteration_limit)| {
                Script {
                    turns,
                    shared,
                    approver,
                    store,
                    parallel_calls,
                    stream_capacity,
                    iteration_limit,
                }
            },
        )
}

fn turn() -> impl Strategy<Value = TurnScript> {
    (
        prop::collection::vec(iteration(), 0..4),
        prop_oneof![
            3 => Just(Vec::new()),
            4 => prop::collection::vec(layer(), 0..3),
        ],
        prop_oneof![3 => Just(true), 1 => Just(false)],
        prop_oneof![
            Just(Reader::All),
            Just(Reader::Slow),
            (0_usize..4).prop_map(Reader::Leaves),
            Just(Reader::Absent)
        ],
        prop_oneof![3 => Just(None), 2 => cut().prop_map(Some)],
    )
        .prop_map(|(iterations, layers, answered, reader, cut)| TurnScript {
            iterations,
            layers,
            answered,
            reader,
            cut,
        })
}

fn iteration() -> impl Strategy<Value = Iteration> {
    let say = prop_oneof![
        (1_usize..5).prop_map(Say::Text),
        (1_usize..5).prop_map(Say::Thought)
    ];
    (
        prop::collection::vec(say, 0..2),
        prop::collection::vec(call(), 0..5),
        prop_oneof![
            10 => Just(None),
            1 => (0_u64..20).prop_map(|millis| Some(Patience::Millis(millis))),
            1 => (1_usize..20).prop_map(|polls| Some(Patience::Polls(polls))),
        ],
        prop_oneof![
            8 => Just(End::Next),
            1 => Just(End::Ack),
            1 => Just(End::Nack),
            1 => Just(End::Fail),
            1 => Just(End::Panic),
        ],
    )
        .prop_map(|(says, calls, patience, end)| {
            // It is not predictable which calls an impatient executor leaves behind.
            let ends = calls.iter().any(|call: &Call| call.tool.ends());
            Iteration {
                says,
                calls,
                patience: patience.filter(|_| !ends),
                end,
            }
        })
}

fn call() -> impl Strategy<Value = Call> {
    let args = prop_oneof![
        12 => (0_u8..=100).prop_map(Args::Good),
        1 => Just(Args::NotJson),
        1 => Just(Args::OutOfRange),
        1 => Just(Args::Missing),
    ];
    (kind(), args).prop_map(|(tool, args)| Call { tool, args })
}

fn kind() -> impl Strategy<Value = Kind> {
    use Kind::*;
    let plain = vec![
        Look, Note, Alone, Fails, Panics, Slow, Stuck, StuckLook, Blocks, Large, Never, CallsOne,
        CallsTwo, Own, Others, Unknown,
    ];
    let checks = vec![Check::Passes, Check::Slow, Check::Rejects, Check::Panics];
    prop_oneof![
        14 => select(plain),
        3 => answer().prop_map(Gate),
        4 => verdict().prop_map(Ask),
        2 => rewrites().prop_map(Rewrite),
        2 => select(checks).prop_map(Checked),
        2 => select(vec![Cancels, Aborts, Acks, Nacks]),
    ]
}

fn rewrites() -> impl Strategy<Value = Rewrite> {
    use Rewrite::*;
    select(vec![Well, Badly, ForEver, Denied, ThenAsk])
}

fn answer() -> impl Strategy<Value = Answer> {
    use Answer::*;
    select(vec![Resolved, BadFirst, Twice, Rejected, Left])
}

fn verdict() -> impl Strategy<Value = Verdict> {
    use Verdict::*;
    select(vec![Granted, Edited, EditedBadly, Refused, Silence, Panic])
}

fn layer() -> impl Strategy<Value = Layer> {
    use Pipe::*;
    let pipeline = select(vec![TurnInput, DispatchInput, DispatchOutput, TurnOutput]);
    (pipeline, 1_u32..4, act()).prop_map(|(pipeline, iteration, act)| {
        let of_turn = matches!(pipeline, TurnInput | TurnOutput);
        Layer {
            pipeline,
            iteration: if of_turn { 0 } else { iteration },
            act: match act {
                Act::Ack | Act::Nack if of_turn => Act::Yield,
                act => act,
            },
        }
    })
}

fn act() -> impl Strategy<Value = Act> {
    use Act::*;
    prop_oneof![
        6 => select(vec![
            Abort, AbortAfter, Cancel, Fail, FailAfter, Panic, ShortCircuit, Yield, Register, Ack, Nack,
        ]),
        1 => answer().prop_map(Gate),
        1 => (1_u64..15).prop_map(Slow),
    ]
}

fn cut() -> impl Strategy<Value = Cut> {
    prop_oneof![
        2 => (0_u64..40).prop_map(Cut::Token),
        1 => (0_u64..40).prop_map(Cut::Drop),
        1 => (1_u64..40).prop_map(Cut::Deadline),
        2 => (1_usize..25).prop_map(Cut::AtEvent),
    ]
}

fn store() -> impl Strategy<Value = StoreScript> {
    let pace = prop_oneof![
        Just(Pace::AtOnce),
        (1_usize..6).prop_map(Pace::Yields),
        (1_u64..6).prop_map(Pace::Sleeps)
    ];
    let fault = (select(vec![Fault::Fails, Fault::Panics]), 1_usize..12);
    (
        pace,
        prop_oneof![4 => Just(None), 1 => fault.prop_map(Some)],
    )
        .prop_map(|(pace, fault)| StoreScript { pace, fault })
}
