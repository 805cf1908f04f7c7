#!/bin/sh
# SPDX-License-Identifier: MIT
# The reference builds from the headers without a warning: reference.sh ROOT DOXYGEN
set -eu
cd "$1"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
{ cat Doxyfile; echo "OUTPUT_DIRECTORY = $place"; } | "$2" -
test -s "$place/html/lock_8h.html"
