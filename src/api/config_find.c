/* SPDX-License-Identifier: MIT */
/* api/config_find.c - reads the config file and the password file from the disk. */
#include "api/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/errno_text.h"
#include "base/first_line.h"

#define FILE_BYTES_MAX 65536
#define PATH_BYTES_MAX 4096
#define NOT_REGULAR "not a regular file; a FIFO, device or directory is not read"

static dibs_status file_fault(const char *path, const char *words, text *why)
{
  text_format(why, "%s: %s", path, words);
  return DIBS_ERR_CONFIG;
}

/* Fills `bytes`; returns the number read, or -1 with errno. */
static ssize_t read_all(int fd, char *bytes, size_t size)
{
  size_t used = 0;

  while (used < size) {
    ssize_t n = read(fd, bytes + used, size - used);

    if (n == 0)
      break;
    if (n < 0 && errno != EINTR)
      return -1;
    if (n > 0)
      used += (size_t)n;
  }
  return (ssize_t)used;
}

const char *config_file_fault(const char *path)
{
  struct stat facts;

  if (stat(path, &facts) != 0 || S_ISREG(facts.st_mode))
    return NULL;
  return ": " NOT_REGULAR;
}

dibs_status config_file_read(const memory *m, const char *path, char **ret_bytes,
                             size_t *ret_size, bool *ret_missing, text *why)
{
  /* O_NONBLOCK: open() of a FIFO would wait. */
  int fd = above_stdio(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat facts;
  char *bytes;
  ssize_t size;

  *ret_missing = fd < 0 && (errno == ENOENT || errno == ENOTDIR);
  if (fd < 0)
    return file_fault(path, errno_text(errno), why);
  if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    (void)close(fd);
    return file_fault(path, NOT_REGULAR, why);
  }
  bytes = mem_alloc(m, FILE_BYTES_MAX + 1);
  if (bytes == NULL) {
    (void)close(fd);
    return DIBS_ERR_NO_MEMORY;
  }
  size = read_all(fd, bytes, FILE_BYTES_MAX + 1);
  (void)close(fd);
  if (size < 0 || size > FILE_BYTES_MAX) {
    mem_wipe(bytes, FILE_BYTES_MAX + 1);
    mem_free(m, bytes);
    return file_fault(path, size < 0 ? errno_text(errno) : "longer than 64 KiB", why);
  }
  bytes[size] = 0;
  *ret_bytes = bytes;
  *ret_size = (size_t)size;
  return DIBS_OK;
}

static dibs_status first_line_read(const memory *m, const char *path, char **ret_password,
                                   text *why)
{
  const char *reason;
  char *bytes;
  size_t size;
  bool is_missing;
  dibs_status status = config_file_read(m, path, &bytes, &size, &is_missing, why);

  if (status != DIBS_OK)
    return status;
  reason = first_line_end(bytes, size);
  if (reason != NULL)
    status = file_fault(path, reason, why);
  else
    *ret_password = mem_copy_text(m, bytes);
  mem_wipe(bytes, size);
  mem_free(m, bytes);
  return status == DIBS_OK && *ret_password == NULL ? DIBS_ERR_NO_MEMORY : status;
}

/* `path`: of the config file. */
static dibs_status password_read(config *c, const char *path, text *why)
{
  char words[256];
  text own = text_over(words, sizeof(words));
  dibs_status status;

  if (c->password_file == NULL)
    return DIBS_OK;
  if (c->password != NULL)
    return file_fault(path, "password and password_file are both given", why);
  status = first_line_read(&c->memory, c->password_file, &c->password, &own);
  if (status == DIBS_ERR_CONFIG)
    text_format(why, "%s: password_file: %s%s", path, words, c->password_file[0] == '/' ? "" :
                ", seen from the working directory: write the whole path, which begins with /");
  return status;
}

static dibs_status file_parse(config *c, const char *path, bool *ret_missing, text *why)
{
  char *bytes;
  size_t size;
  dibs_status status = config_file_read(&c->memory, path, &bytes, &size, ret_missing, why);

  if (status != DIBS_OK)
    return status;
  status = config_parse(c, bytes, size, path, why);
  mem_wipe(bytes, size);
  mem_free(&c->memory, bytes);
  if (status != DIBS_OK)
    return status;
  c->file = mem_copy_text(&c->memory, path);
  return c->file == NULL ? DIBS_ERR_NO_MEMORY : DIBS_OK;
}

static dibs_status file_use(config *c, const char *path, bool *ret_missing, text *why)
{
  dibs_status status = file_parse(c, path, ret_missing, why);

  return status == DIBS_OK ? password_read(c, path, why) : status;
}

/* The sentinels' password needs nothing of a password_file. */
static dibs_status config_password_read(config *c, const char *path, bool is_of_sentinels,
                                        char **ret_password, text *why)
{
  char **field = is_of_sentinels ? &c->sentinel_password : &c->password;
  bool is_missing;
  dibs_status status = is_of_sentinels ? file_parse(c, path, &is_missing, why)
                                       : file_use(c, path, &is_missing, why);

  if (status != DIBS_OK)
    return status;
  if (*field == NULL)
    return file_fault(path, is_of_sentinels ? "there is no sentinel_password in it"
                                            : "there is no password in it", why);
  *ret_password = *field;
  *field = NULL;
  return DIBS_OK;
}

dibs_status password_file_read(const memory *m, const char *path, password_place place,
                               char **ret_password, text *why)
{
  dibs_status status;
  config c;

  *ret_password = NULL;
  if (place == PASSWORD_LINE)
    return first_line_read(m, path, ret_password, why);
  config_init(&c, m);
  status = config_password_read(&c, path, place == SENTINEL_PASSWORD_KEY, ret_password, why);
  config_deinit(&c);
  return status;
}

/* The user's own config file; false without a home. */
static bool user_path(char *bytes, size_t size)
{
  const char *directory = secure_getenv("XDG_CONFIG_HOME");
  const char *home = secure_getenv("HOME");
  text path = text_over(bytes, size);

  if (directory != NULL && directory[0] == '/')
    text_format(&path, "%s/dibs/config", directory);
  else if (home != NULL && home[0] == '/')
    text_format(&path, "%s/.config/dibs/config", home);
  else
    return false;
  return !path.is_cut;
}

dibs_status config_find(config *c, const char *named, text *why)
{
  char own[PATH_BYTES_MAX];
  const char *paths[] = { own, "/etc/dibs/config" };
  char words[512];

  /* A file that was named must exist, and is the only one read. */
  if (named == NULL) {
    named = secure_getenv("DIBS_CONFIG");
    if (named != NULL && strcmp(named, "/dev/null") == 0)
      return DIBS_OK;                    /* none, as for git, ssh and curl */
  }
  if (named != NULL && named[0] != 0) {
    bool is_missing;

    return file_use(c, named, &is_missing, why);
  }
  for (size_t i = user_path(own, sizeof(own)) ? 0 : 1; i < 2; i++) {
    text mine = text_over(words, sizeof(words));
    bool is_missing = false;
    dibs_status status = file_use(c, paths[i], &is_missing, &mine);

    if (is_missing)
      continue;
    if (status != DIBS_OK)
      text_add(why, words);
    return status;
  }
  return DIBS_OK;
}
