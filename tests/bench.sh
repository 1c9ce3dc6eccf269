#!/usr/bin/env bash
# Measures a fleet of separate processes on this machine: starts nats-server (one, or three that form a cluster) and the
# services, runs `aip bench`, and ends what it started.
#
#   tests/bench.sh [--sync-always] [--cluster] [--dir DIR] [-- OPTIONS OF aip bench]
#
# AIP: the binary (target/release/aip). AIP_NATS_SERVER: the server (PATH, else what `aip up` fetched once).
# AIP_NICE: priority of everything that is measured (none; negative ones need root).
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
aip=${AIP:-$root/target/release/aip}
server=${AIP_NATS_SERVER:-$(command -v nats-server || ls "${XDG_CACHE_HOME:-$HOME/.cache}"/aip/nats-server-* | tail -1)}
dir="" sync="" cluster="" base=${AIP_BENCH_PORT:-15222}
while [ $# -gt 0 ]; do
  case $1 in
    --sync-always) sync=--sync-always ;;
    --cluster) cluster=yes ;;
    --dir) dir=$2; shift ;;
    --) shift; break ;;
    *) echo "unknown option $1" >&2; exit 2 ;;
  esac
  shift
done
if [ -z "$dir" ]; then dir=$(mktemp -d "${TMPDIR:-/tmp}/aip-bench.XXXXXX"); fi
mkdir -p "$dir"; dir=$(cd "$dir" && pwd)

started=()
stop() {
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
}
trap stop EXIT
start() { # name, command …
  local name=$1; shift
  if [ -n "${AIP_NICE:-}" ]; then nice -n "$AIP_NICE" "$@" >"$dir/$name.log" 2>&1 & else "$@" >"$dir/$name.log" 2>&1 & fi
  started+=($!)
}
until_true() { # what, command …
  local what=$1; shift
  for _ in $(seq 600); do if "$@" >/dev/null 2>&1; then return; fi; sleep 0.1; done
  echo "$what does not come up; see the logs in $dir" >&2; exit 1
}
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1"); }

http=$((base + 20)) replicas=1 urls="nats://127.0.0.1:$base"
if [ -n "$cluster" ]; then
  replicas=3 urls="nats://127.0.0.1:$base,nats://127.0.0.1:$((base + 1)),nats://127.0.0.1:$((base + 2))"
fi
"$aip" keys --dir "$dir" --listen "127.0.0.1:$base" --monitor "127.0.0.1:$((base + 10))" $sync \
  --url "http://127.0.0.1:$http" --nats-url "$urls" >/dev/null
if [ -n "$cluster" ]; then
  for n in 0 1 2; do # one configuration, three names, ports and stores
    conf=$dir/nats-$n.conf
    sed -e "s|^server_name:.*|server_name: \"n$n\"|" -e "s|^listen:.*|listen: \"127.0.0.1:$((base + n))\"|" \
      -e "s|^http:.*|http: \"127.0.0.1:$((base + 10 + n))\"|" -e "s|store_dir:.*|store_dir: \"$dir/nats-$n/store\"|" \
      "$dir/nats.conf" >"$conf"
    printf 'cluster {\n  name: "bench"\n  listen: "127.0.0.1:%s"\n  routes: ["nats://127.0.0.1:%s", "nats://127.0.0.1:%s", "nats://127.0.0.1:%s"]\n}\n' \
      $((base + 13 + n)) $((base + 13)) $((base + 14)) $((base + 15)) >>"$conf"
    chmod 600 "$conf"
    start "nats-$n" "$server" -c "$conf"
  done
else
  start nats "$server" -c "$dir/nats.conf"
fi
bootstrap() { "$aip" bootstrap --nats-url "$urls" --nkey-file "$dir/keys/bootstrap.nk" --replicas $replicas --nats-connect-timeout 5s; }
until_true nats-server listens "$base"
until_true bootstrap bootstrap
serve() { # service, user, more …
  local service=$1 user=$2; shift 2
  start "$service" "$aip" serve "$service" --nats-url "$urls" --nkey-file "$dir/keys/$user.nk" --config "$dir/aip.toml" "$@"
}
serve admission admission
serve scheduler scheduler
serve edge-http edge-http --http-listen "127.0.0.1:$http"
serve connector connector-demo --notes-file "$dir/notes-{tenant}.txt" --notes-unsafe-file "$dir/notes-unsafe-{tenant}.txt"
read_token() { sed -n "s/^export AIP_TOKEN='\(.*\)'$/\1/p" "$dir/env"; }
works() { AIP_URL="http://127.0.0.1:$http" AIP_TOKEN=$(read_token) "$aip" call cap:demo:echo --input '{"text":"up"}'; }
until_true "the fleet" works

bench=("$aip" bench --dir "$dir" "$@")
if [ -n "${AIP_NICE:-}" ]; then bench=(nice -n "$AIP_NICE" "${bench[@]}"); fi
"${bench[@]}"
