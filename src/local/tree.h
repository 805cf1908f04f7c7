/* SPDX-License-Identifier: MIT */
/* local/tree.h - removes a sandbox's directory. */
#ifndef LOCAL_TREE_H
#define LOCAL_TREE_H

/* Removes `path` and its contents, two levels deep: a server creates no deeper ones. Does
 * not follow links. Async-signal-safe, unlike nftw(). */
void tree_remove(const char *path);

/* The same with a descriptor of `path`, so that none is needed for an empty directory or one of
 * empty directories. Closes `fd`; -1 does nothing. */
void tree_remove_at(int fd, const char *path);

#endif
