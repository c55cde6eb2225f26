#!/usr/bin/env bash
# Runs all five protocols against aimock, an independent mock of model servers, and prints a table.
#
#     scripts/aimock.sh [FOLDER]
#
# The package is installed once to FOLDER (default: target/aimock). If it is not available, the script prints SKIPPED and
# succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() {
  echo "SKIPPED: $*"
  exit 0
}

folder=${1:-${CARGO_TARGET_DIR:-target}/aimock}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
package=$folder/node_modules/@copilotkit/aimock

command -v node >/dev/null || skip 'there is no node to run the server with'
command -v npm >/dev/null || skip 'there is no npm to install the server with'
if ! grep -qs '"version": "1\.43\.' "$package/package.json"; then
  npm install --silent --no-audit --no-fund --prefix "$folder" @copilotkit/aimock@1.43 || skip 'aimock cannot be installed'
fi

log=$folder/server.log
# A free port; the server prints its address.
node "$package/dist/cli.js" --port 0 --host 127.0.0.1 --fixtures scripts/aimock/fixtures.json --validate-on-load --strict >"$log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true' EXIT

url=
for _ in $(seq 300); do
  url=$(grep -om1 'http://127\.0\.0\.1:[0-9]*' "$log" || true)
  [ -n "$url" ] && break
  if ! kill -0 "$server" 2>/dev/null; then
    tail -n 20 "$log" >&2
    skip 'the server does not start'
  fi
  sleep 0.1
done
[ -n "$url" ] || skip 'the server did not start within half a minute'

TURNWRIGHT_AIMOCK_URL=$url cargo test -p turnwright-models --test it -- aimock
