#!/usr/bin/env bash
# The README's tour against `docker compose up`: separate containers, images built here. Needs a Docker engine with the
# compose plugin, and curl; says so and ends well where they are missing. Several runs may go side by side.
# AIP_DIST names the folder to build images from, below the root (`cargo xtask dist` makes `dist`); unset, one is made quickly.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf 'compose: %3d s: %s\n' "$SECONDS" "$*"; }
skip() { echo "compose: SKIPPED: $*"; exit 0; }
fail() { echo "compose: FAILED: $*" >&2; exit 1; }

timeout 20 docker info >/dev/null 2>&1 || skip "no Docker engine answers here"
timeout 20 docker compose version >/dev/null 2>&1 || skip "docker has no compose plugin here"
command -v curl >/dev/null || skip "curl is missing, and the tour uses it"

# Everything of this run has a name of its own: project, images, ports, folder.
run="aip-test-$$-$RANDOM"
export COMPOSE_PROJECT_NAME=$run COMPOSE_FILE=$PWD/compose.yaml COMPOSE_PROGRESS=quiet
export AIP_IMAGE=$run/fleet:test AIP_NATS_IMAGE=$run/nats:test
unset AIP_URL AIP_TOKEN NATS_URL
work=$(mktemp -d)
compose() { timeout 300 docker compose "$@"; }
finish() {
  local code=$?
  trap - EXIT INT TERM
  if [ "$code" != 0 ]; then
    compose ps -a >&2 || true
    compose logs --no-color --tail 30 >&2 || true
  fi
  compose down -v --remove-orphans -t 5 >/dev/null 2>&1 || code=1
  timeout 60 docker image rm "$AIP_IMAGE" "$AIP_NATS_IMAGE" >/dev/null 2>&1 || true
  rm -rf "$work"
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

until_true() { # SECONDS WHAT COMMAND...: the command is repeated until it succeeds
  local deadline=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$deadline" ] || fail "not in time: $what"
    read -r -t 0.2 <> <(:) || true
  done
}
block() { # FILE TEXT: the fenced block of a document that contains the text
  awk -v text="$2" '/^```/ { if (inside && index(body, text)) { printf "%s", body; found = 1; exit } inside = !inside; body = ""; next }
    inside { body = body $0 "\n" } END { exit !found }' "$1" || fail "$1 has no block with: $2"
}
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
json() { # EXPRESSION over `it`, the JSON on standard input: prints it; fails where it is false or there is none
  python3 -c 'import json, sys
it = json.load(sys.stdin)
value = eval(sys.argv[1])
print(value if isinstance(value, str) else json.dumps(value))
sys.exit(value is None or value is False)' "$1"
}
is() { [ "$1" = "$2" ] || fail "$3: wanted $2, got $1"; }

if [ -z "${AIP_DIST:-}" ]; then
  step "building the binary"
  unset "${!CARGO_PKG_@}" "${!CARGO_MANIFEST_@}" # what `cargo test` says of its package looks like a change to ring's build
  "${CARGO:-cargo}" --quiet xtask dist --debug
  export AIP_DIST=dist/debug
fi
aip() { "./$AIP_DIST/aip" "$@"; }

step "building the images"
compose build >"$work/build.log" 2>&1 || { cat "$work/build.log" >&2; fail "docker compose build"; }

start() { # false where somebody took a port meanwhile
  AIP_HTTP_PORT=$(free_port) AIP_NATS_PORT=$(free_port)
  export AIP_HTTP_PORT AIP_NATS_PORT
  compose up -d --wait --scale scheduler=2 2>"$work/up.log" && return 0
  grep -qE 'port is already allocated|address already in use' "$work/up.log" || { cat "$work/up.log" >&2; fail "docker compose up"; }
  compose down -v >/dev/null 2>&1
  return 1
}
step "starting the fleet, with two schedulers"
start || start || start || fail "no free ports"

step "everything runs without root, with a root file system that cannot be written, and publishes on 127.0.0.1 only"
compose ps -aq >"$work/containers"
is "$(wc -l <"$work/containers")" 8 "containers"
xargs docker inspect <"$work/containers" >"$work/inspect"
json 'all(c["Config"]["User"] == "65532:65532" and c["HostConfig"]["ReadonlyRootfs"] and c["HostConfig"]["CapDrop"] == ["ALL"]
  and "no-new-privileges:true" in c["HostConfig"]["SecurityOpt"] and not c["HostConfig"]["Privileged"]
  and all(p["HostIp"] == "127.0.0.1" for b in (c["HostConfig"]["PortBindings"] or {}).values() for p in b) for c in it)' \
  <"$work/inspect" >/dev/null || fail "a container has more rights than it needs"
