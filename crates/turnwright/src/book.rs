//! The pages of the book. Their examples run as doctests.

macro_rules! pages {
    ($($page:literal => $name:ident;)+) => {$(
        #[doc = include_str!(concat!("../../../docs/src/", $page))]
        struct $name;
    )+};
}

pages! {
    "introduction.md" => Introduction;
    "getting-started.md" => GettingStarted;
    "tools.md" => Tools;
    "tool-calls.md" => ToolCalls;
    "mcp.md" => Mcp;
    "system-prompt.md" => SystemPrompt;
    "model-providers.md" => ModelProviders;
    "model-settings.md" => ModelSettings;
    "structured-output.md" => StructuredOutput;
    "streaming.md" => Streaming;
    "memory-and-history.md" => MemoryAndHistory;
    "large-results.md" => LargeResults;
    "media.md" => Media;
    "approvals.md" => Approvals;
    "prompt-injection.md" => PromptInjection;
    "foreign-tools.md" => ForeignTools;
    "sub-agents.md" => SubAgents;
    "budgets.md" => Budgets;
    "retries-and-timeouts.md" => RetriesAndTimeouts;
    "middleware.md" => Middleware;
    "persistence.md" => Persistence;
    "custom-stores.md" => CustomStores;
    "observability.md" => Observability;
    "testing.md" => Testing;
    "custom-models.md" => CustomModels;
    "cookbook.md" => Cookbook;
    "cookbook-services.md" => CookbookServices;
    "cookbook-control.md" => CookbookControl;
    "cookbook-tools.md" => CookbookTools;
    "cookbook-operations.md" => CookbookOperations;
    "coming-from-rig.md" => ComingFromRig;
    "coming-from-typescript.md" => ComingFromTypeScript;
    "events.md" => Events;
    "error-codes.md" => ErrorCodes;
    "glossary.md" => Glossary;
    "renames.md" => Renames;
}
