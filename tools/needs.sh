# SPDX-License-Identifier: MIT
# What ./check and ./demo need on a machine, and how it gets there. POSIX sh, sourced.
#
# need NAME...   remembers each thing that is not here
# wish NAME...   the same for what some tests are skipped without: installed like the others
#                where that may be done unasked, else only named
# have_needs     installs what is missing (root on Debian or Ubuntu, unless DIBS_NO_APT=1),
#                or prints the one line to run and exits 69
# shellcheck shell=sh

needs_missing=''
needs_wished=''

# name | Debian | Fedora | Alpine | Arch | Homebrew
needs_table='
gcc|gcc|gcc|gcc|gcc|gcc
libc|libc6-dev|glibc-devel|musl-dev linux-headers|glibc|gcc
g++|g++|gcc-c++|g++|gcc|gcc
clang|clang|clang|clang|clang|llvm
clang-tidy|clang-tidy|clang-tools-extra|clang-extra-tools|clang|llvm
clang-format|clang-format|clang-tools-extra|clang-extra-tools|clang|llvm
meson|meson|meson|meson|meson|meson
ninja|ninja-build|ninja-build|samurai|ninja|ninja
pkg-config|pkg-config|pkgconf-pkg-config|pkgconf|pkgconf|pkgconf
python3|python3|python3|python3|python|python3
python3-redis|python3-redis|python3-redis|py3-redis|python-redis|
python3-cffi|python3-cffi|python3-cffi|py3-cffi|python-cffi|cffi
python3-pytest|python3-pytest|python3-pytest|py3-pytest|python-pytest|
python3-venv|python3-venv|python3|python3|python|python3
python3-dev|python3-dev|python3-devel|python3-dev|python|python3
cmake|cmake|cmake|cmake|cmake|cmake
ps|procps|procps-ng|procps|procps-ng|coreutils
scdoc|scdoc|scdoc|scdoc|scdoc|scdoc
openssl|openssl|openssl|openssl|openssl|openssl
valgrind|valgrind|valgrind|valgrind|valgrind|valgrind
gcovr|gcovr|gcovr|gcovr|gcovr|gcovr
libfuzzer|libclang-rt-14-dev|compiler-rt|compiler-rt|compiler-rt|llvm
lib:hiredis|libhiredis-dev|hiredis-devel|hiredis-dev|hiredis|hiredis
lib:openssl|libssl-dev|openssl-devel|openssl-dev|openssl|openssl
lib:jansson|libjansson-dev|jansson-devel|jansson-dev|jansson|jansson
lib:lua5.1|liblua5.1-0-dev|compat-lua-devel|lua5.1-dev|lua51|lua@5.1
spin|spin||spin||spin
iptables|iptables|iptables|iptables|iptables|
ip|iproute2|iproute|iproute2|iproute2|
lib:cmocka|libcmocka-dev|libcmocka-devel|cmocka-dev|cmocka|cmocka
musl-gcc|musl-tools||||
libc:32_bit|libc6-dev-i386||||
dh|debhelper||||
dh_python3|dh-python||||
mmdebstrap|mmdebstrap||||
lintian|lintian||||
rpmbuild|rpm|rpm-build|||
python3-setuptools|python3-setuptools|python3-setuptools|py3-setuptools|python-setuptools|
python3-dev|python3-dev|python3-devel|python3-dev|python|
lib:inih|libinih-dev|inih-devel|inih-dev|libinih|inih
lib:libuv|libuv1-dev|libuv-devel|libuv-dev|libuv|libuv
lib:libevent|libevent-dev|libevent-devel|libevent-dev|libevent|libevent
libev|libev-dev|libev-devel|libev-dev|libev|libev
lib:glib-2.0|libglib2.0-dev|glib2-devel|glib-dev|glib2|glib
boost|libboost-dev|boost-devel|boost-dev|boost|boost
lib:libsystemd|libsystemd-dev|systemd-devel||systemd-libs|
microhttpd|libmicrohttpd-dev|libmicrohttpd-devel|libmicrohttpd-dev|libmicrohttpd|libmicrohttpd
ncurses|libncurses-dev|ncurses-devel|ncurses-dev|ncurses|ncurses
tmux|tmux|tmux|tmux|tmux|tmux
ab|apache2-utils|httpd-tools|apache2-utils|apache|httpd
chart.js|libjs-chart.js||||
chromium|chromium|chromium|chromium|chromium|chromium
prometheus|prometheus||prometheus|prometheus|prometheus
sdt|systemtap-sdt-dev|systemtap-sdt-devel|||
uthash|uthash-dev|uthash-devel|uthash-dev|uthash|uthash
server|redis-tools|valkey|valkey|valkey|valkey
'

# Whether a server program is here; the same search as the private server does.
has_server()
{
  for program in "${DIBS_SERVER:-}" valkey-server redis-server redict-server keydb-server \
    valkey-check-rdb redis-check-rdb; do
    if [ -n "$program" ] && command -v "$program" >/dev/null 2>&1; then
      return 0
    fi
  done
  return 1
}

