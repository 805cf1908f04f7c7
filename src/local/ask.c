/* SPDX-License-Identifier: MIT */
/* local/ask.c - sends a few commands over a unix socket. */
#include "local/ask.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptor.h"

int64_t clock_ms(void)
{
  struct timespec now;

  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void nap_ms(int ms)
{
  struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000L };

  while (nanosleep(&left, &left) != 0 && errno == EINTR)
    ;
}

/* The process that called listen() at the other end; the kernel reports it, so it is true. */
static pid_t listener(int fd)
{
  struct ucred who;
  socklen_t size = sizeof(who);

  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
    return 0;
  return who.pid;
}

static answer open_socket(const char *path, int *ret_fd)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd, cause;

  if (strlen(path) >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return ANSWER_OTHER;
  }
  memcpy(address.sun_path, path, strlen(path));
  fd = above_stdio(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd < 0)
    return ANSWER_OTHER;
  if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0) {
    *ret_fd = fd;
    return ANSWER_PONG;
  }
  cause = errno;
  (void)close(fd);
  errno = cause;
  if (cause == ENOENT || cause == ECONNREFUSED)
    return ANSWER_NONE;
  /* EAGAIN: the backlog of the listening process is full. */
  return cause == EAGAIN || cause == EINTR ? ANSWER_NOT_YET : ANSWER_OTHER;
}

