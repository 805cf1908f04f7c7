/* SPDX-License-Identifier: MIT */
/* local/own_files.c - directories and files of this user alone. */
#include "local/own_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/descriptor.h"

bool own_directory_make(const char *path)
{
  if (mkdir(path, 0700) != 0)
    return errno == EEXIST;
  /* If it has been replaced by a link, the mode of what that names stays. */
  (void)fchmodat(AT_FDCWD, path, 0700, AT_SYMLINK_NOFOLLOW);
  return true;
}

int own_file_open(const char *path, int flags)
{
  const int all = flags | O_CLOEXEC | O_NOFOLLOW;
  int fd = above_stdio(open(path, all));

  if (fd < 0 && errno == ENOENT) {
    fd = above_stdio(open(path, all | O_CREAT | O_EXCL, 0600));
    if (fd >= 0)
      (void)fchmod(fd, 0600);
    else if (errno == EEXIST)     /* another process was faster */
      fd = above_stdio(open(path, all));
  }
  return fd;
}
