#!/usr/bin/env bash
# Our client with real servers: see ../mcp-real.sh.
# usage: servers.sh [smoke]     smoke: only two small servers from npm
set -euo pipefail
cd "$(dirname "$0")/../.."
home=$PWD/target/mcp-real/servers
mkdir -p "$home"
only=real::
packages=(@modelcontextprotocol/server-memory @modelcontextprotocol/server-sequential-thinking)
if [ "${1:-}" = smoke ]; then
  only=real::memory_and_sequential_thinking
else
  packages+=(@modelcontextprotocol/server-everything @modelcontextprotocol/server-filesystem)
  if [ ! -x "$home/pv/bin/mcp-server-time" ]; then
    python3 -m venv "$home/pv"
    "$home/pv/bin/pip" install --quiet mcp-server-git mcp-server-time mcp-server-fetch mcp-server-sqlite 'mcp<1.30'
  fi
fi
(cd "$home" && { [ -f package.json ] || npm init -y > /dev/null; } &&
  npm install --no-audit --no-fund --loglevel error "${packages[@]}" > /dev/null)
# With the features of the README's test command: then nothing is built twice.
TURNWRIGHT_MCP_REAL=$home cargo test --workspace --all-features --test it "$only" -- --nocapture
