//! The secrets of a configuration, which are not shown even if a server prints them.

use turnwright_mcp::process::{Environment, redactor};

use super::config::{Config, Entry};
use super::expand::{expanded, variables};
use super::login::Login;

impl Config {
    /// A text of a server without the values that the configuration passes to servers.
    pub(super) fn redacted(&self, text: &str) -> String {
        let secrets = self.servers.iter().flat_map(|(_, entry)| entry.secrets());
        redactor(secrets).text(text)
    }
}

impl Entry {
    /// The values of variables in all keys, of headers, and of the secret for logins. Those of `env` and `inheritEnv` are known to
    /// the environment of the program.
    pub(super) fn secrets(&self) -> Vec<String> {
        let mut secrets = Vec::new();
        let login = match &self.oauth {
            Some(Login::Settings(settings)) => settings.client_secret.as_deref(),
            _ => None,
        };
        let pairs = self.env.0.iter().chain(&self.headers.0);
        let texts = pairs.map(|(_, value)| value.as_str()).chain(login);
        let all = self.places().map(|(_, text)| text).chain(texts);
        // Every program knows `HOME` and a few others.
        let is_public = |name: &str| Environment::default().allows(name);
        for (name, value) in all.flat_map(variables) {
            if !is_public(name) {
                secrets.push(value);
            }
        }
        let headers = self.headers.0.iter().map(|(_, value)| value.as_str());
        for value in headers.chain(login) {
            let value = expanded("", value).unwrap_or_default();
            // The token alone, without `Bearer`.
            secrets.push(value.rsplit(' ').next().unwrap_or_default().to_owned());
            secrets.push(value);
        }
        secrets
    }
}
