/* SPDX-License-Identifier: MIT */
/* local/tree.h - removing a sandbox's directory. */
#ifndef LOCAL_TREE_H
#define LOCAL_TREE_H

/* Removes `path` with what is in it, two levels deep: a server makes no deeper ones. Does
 * not follow links. Async-signal-safe, which nftw() is not. */
void tree_remove(const char *path);

#endif
