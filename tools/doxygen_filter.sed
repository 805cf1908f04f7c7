# SPDX-License-Identifier: MIT
# Makes plain header comments readable for doxygen: sed -f, one header to stdout.
2,$s|^/\* \([A-Z]\)|/** \1|
2,$s|^\( *[^/ ].*\)/\* |\1/**< |
s/^ \* \(Returns\|Thread\|Fork\|Source\)\>  *\(DIBS_[A-Z_]*\)  */ * \\par \1:\n * - \2: /
s/^ \* \(Returns\|Thread\|Fork\|Source\)\>  */ * \\par \1:\n * /
s/^ \*    *\(DIBS_[A-Z_]*\)  */ * - \1: /
