#!/usr/bin/env bash
# Prints a table of how hostile MCP servers end: what happens, how long it takes and the most memory, each in its own process.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=$(cargo test -p turnwright-mcp --test it --no-run --message-format=json 2> /dev/null |
  sed -n 's/.*"executable":"\([^"]*\/it-[^"]*\)".*/\1/p' | tail -1)
echo '| mode | transport | what happens | time | most memory |'
echo '| --- | --- | --- | --- | --- |'
TURNWRIGHT_MCP_MODES=1 "$binary" --exact hostile::modes --nocapture | sed -n 's/^.*mode \(.*:.*\)$/\1/p' |
  while read -r mode; do
    TURNWRIGHT_MCP_HOSTILE=$mode "$binary" --exact hostile::one_line_of_the_table --nocapture < /dev/null | grep '^|' ||
      echo "| ${mode#*:} | ${mode%%:*} | FAILED | | |"
  done
