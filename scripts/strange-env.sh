#!/usr/bin/env bash
# Runs the tests in an unusual environment, to find tests that depend on the caller's environment:
# odd values for every variable that the program, a terminal, a shell or an HTTP client reads, an empty home, and unreachable
# proxies.
#
#   scripts/strange-env.sh                                       # cargo test --workspace --all-features
#   scripts/strange-env.sh cargo test -p turnwright-cli          # another command
#
# STRANGE_ENV_SECONDS   timeout. Default: 3600.
set -euo pipefail
cd "$(dirname "$0")/.."

home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT

# The `discard` port on loopback, on which no server listens.
dead=http://hidden-user:hidden-password@127.0.0.1:9

# Cargo and its toolchain stay available; the rest of the user's home is hidden.
variables=(
  "CARGO_HOME=${CARGO_HOME:-$HOME/.cargo}"
  "RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}"
  "HOME=$home"
  "XDG_CONFIG_HOME=$home/hidden-config"
  "XDG_DATA_HOME=$home/hidden-data"
  "XDG_STATE_HOME=$home/hidden-state"
  "XDG_CACHE_HOME=$home/hidden-cache"
  "USER=hidden-user"
  "TERM=hidden-terminal"
  "COLUMNS=7"
  "LINES=3"
  "NO_COLOR=hidden-no"
  "CLICOLOR=0"
  "CLICOLOR_FORCE=1"
  "CI=hidden-ci"
  "LANG=tr_TR.UTF-8"
  "LC_ALL=C"
  "LC_MESSAGES=hidden-locale"
  "TZ=Pacific/Kiritimati"
  "RUST_BACKTRACE=full"
  "RUST_LOG=trace"
  "PAGER=hidden-pager"
  "EDITOR=hidden-editor"
  "SHELL=/hidden-shell"
  "IFS=h"
  "OPENAI_API_KEY=sk-hidden-key-of-the-caller"
  "OPENAI_BASE_URL=$dead/v1"
  "OPENAI_MODEL=hidden-model"
  "TURNWRIGHT_HOME=$home/hidden-home"
  "TURNWRIGHT_RECORD=0"
  "DATABASE_URL=postgres://hidden-user:hidden-password@127.0.0.1:9/hidden-db"
  "SOME_VALUE=hidden-value"
)
for name in HTTP_PROXY http_proxy HTTPS_PROXY https_proxy ALL_PROXY all_proxy; do
  variables+=("$name=$dead")
done

if [ $# -eq 0 ]; then
  set -- cargo test --workspace --all-features
fi

# Dependencies first: fetching them needs the caller's own network settings.
cargo fetch --locked --quiet
env -u NO_PROXY -u no_proxy CARGO_NET_OFFLINE=true "${variables[@]}" \
  timeout "${STRANGE_ENV_SECONDS:-3600}" "$@"
