# SPDX-License-Identifier: MIT
# What the legs of ./check are made of: build, run tests, count. POSIX sh, sourced.
# Uses cores, times, table, legs of ./check.
# shellcheck shell=sh

no_skips=''

say()
{
  printf '== %s (%s s)\n' "$*" "$(($(date +%s) - CHECK_STARTED))"
}

# took SECONDS_BEFORE WHAT: a line for tools/slow about what is not a test.
took()
{
  printf '%s\t%s\tstep\t%s\tOK\n' "$(($(date +%s) - $1))" "$leg_name" "$2" >>"$times"
}

failed_leg()
{
  echo "FAILED: $*"
  echo "0 1 0" >>"$sums"
}

# Objects that a cache has need not be compiled again.
compiler_of()
{
  if command -v ccache >/dev/null 2>&1; then echo "ccache $1"; else echo "$1"; fi
}

# set_up DIRECTORY COMPILER [SETUP OPTION]...
set_up()
{
  set_up_in=$1
  compiler=$2
  shift 2
  case $compiler in clang) cpp=clang++ ;; *) cpp=g++ ;; esac
  CC=$(compiler_of "$compiler") CXX=$(compiler_of "$cpp") meson setup "$set_up_in" "$@" \
    >"$set_up_in.log" 2>&1 </dev/null
}

# configure DIRECTORY COMPILER [SETUP OPTION]...
configure()
{
  directory=build/$1
  compiler=$2
  shift 2
  [ ! -f "$directory/build.ninja" ] || return 0
  rm -rf "$directory"
  if ! set_up "$directory" "$compiler" -Dwerror=true -Dtests=enabled -Dsim=enabled "$@"; then
    tail -n 25 "$directory.log"
    failed_leg "meson setup $directory"
    return 1
  fi
}

# compile DIRECTORY [TARGET]...: all targets without any.
compile()
{
  directory=build/$1
  shift
  begun=$(date +%s)
  say "build $directory"
  if ! ninja -C "$directory" -j "$cores" "$@" >"$directory.log" 2>&1 </dev/null; then
    grep -E -A6 'error|FAILED' "$directory.log" | head -n 60
    failed_leg "build $directory (whole log: $directory.log)"
    return 1
  fi
  took "$begun" "build $directory"
}

# build DIRECTORY COMPILER [SETUP OPTION]...
build()
{
  configure "$@" && compile "$1"
}

# build_for WORDS DIRECTORY COMPILER [SETUP OPTION]...: only what these suites and tests need.
build_for()
{
  words=$1
  shift
  configure "$@" || return
  ninja -C "build/$1" build.ninja >/dev/null 2>&1 </dev/null   # tests of a newer commit, too
  # shellcheck disable=SC2046,SC2086 # words and targets are words
  compile "$1" $(python3 tools/pick_tests.py "build/$1" targets $words)
}

# built_as COMPILER TYPE OPTION...: whether a user's build of that type ends well.
built_as()
{
  directory=build/as/$1-$2
  say "build as $*"
  rm -rf "$directory"
  mkdir -p build/as
  compiler=$1
  type=$2
  shift 2
  if set_up "$directory" "$compiler" --buildtype="$type" "$@" &&
    ninja -C "$directory" -j "$cores" >"$directory.log" 2>&1 </dev/null; then
    echo "1 0 0" >>"$sums"
    rm -rf "$directory"
  else
    tail -n 25 "$directory.log"
    failed_leg "build with $compiler --buildtype=$type $*"
  fi
}

# Whoever started this script in the background made it ignore SIGINT, and so all it starts.
# The tests begin with the defaults.
as_a_person()
{
  python3 -c '
import os, signal, sys
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE):
    signal.signal(number, signal.SIG_DFL)
os.closerange(3, 256)
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}

# run_meson DIRECTORY PROCESSES [MESON TEST OPTION]... [-- NAME...]
run_meson()
{
  run_in=$1
  run_processes=$2
  shift 2
  rm -f "$run_in"/meson-logs/check*.json
  # shellcheck disable=SC2034 # used by count_tests
  run_wanted=$(meson test -C "$run_in" --no-rebuild --list "$@" 2>/dev/null | grep -c ' / ')
  as_a_person meson test -C "$run_in" --no-rebuild --logbase check \
    --num-processes "$run_processes" "$@" >"$run_in/test-run.log" 2>&1 </dev/null
}