json 'all(c["State"]["Running"] and c["State"].get("Health", {}).get("Status", "healthy") == "healthy"
  or c["State"]["ExitCode"] == 0 for c in it)' <"$work/inspect" >/dev/null || fail "a container is not well"

# As docs/containers.md says.
compose cp edge-http:/fleet "$work/fleet" 2>/dev/null
. "$work/fleet/env"
export AIP_NATS_CREDS=$work/fleet/keys/demo-client.nk
has_demo() { aip manifest | grep -q cap:demo:slow; }
until_true 30 "the connector is in the manifest" has_demo

step "the tour with curl"
tour=$(block README.md 'envelope() {')
eval "$tour" >"$work/curl"
is "$(wc -l <"$work/curl")" 4 "answers"
answer() { sed -n "$1p" "$work/curl" | json "$2"; }
output='it["body"]["action_result"]["output"]'
is "$(answer 1 "$output[\"text\"]")" hello "the echo"
is "$(answer 3 "$output")" "$(answer 2 "$output")" "the answer to a repeated key"
is "$(answer 4 'it["body"]["error"]["error"]["code"]')" aip.idempotency.input_mismatch "the answer to a key with another input"
notes() { compose cp connector:/notes/demo.txt - | tar -xO; }
is "$(notes | wc -l)" 1 "lines in the notes"

step "the tour with NATS"
if python3 -m pip install -q --disable-pip-version-check --target "$work/py" 'nats-py[nkeys]==2.16.0' >"$work/pip.log" 2>&1; then
  nats=$(block README.md 'import asyncio, os, sys, nats')
  PYTHONPATH=$work/py eval "$nats" >"$work/nats"
  grep -q 'over NATS' "$work/nats" || fail "the answer over NATS: $(cat "$work/nats")"
else
  echo "compose: nats-py could not be installed, so NATS is not tried: $(tail -n 1 "$work/pip.log")"
fi

begun() { # SECONDS: starts a slow action and returns when it runs
  id=$(aip --json call cap:demo:slow --input "{\"seconds\":$1}" --async | json 'it["ack"]["action_id"]')
  runs() { aip actions events "$id" | grep -q aip.action.started; }
  until_true 30 "the action runs" runs
}
ends() {
  ended() { aip actions get "$id" --wait-ms 10000 | grep -q 'status  completed'; }
  until_true 90 "the end of $id" ended
  aip receipts verify "action:$id" >/dev/null || fail "the receipts of $id"
}
attempts() { aip actions events "$id" | grep -c aip.action.started; }

step "the connector is killed while it works: a second attempt ends the action"
begun 3
compose kill connector
compose start connector
ends
is "$(attempts)" 2 "attempts of $id"

step "one of two schedulers is killed while an action runs: the other one settles it"
begun 3
docker kill "$(compose ps -q scheduler | head -n 1)" >/dev/null
ends
is "$(attempts)" 1 "attempts of $id"

step "the last scheduler is killed while an action runs: the next one settles it"
begun 3
compose kill scheduler
compose up -d --wait --scale scheduler=2
ends

step "the server is killed; what was stored is still there"
compose kill nats
compose up -d --wait --scale scheduler=2
again() { post "$(envelope cap:demo:note:append '{"text":"milk"}' shopping-1)" | json "$output" >"$work/again"; }
until_true 60 "the fleet is back" again
is "$(cat "$work/again")" "$(answer 2 "$output")" "the answer to a repeated key"
is "$(notes | wc -l)" 1 "lines in the notes"

step "no secret is in what the engine shows"
for file in "$work"/fleet/keys/*; do cat "$file"; echo; done | grep . >"$work/secrets" # an empty pattern would match everything
sed -n "s/^export AIP_TOKEN[A-Z_]*='\(.*\)'$/\1/p" "$work/fleet/env" >>"$work/secrets"
[ "$(wc -l <"$work/secrets")" -ge 15 ] || fail "the list of secrets is too short to mean anything"
{
  compose ps -aq | xargs docker inspect
  docker image inspect "$AIP_IMAGE" "$AIP_NATS_IMAGE"
  docker image history --no-trunc "$AIP_IMAGE"
  compose logs --no-color
} >"$work/shown"
[ "$(wc -c <"$work/shown")" -ge 10000 ] || fail "the engine showed too little to mean anything"
! grep -qFf "$work/secrets" "$work/shown" || fail "a secret is in the logs or in docker inspect"

step "passed"
