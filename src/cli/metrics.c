/* SPDX-License-Identifier: MIT */
/* cli/metrics.c - dibs metrics: totals of the fleet and live names for Prometheus. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/http.h"
#include "cli/message.h"
#include "cli/sampler.h"
#include "cli/session.h"
#include "cli/signals.h"

#define CACHE_MS 5000
#define INSPECTIONS 500      /* of one sample */
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

typedef struct metrics_arguments {
  command_line line;
  const char *listen, *textfile;
  bool is_once;
  uint32_t names_max;
} metrics_arguments;

static const option_row rows[] = {
  { "listen", 0, "ADDRESS:PORT", TEXT(metrics_arguments, listen),
    "serve /metrics there (127.0.0.1:9464)" },
  { "textfile", 0, "PATH", OUTPUT(metrics_arguments, textfile),
    "write this file for node_exporter, and exit" },
  { "once", 0, NULL, FLAG(metrics_arguments, is_once), "print once, and exit" },
  { "names", 0, "K", UINT32(metrics_arguments, names_max, 0, 1000),
    "series for the K names with the longest waits (50)" },
  { .name = NULL },
};

typedef struct exporter {
  pthread_mutex_t mutex;
  sampler sampler;
  watch_text text;           /* the cached answer */
  size_t names_max;
} exporter;

/* With the mutex. */
static void refresh(exporter *e)
{
  if (e->text.used > 0 && sampler_now_ms() - e->sampler.sampled_ms < CACHE_MS)
    return;
  (void)sampler_read(&e->sampler);
  e->text.used = 0;
  sampler_write_metrics(&e->sampler, e->names_max, &e->text);
}

static void answer(http_request *r, const char *path, void *data)
{
  static const char hint[] = "dibs metrics: see /metrics\n";
  exporter *e = data;

  if (strcmp(path, "/") == 0)
    http_reply(r, 200, "text/plain", hint, sizeof(hint) - 1);
  if (strcmp(path, "/metrics") != 0)
    return;
  pthread_mutex_lock(&e->mutex);
  refresh(e);
  if (e->text.has_no_memory || e->text.used == 0)
    http_reply(r, 503, "text/plain", "no memory\n", 10);
  else
    http_reply(r, 200, METRICS_TYPE, e->text.bytes, e->text.used);
  pthread_mutex_unlock(&e->mutex);
}

static int serve(exporter *e, const metrics_arguments *a)
{
  const http_options o = { .listen = a->listen != NULL ? a->listen : "127.0.0.1:9464",
                           .is_public_allowed = true, .handle = answer, .data = e };
  http_server *server = NULL;
  sigset_t ends;
  int code;

  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, NULL);
  code = http_start("metrics", &o, &server);
  if (code != 0)
    return code;
  say_softly("metrics at %s/metrics", http_address(server));
  http_wait(server, &ends);
  http_stop(server);
  return CODE_OK;
}

/* A device, pipe or directory would be replaced by a file, or the write would fail. */
static bool is_replaceable(const char *path)
{
  struct stat there;

  return stat(path, &there) != 0 || S_ISREG(there.st_mode);
}

/* A reader sees the file before or the one after. */
static int file_write(const watch_text *text, const char *path)
{
  char beside[4096];
  int size = snprintf(beside, sizeof(beside), "%s.%ld.tmp", path, (long)getpid());
  int fd = size < (int)sizeof(beside) ? open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)
                                      : -1;
  FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
  bool is_written = file != NULL && fwrite(text->bytes, 1, text->used, file) == text->used;

  if (file != NULL)
    is_written = fclose(file) == 0 && is_written;
  else if (fd >= 0)
    close(fd);
  if (is_written && rename(beside, path) == 0)
    return CODE_OK;
  if (fd >= 0)
    unlink(beside);
  return say_fault(&(message_facts){ .code = CODE_FILE }, "cannot write %s: %s", path,
                   strerror(errno));
}

static int metrics_once(exporter *e, const session *s, const metrics_arguments *a)
{
  dibs_status status;

  if (a->textfile != NULL && !is_replaceable(a->textfile))
    return say_fault(&(message_facts){ .code = CODE_FILE },
                     "%s is no regular file; --textfile replaces one, --once writes to stdout",
                     a->textfile);
  status = sampler_read(&e->sampler);
  sampler_write_metrics(&e->sampler, e->names_max, &e->text);
  if (e->text.has_no_memory)
    return session_verb_fault(s, DIBS_ERR_NO_MEMORY, "metrics");
  if (a->textfile != NULL) {
    int code = file_write(&e->text, a->textfile);

    if (code != 0)
      return code;
  } else {
    fwrite(e->text.bytes, 1, e->text.used, stdout);
  }
  return status == DIBS_OK ? CODE_OK : session_report(&e->sampler.error, "metrics", NULL);
}

static int metrics_check(void *data)
{
  const metrics_arguments *a = data;

  if (a->line.wants_json && a->is_once)
    return say_usage("metrics", "--json and --once exclude each other: metrics are text for "
                                "Prometheus");
  if ((a->listen != NULL) + (a->textfile != NULL) + a->is_once > 1)
    return say_usage("metrics", "--listen, --textfile and --once exclude each other");
  return 0;
}

static int metrics_run(void *data)
{
  const metrics_arguments *a = data;
  static exporter e = { .mutex = PTHREAD_MUTEX_INITIALIZER };     /* large */
  session s;
  int code;

  if (!a->is_once)
    signals_outlive_readers();
  code = session_start(&s, &a->line);
  if (code == 0) {
    e.names_max = a->names_max;
    e.sampler.client = s.client;
    e.sampler.wants_findings = true;
    e.sampler.pattern = a->line.operand_count > 0 ? a->line.operands[0] : NULL;
    e.sampler.budget = a->is_once || a->textfile != NULL ? 0 : INSPECTIONS;
    code = a->is_once || a->textfile != NULL ? metrics_once(&e, &s, a) : serve(&e, a);
  }
  sampler_free(&e.sampler);
  watch_text_free(&e.text);
  session_close(&s);
  return code;
}

const command metrics_command = {
  .name = "metrics", .operands = "[PATTERN]",
  .summary = "serve the fleet's numbers to Prometheus",
  .operands_max = 1,
  .examples = { "dibs metrics                                 # 127.0.0.1:9464/metrics",
                "dibs metrics --textfile /var/lib/node_exporter/dibs.prom",
                "dibs metrics --once | promtool check metrics" },
  .notes = "A scrape inspects at most 500 names and is cached for 5s.",
  .check = metrics_check, .is_in_view = true,
  OPTIONS({ rows, 0 }, COMMON, SERVER),
  ARGUMENTS(metrics_arguments, .line = LINE_DEFAULTS, .names_max = 50),
  .ends_with_reader = true,
  .run = metrics_run
};