# count_tests [AGAIN_FILE]
count_tests()
{
  # shellcheck disable=SC2086
  python3 tools/tap_sum.py $no_skips --times "$times" --programs "$run_wanted" \
    "$directory/meson-logs/check" "$sums" "$@" || tail -n 5 "$directory/test-run.log"
}

# run_tests DIRECTORY PROCESSES [MESON TEST OPTION]... [-- NAME...]
# A test that waits for others and failed, perhaps because the machine was busy, runs again, alone;
# what passes then is named at the end.
run_tests()
{
  directory=build/$1
  processes=$2
  shift 2
  begun=$(date +%s)
  again=build/check.again
  options=$*
  say "test $directory ${options%% -- *}"
  : >"$again"
  run_meson "$directory" "$processes" "$@"
  ls "$directory"/meson-logs/check*.json >/dev/null 2>&1 || tail -n 20 "$directory/test-run.log"
  count_tests "$again"
  took "$begun" "test $directory ${options%% -- *}"
  [ -s "$again" ] || return 0
  left=$#
  while [ "$left" -gt 0 ] && [ "$1" != -- ]; do
    set -- "$@" "$1"
    shift
    left=$((left - 1))
  done
  shift "$left"
  sed "s|^|$directory |" "$again" >>"$unsteady"
  say "again, alone: $(tr '\n' ' ' <"$again")"
  # shellcheck disable=SC2046 # names are words
  run_meson "$directory" 1 "$@" -- $(cat "$again")
  count_tests
}

# each OPTION WORD...: "OPTION WORD" for each word.
each()
{
  option=$1
  shift
  for word; do
    printf '%s %s ' "$option" "$word"
  done
}

# pick DIRECTORY gate|rest PROCESSES SUITES [MESON TEST OPTION]...: those tests of these suites that
# are in the gate, or those that are not.
pick()
{
  # shellcheck disable=SC2086
  if ! names=$(python3 tools/pick_tests.py "build/$1" "$2" $4); then
    failed_leg "tools/pick_tests.py build/$1 $2"
    return
  fi
  say "$2: $4"
  [ -n "$names" ] || return 0
  picked_in=$1
  picked_processes=$3
  picked_suites=$4
  shift 4
  # shellcheck disable=SC2046,SC2086
  run_tests "$picked_in" "$picked_processes" "$@" $(each --suite $picked_suites) -- $names
}

# run_leg LEG: a row of the table: leg, cases, failed, skipped, not steady, seconds.
run_leg()
{
  leg_name=$1
  sums=build/check.sums
  unsteady=build/check.unsteady
  : >"$sums"
  : >"$unsteady"
  leg_begun=$(date +%s)
  "leg_$1"
  awk '{ p += $1; f += $2; s += $3 } END { printf "%d %d %d", p, f, s }' "$sums" >build/check.row
  printf '%s %s %s %s %s\n' "$1" "$(cat build/check.row)" "$(wc -l <"$unsteady" | tr -d ' ')" \
    "$(($(date +%s) - leg_begun))" "$(tr '\n' ',' <"$unsteady" | tr ' ' '/')" >>"$table"
}

# Prints the table and the closing line; returns whether all passed.
close_table()
{
  awk 'BEGIN { printf "%-12s %7s %7s %8s %11s %8s\n",
               "leg", "passed", "failed", "skipped", "not steady", "seconds" }
       { printf "%-12s %7d %7d %8d %11d %8d\n", $1, $2, $3, $4, $5, $6 }' "$table"
  if awk '$5 > 0 { some = 1 } END { exit !some }' "$table"; then
    echo "Not steady, ran again alone (see CONTRIBUTING.md for what to do):"
    awk '$5 > 0 { n = split($7, names, ",")
                  for (i = 1; i < n; i++) print "  " $1 ": " names[i] }' "$table"
  fi
  awk '{ p += $2; f += $3 }
       END { if (p + f == 0) { print "FAILED: no test ran"; f = 1 }
             printf "%d passed, %d failed\n", p, f; exit f > 0 }' "$table"
}
