// The JSON of events and records. Generated from the code of Turnwright: do not edit.

/** A record of any kind. */
export type AnyRecord = TextRecord | MessageRecord | RetrievableRecord | ToolCallRecord | TurnRecord | GateRecord | LedgerRecord | LeaseRecord | ConversationInfoRecord;

/** The stored content of a tool result or a document. */
export type Artifact = {
  /** The kind of content, such as `text` or `json`. */
  kind: string;
  /** The number of bytes. */
  bytes: number;
  /** The content, if it is text of at most 1 MiB that the model sees inline. */
  text?: string;
};

/** The state of a call that may write. */
export type CallState = "started" | "done" | "failed" | "unknown";

/** How a prompt was compacted: what was replaced, and the estimated tokens before and after. */
export type Compacted = {
  /** The number of tool results that became handles. */
  handles: number;
  /** The number of records that were replaced by the summary, without those of earlier summaries. */
  records: number;
  /** The number of exchanges that were replaced by the summary, without those of earlier summaries. */
  exchanges: number;
  /** The id of the summary, a `Retrievable`. */
  summary: string | null;
  /** The model that summarised the records. */
  model: string | null;
  /** The estimated tokens of the prompt before. */
  tokensBefore: number;
  /** The estimated tokens of the prompt after. */
  tokensAfter: number;
};

/** Title, owner and labels of a conversation. */
export type ConversationInfoRecord = {
  kind: "conversation_info";
  title?: string;
  owner?: string;
  labels: { [key: string]: string };
};

/** A piece of a text. */
export type Delta = {
  /** The id of the record that the pieces become. */
  id: string;
  /** The number of bytes before this piece. */
  offset: number;
  /** The piece. */
  text: string;
};

/** What a call may change outside of the conversation. */
export type Effects = "read_only" | "writes";

/** One fault in the arguments. */
export type Fault = {
  /** The JSON pointer of the location. */
  pointer: string;
  /** The violated rule: a JSON Schema keyword, one of ours (`json`, `unique_keys`, `max_bytes`, `max_depth`, `deserialize`), or the name of an external check. */
  rule: string;
  /** What was expected. */
  expected: string;
  /** The value that was received, shortened to 80 characters, with control and bidirectional characters escaped. */
  got: string;
  /** The complete message, without the location. */
  message: string;
};

/** An answer at a gate: live through `Gates::answer`, or recorded for a suspended turn. */
export type GateAnswer = {
  /** Who answered, if that is known. */
  by?: string;
  /** A note for the record. */
  note?: string;
} & ({
  decision: "approve";
} | {
  decision: "edit";
  /** The arguments to run with. */
  args: unknown;
} | {
  decision: "deny";
  /** Why, for the model. */
  reason?: string;
} | {
  decision: "value";
  /** The value. */
  value: unknown;
} | {
  decision: "reject";
  /** Why, for the model. */
  reason: string;
});

/** A gate and its answer. */
export type GateRecord = {
  kind: "gate";
  id: string;
  turnId: string;
  /** The kind of gate. */
  name: string;
  /** The id of the call that waits, if any. */
  toolCall?: string;
  question: unknown;
  /** The JSON Schema that an answer must match, if the gate has one. */
  schema?: unknown;
  state: "open" | "resolved" | "rejected" | "unanswered";
  answer?: GateAnswer;
  openedAt: string;
  closedAt?: string;
};

/** The right to run turns of a conversation. */
export type LeaseRecord = {
  kind: "lease";
  /** The turn that is running or was interrupted, if there is one. */
  turnId?: string;
  /** When it expires unless it is renewed. */
  until: string;
};

/** A call that may write, and whether it took effect. */
export type LedgerRecord = {
  kind: "ledger";
  turnId: string;
  /** The id of the call. */
  toolCall: string;
  tool: string;
  /** The arguments that it ran with. */
  args: unknown;
  state: CallState;
  startedAt: string;
  endedAt?: string;
};

/** The level of a log entry. */
export type Level = "debug" | "info" | "warn" | "error";

