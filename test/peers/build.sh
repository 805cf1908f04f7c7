#!/bin/sh
# SPDX-License-Identifier: MIT
# test/peers/build.sh - builds the peers: programs around lock libraries of other languages.
#
#   test/peers/build.sh [--offline] DIRECTORY [PEER]...
#
# Without PEER: all but etcd, which is large and only for bench/peers_run. Each becomes
# DIRECTORY/PEER/run, a program that speaks test/peers/PROTOCOL.md; one that is there already and
# whose sources are the same stays. What lacks its toolchain or cannot fetch its libraries says
# "SKIP: PEER: why"; then there is no run of it. With --offline nothing is fetched: only what the
# machine has, and what was fetched before. Those of Java start quickly; with PEERS_JAVA in their
# environment, options of a virtual machine, they run with these instead.
# Exit: 0, also with skips; 64 wrong use.
set -u
here=$(cd "$(dirname "$0")" && pwd)
offline=
if [ "${1:-}" = --offline ]; then
  offline=yes
  shift
fi
if [ $# -eq 0 ]; then
  echo "Usage: test/peers/build.sh [--offline] DIRECTORY [PEER]..." >&2
  exit 64
fi
mkdir -p "$1" || exit 64
out=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- redisson4 redisson3 spring7 spring6 python go node

skip()
{
  rm -rf "${out:?}/$peer/run" "$out/$peer/stamp"
  echo "SKIP: $peer: $*"
}

has()
{
  command -v "$1" >/dev/null 2>&1 && return 0
  skip "no $1 here"
  return 1
}

# What a log says of the reason, for a line of SKIP.
why()
{
  grep -E -i 'error|fail|cannot|not |unreachable|missing' "$out/$peer.log" | head -n 1 |
    cut -c 1-200
}

# What a peer is made from, as one number; and the version of this script's launchers.
stamp_of()
{
  find "$here/$1" "$here/go/side" "$here/build.sh" -type f \
    ! -path '*/node_modules/*' ! -path '*/target/*' \
    -exec cksum {} + | sort | cksum
}

# is_fresh FOLDER: whether the peer is there already, made from the same sources.
is_fresh()
{
  [ -x "$out/$peer/run" ] && [ "$(cat "$out/$peer/stamp" 2>/dev/null)" = "$(stamp_of "$1")" ] &&
    echo "there: $peer"
}

# finish FOLDER LINE: writes the launcher, whose last line is LINE.
finish()
{
  printf '#!/bin/sh\n%s\n' "$2" >"$out/$peer/run"
  chmod +x "$out/$peer/run"
  stamp_of "$1" >"$out/$peer/stamp"
  echo "built: $peer"
}

# First without the network; then, where that may be, with it.
with_or_without_network()
{
  without=$1
  shift
  # shellcheck disable=SC2086 # a word, or none
  timeout 300 "$@" $without >"$out/$peer.log" 2>&1 </dev/null && return 0
  [ -z "$offline" ] || return 1
  timeout 300 "$@" >"$out/$peer.log" 2>&1 </dev/null
}

java_peer()
{
  has javac && has mvn || return
  is_fresh java && return
  rm -rf "${out:?}/$peer/classes" "${out:?}/$peer/lib"
  mkdir -p "$out/$peer"
  if ! with_or_without_network -o mvn -q -B -f "$here/java/pom.xml" -P "$peer" \
    "-Dpeers.out=$out/$peer" compile; then
    skip "mvn: $(why)"
    return
  fi
  quick='-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto'
  finish java "exec java \${PEERS_JAVA-$quick} -Xmx256m \\
  -cp '$out/$peer/classes:$out/$peer/lib/*' Peer $1 \"\$@\""
}

python_peer()
{
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import redis, redis.lock' 2>/dev/null; then
      mkdir -p "$out/$peer"
      finish python "exec $(command -v "$python") '$here/python/peer.py' \"\$@\""
      return
    fi
  done
  skip "python3 has no module redis (Debian: python3-redis)"
}

# go_peer FOLDER
go_peer()
{
  has go || return
  is_fresh "$1" && return
  folder=$1
  mkdir -p "$out/$peer"
  if [ -n "$offline" ]; then
    set -- env GOPROXY=off GOFLAGS=-mod=readonly
  else
    set -- env GOFLAGS=-mod=readonly
  fi
  if ! (cd "$here/$folder" && timeout 300 "$@" go build -o "$out/$peer/peer" .) \
    >"$out/$peer.log" 2>&1 </dev/null; then
    skip "go: $(why)"
    return
  fi
  finish "$folder" "exec '$out/$peer/peer' \"\$@\""
}

node_peer()
{
  has node && has npm || return
  is_fresh node && return
  mkdir -p "$out/$peer"
  cp "$here"/node/package.json "$here"/node/package-lock.json "$here"/node/*.mjs "$out/$peer/"
  if ! with_or_without_network --offline npm ci --prefix "$out/$peer" --no-audit --no-fund \
    --ignore-scripts --fetch-retries 1 --fetch-retry-mintimeout 1000; then
    skip "npm: $(why)"
    return
  fi
  finish node "exec node '$out/$peer/peer.mjs' \"\$@\""
}

for peer; do
  case $peer in
    redisson*) java_peer Redisson ;;
    spring*) java_peer Spring ;;
    python) python_peer ;;
    go | etcd) go_peer "$peer" ;;
    node) node_peer ;;
    *) echo "test/peers/build.sh: unknown peer '$peer'" >&2; exit 64 ;;
  esac
done
