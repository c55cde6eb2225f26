//! The script of the turns: a function of what they have done, so that it continues wherever it was cut off.

use std::sync::Arc;

use turnwright_core::{BoxError, DispatchContext, ToolCall};

use super::stages::Stage;
use super::world::World;

/// A turn of the script: its tool calls, one iteration after the other, and then its answer.
pub(crate) struct Planned {
    pub(crate) turn: &'static str,
    pub(crate) rounds: &'static [&'static [(&'static str, &'static str)]],
    /// The number of gates at which it always waits.
    pub(crate) gates: usize,
}

/// `$n` is the id of the n-th call of the conversation. Turns of one conversation follow each other.
pub(crate) const TURNS: &[Planned] = &[
    Planned {
        turn: "words-1",
        rounds: &[],
        gates: 0,
    },
    Planned {
        turn: "reads-1",
        rounds: &[
            &[("look_up", r#"{"n": 1}"#)],
            &[("look_up", r#"{"n": 2}"#), ("look_up", r#"{"n": 3}"#)],
        ],
        gates: 0,
    },
    Planned {
        turn: "writes-1",
        rounds: &[&[("pay", r#"{"n": 1}"#)], &[("pay", r#"{"n": 2}"#)]],
        gates: 0,
    },
    Planned {
        turn: "together-1",
        rounds: &[&[
            ("look_up", r#"{"n": 1}"#),
            ("pay", r#"{"n": 2}"#),
            ("alone", r#"{"n": 3}"#),
            ("look_up", r#"{"n": 4}"#),
            ("pay", r#"{"n": 5}"#),
            ("book", r#"{"n": 6}"#),
            ("transfer", r#"{"n": 7}"#),
        ]],
        gates: 0,
    },
    Planned {
        turn: "approval-1",
        rounds: &[&[("remove", r#"{"n": 1}"#), ("remove", r#"{"n": 2}"#)]],
        gates: 2,
    },
    Planned {
        turn: "input-1",
        rounds: &[&[("look_up", r#"{"n": 1}"#)]],
        gates: 1,
    },
    Planned {
        turn: "asks-1",
        rounds: &[&[("ask", r#"{"n": 1}"#)]],
        gates: 1,
    },
    Planned {
        turn: "confirms-1",
        rounds: &[&[("confirm", r#"{"n": 1}"#)]],
        gates: 1,
    },
    Planned {
        turn: "slow-1",
        rounds: &[&[("ask", r#"{"n": 1}"#)], &[("pay", r#"{"n": 2}"#)]],
        gates: 1,
    },
    Planned {
        turn: "large-1",
        rounds: &[
            &[("report", r#"{"n": 1}"#)],
            &[("export", r#"{"n": 2}"#)],
            &[(
                "artifact_grep",
                r#"{"callId": "$0", "pattern": "^line 700 "}"#,
            )],
        ],
        gates: 0,
    },
    Planned {
        turn: "large-2",
        rounds: &[&[("artifact_head", r#"{"callId": "$0", "n": 1}"#)]],
        gates: 0,
    },
    Planned {
        turn: "transfer-1",
        rounds: &[
            &[("transfer", r#"{"n": 1}"#)],
            &[("transfer", r#"{"n": 2}"#), ("transfer", r#"{"n": 3}"#)],
        ],
        gates: 0,
    },
    Planned {
        turn: "wire-1",
        rounds: &[&[("wire", r#"{"n": 1}"#), ("wire", r#"{"n": 2}"#)]],
        gates: 0,
    },
    Planned {
        turn: "checked-1",
        rounds: &[&[("book", r#"{"n": 1}"#)]],
        gates: 0,
    },
];

pub(crate) fn conversation_of(turn: &str) -> &str {
    turn.rsplit_once('-').unwrap().0
}

impl Planned {
    pub(crate) fn named(turn: &str) -> &'static Planned {
        let named = |planned: &&Planned| planned.turn == turn;
        TURNS.iter().find(named).unwrap()
    }

    pub(crate) fn conversation(&self) -> &'static str {
        conversation_of(self.turn)
    }

    pub(crate) fn question(&self) -> String {
        format!("Do what {} says.", self.turn)
    }

    pub(crate) fn answer(&self) -> String {
        format!("{} is done.", self.turn)
    }
}

/// The executor: proposes the next calls, or answers.
pub(crate) async fn decide(world: &World, ctx: DispatchContext) -> Result<(), BoxError> {
    let planned = Planned::named(ctx.turn().turn_id());
    let own = ctx.records().own_tool_calls();
    if let Some(open) = own.iter().find(|call| !call.is_complete()) {
        return Err(format!("{} is still open", open.tool()).into());
    }
    let mut made = own.len();
    for round in planned.rounds {
        if made == 0 {
            let all = ctx.records().all::<ToolCall>();
            let proposed = round.iter().map(|(tool, args)| {
                let args = with_ids(args, &all);
                ctx.propose(*tool, args)
            });
            let proposed: Vec<_> = proposed.collect();
            world.arrive(Stage::Proposed, planned.conversation());
            ctx.call_tools(proposed).await;
            return Ok(());
        }
        made = made
            .checked_sub(round.len())
            .ok_or("calls that were proposed together are not all on record")?;
    }
    if made > 0 {
        return Err("there are more calls than were proposed".into());
    }
    ctx.answer(planned.answer()).await?;
    Ok(())
}

fn with_ids(args: &str, calls: &[Arc<ToolCall>]) -> String {
    let mut args = args.to_owned();
    for (at, call) in calls.iter().enumerate() {
        args = args.replace(&format!("${at}\""), &format!("{}\"", call.id()));
    }
    args
}
