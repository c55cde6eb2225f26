//! Messages of the library in the words of this program: keys of the configuration instead of methods.

/// The reason of a server for which a person must log in, if there is none to ask.
pub(super) const NO_PROMPT: &str = "set `OAuth::prompt`";

/// What the library says, and what this program says instead.
const WORDS: [(&str, &str); 10] = [
    (NO_PROMPT, "log in at a terminal"),
    (
        "use `McpServer::oauth`, or `McpServer::bearer` with a valid token",
        "add a valid token to `headers`, or configure `oauth`",
    ),
    ("use `McpServer::bearer`", "add a token to `headers`"),
    ("`OAuth::issuer`", "`oauth.issuer`"),
    (
        "use `OAuth::allow_private_addresses`",
        "set `oauth.allowPrivateAddresses`",
    ),
    (
        "with `allow_private_addresses`",
        "with `oauth.allowPrivateAddresses`",
    ),
    (
        "`client_secret` requires `client_id` and `issuer`",
        "`clientSecret` requires `clientId` and `issuer`",
    ),
    (
        "credentials: use `bearer`",
        "credentials: add them to `headers`",
    ),
    ("remove `bearer` or the header", "remove one of them"),
    (
        "the alias of an MCP server is empty: call `.alias(\"name\")`",
        "the name of the server is empty",
    ),
];

/// A message of the library about MCP servers, in the words of this program.
pub(crate) fn in_own_words(message: &str) -> String {
    let message = message.to_owned();
    WORDS.iter().fold(message, |message, (theirs, ours)| {
        message.replace(theirs, ours)
    })
}
