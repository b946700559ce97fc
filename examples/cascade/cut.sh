#!/bin/sh
# Runs both nodes of the cascade, cuts the link by killing the hub (kill -9), publishes meanwhile, kills the edge node too, starts both
# again, and checks that all readings have arrived, in order.
#
#   sh examples/cascade/cut.sh             with ferry in the PATH
set -eu
command -v ferry >/dev/null || { echo "cut.sh: no ferry in the PATH: run make build, and put bin there: PATH=\$PWD/bin:\$PATH" >&2; exit 1; }
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cd "$work"
hub='' edge=''
stop() {
  for pid in $hub $edge; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap stop EXIT

# A node prints its addresses when it is ready.
start_hub() { ferry run -c "$here/hub.yaml" >hub.out 2>hub.log & hub=$!; until [ -s hub.out ]; do sleep 0.05; done; }
start_edge() { ferry run -c "$here/edge.yaml" >edge.out 2>edge.log & edge=$!; until [ -s edge.out ]; do sleep 0.05; done; }

# publish publishes the readings from $1 to $2 at the edge node, and returns when they are at the hub, or on the edge node's disk.
publish() {
  i=$1
  while [ "$i" -le "$2" ]; do echo "{\"n\":$i}"; i=$((i + 1)); done |
    ferry pub -q --ack -a tcp://127.0.0.1:5290 --data-dir cascade-data/edge readings/pump-1
}

start_hub
start_edge
publish 1 100
echo "100 readings published"
kill -9 "$hub" && wait "$hub" 2>/dev/null || true
rm hub.out
publish 101 200
echo "the hub is gone: 100 more published"
kill -9 "$edge" && wait "$edge" 2>/dev/null || true
rm edge.out
start_edge
publish 201 300
echo "the edge node was killed and started again: 100 more published"
start_hub
ferry sub -q -o raw -a tcp://127.0.0.1:5190 --data-dir cascade-data/hub --from first --count 300 'readings/#' >got
i=1
while [ "$i" -le 300 ]; do echo "{\"n\":$i}"; i=$((i + 1)); done >want
cmp want got
echo "the hub is back: it has all 300 readings, in order"