has_compiled()
{
  printf '%s\n' "$1" | ${CC:-cc} -x c "$2" "$3" - -o /dev/null >/dev/null 2>&1
}

is_here()
{
  case $1 in
    server) has_server ;;
    lib:*) command -v pkg-config >/dev/null 2>&1 && pkg-config --exists "${1#lib:}" ;;
    microhttpd) is_here lib:libmicrohttpd ;;
    ncurses) is_here lib:ncursesw ;;
    python3-redis)
      for python in python3 /usr/bin/python3; do
        "$python" -c 'import redis' 2>/dev/null && return 0
      done
      return 1
      ;;
    python3-venv) python3 -c 'import ensurepip' 2>/dev/null ;;
    boost) CC=gcc has_compiled '#include <boost/version.hpp>' -Wall -fsyntax-only ;;
    python3-dev) /usr/bin/python3 -c '
import os, sysconfig
raise SystemExit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ;;
    libev) CC=gcc has_compiled '#include <ev.h>' -Wall -fsyntax-only ;;
    chart.js) test -e /usr/share/javascript/chart.js/chart.min.js ;;
    # Debian's own: another python3 does not count when its packages are built.
    python3-cffi | python3-setuptools) /usr/bin/python3 -c "import ${1#python3-}" 2>/dev/null ;;
    python3-pytest)
      for python in python3 /usr/bin/python3; do
        "$python" -c "import ${1#python3-}" 2>/dev/null && return 0
      done
      return 1
      ;;
    libc:32_bit) CC=gcc has_compiled '#include <stdlib.h>' -m32 -fsyntax-only ;;
    libc) CC=gcc has_compiled '#include <stdlib.h>' -Wall -fsyntax-only ;;
    sdt) CC=gcc has_compiled '#include <sys/sdt.h>' -Wall -fsyntax-only ;;
    uthash) CC=gcc has_compiled '#include <uthash.h>' -Wall -fsyntax-only ;;
    libfuzzer)
      CC=clang has_compiled '#include <stddef.h>
int LLVMFuzzerTestOneInput(const unsigned char *d, size_t n) { return d[0] + (int)n > 1; }' \
        -fsanitize=fuzzer,address -g
      ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}

need()
{
  for thing; do
    is_here "$thing" || needs_missing="$needs_missing $thing"
  done
}

may_install()
{
  command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" -eq 0 ] && [ "${DIBS_NO_APT:-}" != 1 ]
}

wish()
{
  if may_install; then
    need "$@"
    return
  fi
  for thing; do
    is_here "$thing" || needs_wished="$needs_wished $thing"
  done
}

# The packages for all that is missing, in the words of the system in column $1.
needs_packages()
{
  for thing in $needs_missing; do
    printf '%s\n' "$needs_table" | awk -F'|' -v name="$thing" -v column="$1" \
      '$1 == name { print $column }'
  done | tr '\n' ' ' | sed 's/ *$//'
}

# Debian's packages of a library may be split from its compiler; clang's version decides.
needs_apt()
{
  packages=$(needs_packages 2)
  # shellcheck disable=SC2086 # the packages are words
  set -- apt-get install -y --no-install-recommends $packages
  if ! may_install; then
    echo "Missing:$needs_missing. To install it, run:" >&2
    echo "  sudo $*" >&2
    exit 69
  fi
  echo "Installing what is missing: $*"
  export DEBIAN_FRONTEND=noninteractive
  needs_log=$(mktemp)
  if ! { apt-get update && "$@"; } >"$needs_log" 2>&1 </dev/null; then
    tail -n 15 "$needs_log" >&2
    rm -f "$needs_log"
    echo "apt-get failed; the line was: $*" >&2
    exit 69
  fi
  rm -f "$needs_log"
}

have_needs()
{
  [ -z "$needs_wished" ] || echo "Not here, so that some tests are skipped:$needs_wished"
  [ -n "$needs_missing" ] || return 0
  if command -v apt-get >/dev/null 2>&1; then
    needs_apt
    wanted=$needs_missing
    needs_missing=''
    # shellcheck disable=SC2086 # the names are words
    need $wanted
    [ -z "$needs_missing" ] && return 0
    echo "Still missing after apt-get:$needs_missing" >&2
    exit 69
  fi
  echo "Missing:$needs_missing. To install it, run:" >&2
  if command -v dnf >/dev/null 2>&1; then
    echo "  sudo dnf install $(needs_packages 3)" >&2
  elif command -v apk >/dev/null 2>&1; then
    echo "  sudo apk add $(needs_packages 4)" >&2
  elif command -v pacman >/dev/null 2>&1; then
    echo "  sudo pacman -S $(needs_packages 5)" >&2
  elif command -v brew >/dev/null 2>&1; then
    echo "  brew install $(needs_packages 6)" >&2
  else
    echo "  (no known package manager; on Debian: apt-get install $(needs_packages 2))" >&2
  fi
  exit 69
}