/** A media item, without its bytes. */
export type Media = {
  id: string;
  kind: MediaKind;
  mimeType: string;
  /** The file name as received. */
  filename: string;
  /** The number of bytes, if it is known. */
  bytes?: number;
};

/** A kind of media. */
export type MediaKind = "image" | "audio" | "video" | "document";

/** A message. */
export type MessageRecord = {
  kind: "message";
  id: string;
  createdAt: string;
  updatedAt: string;
  author: "user" | "assistant" | "framework" | "agent";
  /** The name of the user, if it was set, or of the agent. */
  name?: string;
  text: string;
  media: Array<Media>;
};

/** The usage of one model response: tokens, model, finish reason and durations. */
export type ModelUsage = {
  /** The model that answered, if it is known. */
  model: string | null;
  /** Why the model stopped, if it is known. */
  finishReason: string | null;
  /** The tokens of this response. */
  usage: Usage;
  /** The time from the request to the first piece of the response. */
  timeToFirstTokenMs: number | null;
  /** The time from the request to the end of the response. */
  durationMs: number | null;
};

/** A gate where a turn waits, with everything that a user interface shows. */
export type OpenGate = {
  /** The gate id, which is unique in all conversations. */
  id: string;
  /** The kind of gate. */
  name: string;
  /** The id of the call that waits, if any. */
  toolCall: string | null;
  /** The question. */
  question: unknown;
  /** The JSON Schema that an answer must match, if the gate has one. */
  schema: unknown;
  /** When it was opened. */
  openedAt: string;
};

/** The kind of a record. */
export type RecordKind = "instruction" | "memory" | "retrievable" | "message" | "thought" | "tool_call" | "ledger" | "turn" | "gate" | "lease" | "conversation_info";

/** One change that checking made to the arguments. */
export type Repair = {
  /** The JSON pointer of the location. */
  pointer: string;
  /** The kind of change. */
  kind: RepairKind;
  /** The previous value; `None` if there was none. */
  before: unknown;
  /** The new value; `None` if the value was removed. */
  after: unknown;
};

/** The changes that checking can make. */
export type RepairKind = "number" | "boolean" | "json" | "integer" | "null_as_absent" | "default" | "no_arguments";

/** A document, media or a summary: its `text`, `artifact` or `media`. */
export type RetrievableRecord = {
  kind: "retrievable";
  id: string;
  createdAt: string;
  updatedAt: string;
  /** The origin, if known: a URL, a path or a title. */
  source?: string;
  /** Whether it is the summary of a part of the conversation. */
  summary: boolean;
  text?: string;
  artifact?: Artifact;
  media?: Media;
};

/** An event for operators. */
export type RunnerEvent = {
  /** When it happened. */
  time: string;
  /** The turn id. */
  turnId: string;
  /** The conversation id. */
  conversationId: string;
} & ({
  event: "dispatchStart";
} | {
  event: "dispatchEnd";
  /** The signal that ended it, if any: `ack` or `nack`. */
  signal: string | null;
  /** The number of iterations. */
  iterations: number;
} | {
  event: "iterationStart";
  /** The number of the iteration, starting at 1. */
  iteration: number;
} | {
  event: "iterationEnd";
  /** The number of the iteration, starting at 1. */
  iteration: number;
} | {
  event: "toolCallRefused";
  /** The call id. */
  id: string;
  /** The checksum of the call. */
  callId: string;
  /** The name of the tool. */
  tool: string;
  /** The error code. */
  code: string;
  /** The message for operators. */
  message: string;
  /** What is wrong with the arguments, if they are invalid. */
  faults: Array<Fault>;
  /** The reason of the policy or the approver, if the call was denied. */
  reason?: string;
  /** The records that made the prompt untrusted or private, if the call was denied for that. */
  sources?: Array<TaintSource>;
} | {
  event: "toolExecutionEnd";
  /** The call id. */
  id: string;
  /** The checksum of the call. */
  callId: string;
  /** The name of the tool. */
  tool: string;
  /** How long it ran. */
  durationMs: number;
  /** Whether it failed. */
  isError: boolean;
  /** The error code, if it failed. */
  code: string | null;
  /** The message for operators with its causes, if it failed. */
  message: string | null;
  /** Whether its thread was detached and may still be running. */
  abandoned: boolean;
} | {
  event: "log";
  /** How important it is. */
  level: Level;
  /** The kind of entry, for filters. */
  kind?: string;
  /** The text. */
  message: string;
  /** Data for programs. */
  payload?: unknown;
} | {
  event: "warning";
  /** The message for operators. */
  message: string;
} | {
  event: "error";
  /** The error code. */
  code: string;
  /** Whether it is a programming error. */
  fatal: boolean;
  /** The message for operators. */
  message: string;
  /** The pipeline in which it occurred, if any. */
  pipeline: string | null;
});