/* Reads until `mark` or the end. Returns the number of bytes; -1 after a timeout. */
static ssize_t read_until(int fd, const char *mark, char *ret_bytes, size_t size,
                          int64_t until)
{
  size_t used = 0;

  while (used < size && memmem(ret_bytes, used, mark, strlen(mark)) == NULL) {
    struct pollfd wait = { .fd = fd, .events = POLLIN };
    int64_t left = until - clock_ms();
    ssize_t got;

    if (left <= 0 || poll(&wait, 1, (int)left) == 0)
      return -1;
    got = recv(fd, ret_bytes + used, size - used, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (got <= 0)
      break;
    used += (size_t)got;
  }
  return (ssize_t)used;
}

static bool send_all(int fd, const char *words)
{
  /* A new connection accepts these few bytes at once, or is broken. */
  return send(fd, words, strlen(words), MSG_NOSIGNAL) == (ssize_t)strlen(words);
}

/* Sends `request` on a new connection and reads as read_until(). PONG: connected;
 * `ret_size` is -1 after a timeout or if the request was not sent. */
static answer converse(const char *path, int limit_ms, const char *request,
                       const char *mark, char *ret_bytes, size_t size, ssize_t *ret_size,
                       pid_t *ret_pid)
{
  int64_t until = clock_ms() + limit_ms;
  answer a;
  int fd;

  *ret_size = -1;
  a = open_socket(path, &fd);
  if (a != ANSWER_PONG)
    return a;
  if (ret_pid != NULL)
    *ret_pid = listener(fd);
  if (send_all(fd, request))
    *ret_size = read_until(fd, mark, ret_bytes, size, until);
  (void)close(fd);
  return a;
}

answer ask_whether_it_listens(const char *path)
{
  int fd;
  answer a = open_socket(path, &fd);

  if (a == ANSWER_PONG)
    (void)close(fd);
  return a;
}

answer ask_ping(const char *path, int limit_ms, pid_t *ret_pid)
{
  static const char expected[] = "+PONG";
  char line[128];
  ssize_t size;
  answer a = converse(path, limit_ms, "PING\r\n", "\n", line, sizeof(line), &size, ret_pid);

  if (a != ANSWER_PONG)
    return a;
  return size >= (ssize_t)sizeof(expected) - 1
             && memcmp(line, expected, sizeof(expected) - 1) == 0
           ? ANSWER_PONG
           : ANSWER_NOT_YET;
}

answer ask_to_shut_down(const char *path, int limit_ms, pid_t *ret_pid)
{
  char line[128];
  ssize_t size;
  answer a = converse(path, limit_ms, "SHUTDOWN NOSAVE\r\n", "\n", line, sizeof(line),
                      &size, ret_pid);

  if (a != ANSWER_PONG)
    return a;
  return size == 0 ? ANSWER_PONG : ANSWER_NOT_YET;
}

/* ---- any command ---- */

typedef struct flat {
  char *text;
  size_t used, size;
} flat;

static void flat_add(flat *f, const char *bytes, size_t count)
{
  if (count > f->size - 1 - f->used)
    count = f->size - 1 - f->used;
  memcpy(f->text + f->used, bytes, count);
  f->used += count;
  f->text[f->used] = '\0';
}

/* Converts one RESP reply, which ends at `end`, to text. */
static void flatten(const char *at, const char *end, flat *ret_flat)
{
  while (at < end) {
    const char *line = memchr(at, '\n', (size_t)(end - at));
    size_t size;

    if (line == NULL)
      return;
    if (*at != '*' && ret_flat->used > 0)
      flat_add(ret_flat, ", ", 2);
    if (*at == '$') {
      size = 0;
      for (const char *digit = at + 1; *digit >= '0' && *digit <= '9'; digit++)
        size = 10 * size + (size_t)(*digit - '0');
      if (at[1] != '-' && size + 2 <= (size_t)(end - line)) {
        flat_add(ret_flat, line + 1, size);
        line += size + 2;
      }
    } else if (*at != '*') {
      size = (size_t)(line - at - 1);
      flat_add(ret_flat, at + 1, size > 0 && line[-1] == '\r' ? size - 1 : size);
    }
    at = line + 1;
  }
}

#define REPLY_SIZE 32768
/* Of sections of INFO. On the stack: a supervisor, which was forked, must not allocate. */
#define SECTIONS_SIZE 6144

/* The reply to a following PING marks the end. */
answer ask_text(const char *path, int limit_ms, const char *command, char *ret_text,
                size_t size)
{
  size_t length = strlen(command) + sizeof("\r\nPING\r\n");
  struct { char text[REPLY_SIZE], request[]; } *room = malloc(sizeof(*room) + length);
  flat f = { .text = ret_text, .size = size };
  const char *end = NULL;
  ssize_t got;
  answer a;

  ret_text[0] = '\0';
  if (room == NULL)
    return ANSWER_OTHER;
  (void)stpcpy(stpcpy(room->request, command), "\r\nPING\r\n");
  a = converse(path, limit_ms, room->request, "\n+PONG", room->text, sizeof(room->text), &got,
               NULL);
  if (a == ANSWER_PONG && got > 0)
    end = memmem(room->text, (size_t)got, "\n+PONG", 6);
  if (end != NULL)
    flatten(room->text, end + 1, &f);
  else if (a == ANSWER_PONG)
    a = ANSWER_NOT_YET;
  free(room);
  return a;
}

/* ---- contents and persistence ---- */

/* Finds the number after `name` in `text`; returns its end, or NULL: none. */
static const char *find_number(const char *text, const char *name, int64_t *ret_value)
{
  const char *at = text == NULL ? NULL : strstr(text, name);

  if (at == NULL)
    return NULL;
  *ret_value = 0;
  for (at += strlen(name); *at >= '0' && *at <= '9'; at++)
    *ret_value = 10 * *ret_value + (*at - '0');
  return at;
}

/* Sends INFO for two sections, and PING to mark the end: in INFO no line begins with '+'. */
answer ask_contents(const char *path, int limit_ms, contents *ret_contents)
{
  static const char request[] = "INFO clients\r\nINFO keyspace\r\nPING\r\n";
  char text[SECTIONS_SIZE];
  int64_t keys;
  ssize_t size;
  answer a = converse(path, limit_ms, request, "\n+PONG", text, sizeof(text) - 1, &size,
                      NULL);

  if (a != ANSWER_PONG)
    return a;
  if (size < 0)
    return ANSWER_NOT_YET;
  text[size] = '\0';
  if (strstr(text, "\n+PONG") == NULL || strstr(text, "# Keyspace") == NULL
      || find_number(text, "connected_clients:", &ret_contents->connections) == NULL)
    return ANSWER_NOT_YET;
  ret_contents->connections--;
  ret_contents->keys = 0;
  for (const char *at = text; (at = find_number(at, ":keys=", &keys)) != NULL;)
    ret_contents->keys += keys;
  return ANSWER_PONG;
}

/* Whether the append-only file is on and complete. */
static bool keeps_all(const char *text)
{
  return strstr(text, "aof_enabled:1") != NULL
         && strstr(text, "aof_rewrite_in_progress:0") != NULL
         && strstr(text, "aof_rewrite_scheduled:0") != NULL;
}

answer ask_to_keep(const char *path, int limit_ms)
{
  static const char request[] =
    "CONFIG SET appendonly yes\r\nINFO persistence\r\nPING\r\n";
  int64_t until = clock_ms() + limit_ms;
  char text[SECTIONS_SIZE];
  ssize_t size;

  for (;;) {
    int64_t left = until - clock_ms();
    answer a = converse(path, left > 0 ? (int)left : 0, request, "\n+PONG", text,
                        sizeof(text) - 1, &size, NULL);

    if (a != ANSWER_PONG || size < 0)
      return a == ANSWER_PONG ? ANSWER_NOT_YET : a;
    text[size] = '\0';
    if (keeps_all(text))
      return ANSWER_PONG;
    if (left <= 0)
      return ANSWER_NOT_YET;
    nap_ms(5);
  }
}
