#!/usr/bin/env bash
# Tests with real parts of the Model Context Protocol, on loopback only.
#
#     scripts/mcp-real.sh servers [smoke]   our client with servers from npm and PyPI; smoke: only two small ones
#     scripts/mcp-real.sh clients    our server (examples/serve_tools.rs) with Inspector, the TypeScript SDKs 1.x and 2.x, and Python
#
# They are installed into target/mcp-real. If one is not available, the script prints SKIPPED and continues.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
  clients) exec scripts/mcp-real/clients.sh ;;
  servers) shift; exec scripts/mcp-real/servers.sh "$@" ;;
  *) sed -n '2,7p' "$0"; exit 2 ;;
esac
