//! The book's pages, whose examples are run like any other.

macro_rules! pages {
    ($($page:literal => $name:ident;)+) => {$(
        #[doc = include_str!(concat!("../../../docs/src/", $page))]
        struct $name;
    )+};
}

pages! {
    "introduction.md" => Introduction;
    "first-agent.md" => FirstAgent;
    "call.md" => Call;
    "tools.md" => Tools;
    "large-output.md" => LargeOutput;
    "media.md" => Media;
    "trust.md" => Trust;
    "approvals.md" => Approvals;
    "settings.md" => Settings;
    "middleware.md" => Middleware;
    "storage.md" => Storage;
    "testing.md" => Testing;
    "executor.md" => Executor;
    "typescript.md" => TypeScript;
    "errors.md" => Errors;
    "glossary.md" => Glossary;
}