/** A record because of which a prompt contains text of third parties or private data: see `Taint::sources`. */
export type TaintSource = {
  /** The kind of the record. */
  kind: RecordKind;
  /** The id of the record. */
  id: string;
  /** The name of the tool, for a tool call. */
  tool?: string;
  /** Its least trusted tier, if it contains text of third parties. */
  trustTier?: TrustTier;
  /** Whether it contains private data. */
  private?: boolean;
  /** Whether it only repeats other records: the model wrote it after it had read them (see `Exposure`). */
  derived?: boolean;
  /** Whether it is a record of an outer turn: see `TurnInput::under_call`. */
  outer?: boolean;
};

/** A thought of the model, a memory or a standing instruction. */
export type TextRecord = {
  kind: "thought" | "memory" | "instruction";
  id: string;
  createdAt: string;
  updatedAt: string;
  text: string;
};

/** A tool call and its result. */
export type ToolCallRecord = {
  kind: "tool_call";
  id: string;
  createdAt: string;
  updatedAt: string;
  /** When it was settled, if it was. */
  completedAt?: string;
  tool: string;
  /** The arguments as the model proposed them. */
  args: unknown;
  /** The arguments that ran, if a policy or an approver changed them. */
  editedArgs?: unknown;
  /** The result, if there is one. */
  results?: ToolResults;
  /** Whether it was refused, failed, or was part of a truncated response. */
  isError: boolean;
  /** Whether a policy or an approver denied it. */
  denied: boolean;
  /** Whether the tool returned more than was stored. */
  truncated: boolean;
  /** Whether the response that proposed it was truncated, so that it never runs. */
  cutOff: boolean;
};

/** The result of a tool call: one of these, or artifacts with media. */
export type ToolResults = {
  /** The answer of an artifact tool. */
  text?: string;
  /** The output of the handler. */
  artifacts?: Array<Artifact>;
  /** The media that the handler returned. */
  media?: Array<Media>;
  /** The handler failed: the text for the model. */
  failure?: string;
  /** The handler did not run: the text for the model. */
  refusal?: string;
};

/** Where content comes from, least trusted first: `a < b` means that `a` is trusted less. */
export type TrustTier = "third-party-public" | "third-party-private" | "first-party";

