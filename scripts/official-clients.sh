#!/usr/bin/env bash
# Tests `turnwright serve-script` with the official clients of all five protocols for Python and JavaScript: a conversation
# with tools each, with and without streaming. The server is strict.
#
#     scripts/official-clients.sh [FOLDER]
#
# The clients are installed into FOLDER (default: a temporary folder) and kept there. If a client is not available, the script
# prints SKIPPED and continues. If a client reports an error, it prints FAILED and exits with an error.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD/scripts/official-clients

if [ $# -gt 0 ]; then
  mkdir -p "$1"
  folder=$(cd "$1" && pwd)
else
  folder=$(mktemp -d)
fi
server=
finish() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  [ $# -gt 0 ] || rm -rf "$folder"
}
# Removes only what the script created.
if [ $# -gt 0 ]; then trap 'finish kept' EXIT; else trap finish EXIT; fi

failed=0
skip() {
  echo "SKIPPED: $*"
}

cargo build --quiet -p turnwright-cli
program=${CARGO_TARGET_DIR:-target}/debug/turnwright

# Starts a new server with the script, and runs a client against it.
converse() {
  local name=$1
  shift
  # Emptied first, so that the address of the previous server is not read.
  : >"$folder/server.log"
  "$program" serve-script "$here/script.json" --strict >"$folder/server.log" 2>&1 &
  server=$!
  local url=
  for _ in $(seq 100); do
    url=$(sed -n 's/^listening on //p' "$folder/server.log")
    [ -z "$url" ] || break
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  if [ -z "$url" ]; then
    echo "FAILED: the server did not start: $(cat "$folder/server.log")"
    failed=1
  elif timeout 120 "$@" "$url" "$folder/npm"; then
    # It must terminate cleanly on request, after all replies were used.
    local code=0
    kill -INT "$server"
    wait "$server" || code=$?
    if [ "$code" != 0 ] || grep -q 'were not requested' "$folder/server.log"; then
      echo "FAILED: the server did not exit cleanly (code $code): $(tail -n 1 "$folder/server.log")"
      failed=1
    fi
  else
    echo "FAILED: $name; the server printed:"
    cat "$folder/server.log"
    failed=1
  fi
  kill "$server" 2>/dev/null || true
  wait "$server" 2>/dev/null || true
  server=
}

# Runs the conversations of a Python package.
python() {
  local package=$1
  shift
  local run=$folder/venv/bin/python
  if ! command -v python3 >/dev/null; then
    skip "$package for Python: there is no python3"
  elif [ ! -x "$run" ] && ! python3 -m venv "$folder/venv" >"$folder/venv.log" 2>&1; then
    skip "$package for Python: a virtual environment cannot be made"
  elif ! "$run" -m pip show --quiet "$package" 2>/dev/null &&
    ! "$run" -m pip install --quiet "$package" >"$folder/pip.log" 2>&1; then
    skip "$package for Python cannot be installed: $(tail -n 1 "$folder/pip.log")"
  else
    for conversation in "$@"; do
      converse "$package for Python, $conversation" "$run" -B "$here/python/$conversation.py"
    done
  fi
}

# Runs the conversations of a JavaScript package.
javascript() {
  local package=$1
  shift
  if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    skip "$package for JavaScript: there is no node, or no npm"
  elif [ ! -d "$folder/npm/node_modules/$package" ] &&
    ! npm install --prefix "$folder/npm" --no-audit --no-fund --loglevel error "$package" >"$folder/npm.log" 2>&1; then
    skip "$package for JavaScript cannot be installed: $(head -n 1 "$folder/npm.log")"
  else
    for conversation in "$@"; do
      converse "$package for JavaScript, $conversation" node "$here/javascript/$conversation.mjs"
    done
  fi
}

python openai chat_completions responses
python anthropic anthropic_messages
python google-genai gemini_content
python ollama ollama_chat
javascript openai chat_completions responses
javascript @anthropic-ai/sdk anthropic_messages
javascript @google/genai gemini_content
javascript ollama ollama_chat

exit "$failed"
