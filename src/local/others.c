/* SPDX-License-Identifier: MIT */
/* local/others.c - finds private servers of this user among its processes. */
#include "local/others.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "local/entries.h"

/* The relevant facts about a process. */
typedef struct seen {
  char name[16];
  char state;
  uid_t user;
  int depth;            /* of its pid name space below that of /proc; 0: unknown */
} seen;

typedef struct search {
  int proc;
  pid_t self;
  int depth;
  int shortage;         /* errno: a process was not seen for lack of descriptors or memory; 0 */
  others *found;
} search;

/* ---- files of /proc ---- */

static bool is_shortage(int cause)
{
  return cause == EMFILE || cause == ENFILE || cause == ENOMEM;
}

/* Reads the beginning of /proc/<pid>/<file>; "" if the process has ended. */
static void read_file(search *s, const char *pid, const char *file, char *ret_bytes,
                      size_t size, size_t *ret_used)
{
  char path[64];
  size_t used = 0;
  ssize_t got = 1;
  int fd;

  *ret_used = 0;
  ret_bytes[0] = '\0';
  if (strlen(pid) + 1 + strlen(file) >= sizeof(path))
    return;
  (void)stpcpy(stpcpy(stpcpy(path, pid), "/"), file);
  fd = above_stdio(openat(s->proc, path, O_RDONLY | O_CLOEXEC));
  if (fd < 0) {
    if (is_shortage(errno))
      s->shortage = errno;
    return;
  }
  while (got > 0 && used < size - 1) {
    got = read(fd, ret_bytes + used, size - 1 - used);
    used += got > 0 ? (size_t)got : 0;
  }
  (void)close(fd);
  ret_bytes[used] = '\0';
  *ret_used = used;
}

/* The value of a line of /proc/<pid>/status, or "". */
static const char *field(const char *status, const char *name)
{
  const char *at = status;

  while (at != NULL && strncmp(at, name, strlen(name)) != 0) {
    at = strchr(at, '\n');
    at = at == NULL ? NULL : at + 1;
  }
  return at == NULL ? "" : at + strlen(name) + strspn(at + strlen(name), "\t ");
}

static unsigned long number(const char *digits)
{
  unsigned long value = 0;

  for (; *digits >= '0' && *digits <= '9'; digits++)
    value = 10 * value + (unsigned long)(*digits - '0');
  return value;
}

/* The second number of "real effective saved file-system". */
static uid_t effective_user(const char *users)
{
  const char *second = users + strcspn(users, "\t ");

  return (uid_t)number(second + strspn(second, "\t "));
}

static int count_numbers(const char *line)
{
  int count = 0;

  while (*line >= '0' && *line <= '9') {
    count++;
    line += strspn(line, "0123456789");
    line += strspn(line, "\t ");
  }
  return count;
}

static bool look_at(search *s, const char *pid, seen *ret_seen)
{
  char status[2048];
  const char *name;
  size_t used;

  read_file(s, pid, "status", status, sizeof(status), &used);
  if (used == 0)
    return false;
  memset(ret_seen, 0, sizeof(*ret_seen));
  name = field(status, "Name:");
  for (size_t i = 0; i < sizeof(ret_seen->name) - 1 && name[i] != '\n' && name[i] != '\0'; i++)
    ret_seen->name[i] = name[i];
  ret_seen->state = *field(status, "State:");
  ret_seen->user = effective_user(field(status, "Uid:"));
  ret_seen->depth = count_numbers(field(status, "NSpid:"));
  return true;
}

/* The server's title contains its socket: "redis-server unixsocket:PATH". */
static bool is_server(search *s, const char *pid)
{
  static const char before[] = "unixsocket:/tmp/dibs-";
  static const char after[] = "/server.sock";
  char line[512], *at;
  size_t used;

  read_file(s, pid, "cmdline", line, sizeof(line), &used);
  at = memmem(line, used, before, sizeof(before) - 1);
  if (at == NULL)
    return false;
  at += sizeof(before) - 1;
  return number(at) == (unsigned long)geteuid()
         && strncmp(at + strspn(at, "0123456789"), after, sizeof(after) - 1) == 0;
}

/* ---- all processes ---- */

static void consider(const char *name, void *data)
{
  search *s = data;
  pid_t pid = (pid_t)number(name);
  seen process;

  if (pid <= 0 || pid == s->self || !look_at(s, name, &process))
    return;
  if (process.user != geteuid() || process.depth != s->depth || process.state == 'Z'
      || process.state == 'X')
    return;
  if (strcmp(process.name, SUPERVISOR_NAME) == 0)
    s->found->supervisor = pid;
  else if (is_server(s, name))
    s->found->server = pid;
}

/* In that /proc, which may be that of another pid name space; 0: cannot be read. */
static pid_t own_number(int proc)
{
  char digits[24];
  ssize_t used = readlinkat(proc, "self", digits, sizeof(digits) - 1);

  digits[used > 0 ? used : 0] = '\0';
  return (pid_t)number(digits);
}

bool others_look(others *ret_others)
{
  search s = { .found = ret_others };
  seen self;
  int cause = EIO;

  memset(ret_others, 0, sizeof(*ret_others));
  s.proc = above_stdio(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (s.proc < 0)
    return false;
  s.self = own_number(s.proc);
  if (s.self > 0 && look_at(&s, "self", &self)) {
    s.depth = self.depth;
    cause = entries_each(s.proc, consider, &s) ? 0 : errno;
  }
  if (s.shortage != 0)
    cause = s.shortage;
  (void)close(s.proc);
  errno = cause;
  return cause == 0;
}
