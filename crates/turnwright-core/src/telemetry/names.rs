//! All names used in traces and metrics.

/// Generates the names from one table, so that a test can check all of them.
macro_rules! names {
    ($($name:ident = $text:literal;)+) => {
        $(pub(super) const $name: &str = $text;)+

        #[cfg(test)]
        pub(super) const ALL: &[&str] = &[$($name,)+];
    };
}

names! {
    // From OpenTelemetry's conventions for generative AI.
    OPERATION = "gen_ai.operation.name";
    PROVIDER = "gen_ai.provider.name";
    MODEL = "gen_ai.request.model";
    OUTPUT_TYPE = "gen_ai.output.type";
    STREAM = "gen_ai.request.stream";
    MAX_TOKENS = "gen_ai.request.max_tokens";
    SEED = "gen_ai.request.seed";
    TEMPERATURE = "gen_ai.request.temperature";
    TOP_P = "gen_ai.request.top_p";
    PRESENCE_PENALTY = "gen_ai.request.presence_penalty";
    FREQUENCY_PENALTY = "gen_ai.request.frequency_penalty";
    STOP_SEQUENCES = "gen_ai.request.stop_sequences";
    RESPONSE_ID = "gen_ai.response.id";
    RESPONSE_MODEL = "gen_ai.response.model";
    FINISH_REASONS = "gen_ai.response.finish_reasons";
    TIME_TO_FIRST_CHUNK = "gen_ai.response.time_to_first_chunk";
    CONVERSATION = "gen_ai.conversation.id";
    AGENT = "gen_ai.agent.name";
    TOKEN_TYPE = "gen_ai.token.type";
    INPUT_TOKENS = "gen_ai.usage.input_tokens";
    CACHED_INPUT_TOKENS = "gen_ai.usage.cache_read.input_tokens";
    CACHE_WRITE_TOKENS = "gen_ai.usage.cache_creation.input_tokens";
    OUTPUT_TOKENS = "gen_ai.usage.output_tokens";
    REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens";
    INPUT_MESSAGES = "gen_ai.input.messages";
    OUTPUT_MESSAGES = "gen_ai.output.messages";
    TOOL = "gen_ai.tool.name";
    TOOL_TYPE = "gen_ai.tool.type";
    TOOL_DESCRIPTION = "gen_ai.tool.description";
    TOOL_CALL = "gen_ai.tool.call.id";
    TOOL_ARGUMENTS = "gen_ai.tool.call.arguments";
    TOOL_RESULT = "gen_ai.tool.call.result";

    // From OpenTelemetry's general conventions.
    ERROR_TYPE = "error.type";
    SERVER = "server.address";
    PORT = "server.port";

    // Read by the bridge from `tracing` to OpenTelemetry, not exported as attributes.
    SPAN_NAME = "otel.name";
    SPAN_KIND = "otel.kind";
    SPAN_STATUS = "otel.status_code";

    // Our own.
    TURN = "turnwright.turn.id";
    PRINCIPAL = "turnwright.turn.principal";
    ENDED = "turnwright.turn.ended";
    ITERATIONS = "turnwright.turn.iterations";
    ITERATION = "turnwright.iteration";
    ABANDONED = "turnwright.tool.abandoned";
    PIPELINE = "turnwright.pipeline";
    FATAL = "turnwright.error.fatal";
    GATE = "turnwright.gate.id";
    GATE_KIND = "turnwright.gate.kind";
    GATE_CLOSED = "turnwright.gate.closed";
    GATE_BY = "turnwright.gate.by";
    GATE_NOTE = "turnwright.gate.note";

    // Metrics. The bridge reads the instrument from the start of the name.
    OPERATION_DURATION = "histogram.gen_ai.client.operation.duration";
    TOKEN_USAGE = "histogram.gen_ai.client.token.usage";
    TURN_DURATION = "histogram.turnwright.turn.duration";
    TOOL_DURATION = "histogram.turnwright.tool.duration";
    TOOL_REFUSALS = "monotonic_counter.turnwright.tool.refusals";
    GATE_OPENINGS = "monotonic_counter.turnwright.gate.openings";
    GATE_DURATION = "histogram.turnwright.gate.duration";
}