/** An event on the stream of a turn. */
export type TurnEvent = {
  /** When it happened. */
  time: string;
  /** The turn id. */
  turnId: string;
  /** The conversation id. */
  conversationId: string;
} & ({
  event: "turnStart";
  /** Whether the turn existed before and is resumed. */
  resumed: boolean;
} | Delta & {
  event: "messageDelta";
} | {
  event: "message";
  record: MessageRecord;
} | Delta & {
  event: "thoughtDelta";
} | {
  event: "thought";
  record: TextRecord;
} | {
  event: "toolCallDelta";
  /** The name of the tool, as far as it is known. */
  tool: string;
  /** The id of the record that the pieces become. */
  id: string;
  /** The number of bytes before this piece. */
  offset: number;
  /** The piece. */
  text: string;
} | {
  event: "discarded";
  /** The id of the pieces. */
  id: string;
} | {
  event: "toolExecutionStart";
  /** The call id. */
  id: string;
  /** The checksum of the call. */
  callId: string;
  /** The name of the tool. */
  tool: string;
  /** The declared effects of the tool. */
  effects: Effects;
  /** The checked arguments. */
  args: unknown;
  /** The repairs that were made to the arguments. */
  repairs: Array<Repair>;
} | {
  event: "toolExecutionProgress";
  /** The call id. */
  id: string;
  /** The checksum of the call. */
  callId: string;
  /** The name of the tool. */
  tool: string;
  /** The message of the handler. */
  message: string;
} | {
  event: "toolCall";
  record: ToolCallRecord;
} | {
  event: "toolCallIncomplete";
  record: ToolCallRecord;
} | OpenGate & {
  event: "turnGateOpen";
} | {
  event: "turnGateClosed";
  /** The gate id. */
  id: string;
  /** How it was closed. */
  how: "resolved" | "rejected" | "timedOut" | "aborted";
  /** Who answered, if the answer says so. */
  by?: string;
  /** The note of the answer, if it has one. */
  note?: string;
} | {
  event: "answerRejected";
  /** The message that was the answer, if there was one. */
  id: string | null;
  /** The reason, as the model reads it. */
  reason: string;
  /** How many retries are left. */
  retriesLeft: number;
} | Compacted & {
  event: "compacted";
} | ModelUsage & {
  event: "usage";
} | {
  event: "leaseWait";
  /** The turn that holds the lease, if it is known. */
  heldBy: string | null;
  /** The longest time until the lease expires, if its process is gone. */
  atMostMs: number;
} | {
  event: "turnEnd";
  /** How it ended. */
  status: TurnState;
  /** The code of the error if there is no answer. */
  code: string | null;
  /** The reason for users of the application if there is no answer, without the details of an error: those are for operators, in `TurnOutcome::error` and `EventKind::Error`. */
  message?: string;
  /** The other turn of the conversation because of which this one could not start, with the codes `E_TURN_WAITING` and `E_TURN_HELD`. */
  blockedBy?: string;
  /** The gates of a suspended turn, or those at which the turn `blocked_by` waits. */
  gates?: Array<OpenGate>;
  /** The usage of the complete turn. */
  usage: Usage;
  /** How long it ran. */
  durationMs: number;
});

/** Why a turn has no answer. */
export type TurnFailure = {
  /** The error code. */
  code: string;
  message: string;
};

/** A turn and its state. */
export type TurnRecord = {
  kind: "turn";
  id: string;
  state: TurnState;
  /** The id of the message that is its answer, once it has one. */
  answer?: string;
  /** How often it was started or resumed. */
  runs: number;
  iterations: number;
  usage: Usage;
  /** The number of tool calls that ran. */
  toolCalls: number;
  /** How long it ran, in milliseconds. */
  elapsedMs: number;
  /** Why it has no answer, if it ended without one. */
  error?: TurnFailure;
  startedAt: string;
  endedAt?: string;
};

/** The state of a turn. */
export type TurnState = "running" | "answered" | "nacked" | "aborted" | "failed" | "limit" | "abandoned" | "suspended";

/** The token usage of one request or of a whole turn. */
export type Usage = {
  /** Number of requests to the model. */
  requests: number;
  /** Input tokens, including cached ones. */
  inputTokens: number;
  /** Input tokens that were served from the provider's prompt cache. */
  cachedInputTokens: number;
  /** Input tokens that were written to the provider's prompt cache. */
  cacheWriteTokens: number;
  /** Output tokens, including reasoning. */
  outputTokens: number;
  /** Output tokens used for reasoning. */
  reasoningTokens: number;
};

/** A turn that waits to be answered or resumed, with everything that a user interface shows. */
export type Waiting = {
  /** The conversation. */
  conversation: string;
  /** The turn. */
  turnId: string;
  /** What it waits for. */
  state: WaitingState;
  /** When it started. */
  beganAt: string;
  /** The gates where it waits, in the order in which they were opened. */
  gates: Array<OpenGate>;
};

/** What a `Waiting` turn waits for. */
export type WaitingState = "suspended" | "answeredNotResumed" | "running" | "interrupted";
