/* SPDX-License-Identifier: MIT */
/* api/log.c - dibs_client_set_log(), the limits, and the jobs that run the callback.
 *
 * What one dibs_client_set_log() has set is a log_sink. One that was replaced stays until its
 * lines are through; then a job frees the program's data. */
#include "api/log_sink.h"

#include "api/log_limit.h"

#include <string.h>

#define LINES_MAX 10
#define PER_MS 10000
#define PENDING_MAX 256

struct log_sink {
  log_sink *next;                  /* of the client, newest first */
  client_record *client;
  dibs_log_callback callback;
  void *data;
  callback_data over;
  int32_t level;
  log_rule rule;
  log_limit limits[LOG_EVENTS];
  uint32_t worst[LOG_EVENTS];      /* level of the most serious line left out in this period */
  size_t pending;                  /* jobs queued or running */
  bool is_replaced;
  drive_job over_job;
};

typedef struct line_job {
  drive_job job;
  log_sink *sink;
  log_line line;
} line_job;

static const char *const words[] = {
  "connected", "disconnected", "warning", "recovered", "requested", "granted", "refused", "renewed",
  "suspect", "lost", "released", "detached", "suppressed"
};
_Static_assert(sizeof(words) / sizeof(words[0]) == LOG_EVENTS + 1, "one for each event");

/* ---- life of a sink ---- */

static void sink_free(log_sink *s)
{
  client_record *c = s->client;
  log_sink **at = &c->logs;

  while (*at != s)
    at = &(*at)->next;
  *at = s->next;
  mem_free(&c->memory, s);
}

static void over_run(drive_job *job)
{
  log_sink *s = RECORD_OF(log_sink, over_job, job);

  (void)callback_data_end(&s->over, DIBS_OK);
}

static void over_finish(drive_job *job)
{
  sink_free(RECORD_OF(log_sink, over_job, job));
}

static void sink_settle(log_sink *s)
{
  if (s->is_replaced && s->pending == 0)
    drive_call_later(s->client->drive, &s->over_job);
}

void logs_free(client_record *c)
{
  while (c->logs != NULL) {
    callback_data over = c->logs->over;

    sink_free(c->logs);
    (void)callback_data_end(&over, DIBS_OK);
  }
  c->log = NULL;
}

/* ---- lines ---- */

static void line_run(drive_job *job)
{
  line_job *j = (line_job *)(void *)job;

  j->sink->callback(&j->line.shown, j->sink->data);
}

static void line_finish(drive_job *job)
{
  line_job *j = (line_job *)(void *)job;
  log_sink *s = j->sink;

  mem_free(&s->client->memory, j);
  s->pending--;
  sink_settle(s);
}

/* NULL: no memory. */
static log_line *line_new(log_sink *s, log_event event, dibs_log_level level)
{
  line_job *j = mem_alloc(&s->client->memory, sizeof(*j));

  if (j == NULL)
    return NULL;
  j->job = (drive_job){ .run = line_run, .finish = line_finish };
  j->sink = s;
  log_line_begin(&j->line, level, words[event]);
  return &j->line;
}

void log_end(log_line *l)
{
  line_job *j = RECORD_OF(line_job, line, l);

  j->sink->pending++;
  drive_call_later(j->sink->client->drive, &j->job);
}

/* ---- what the limit leaves out ---- */

static void period_end(log_sink *s, size_t event, bool is_last, instant now)
{
  uint32_t count = log_limit_end(&s->limits[event], &s->rule, is_last, now);
  log_line *l = count > 0 ? line_new(s, LOG_SUPPRESSED, (dibs_log_level)s->worst[event]) : NULL;

  if (l == NULL)
    return;
  log_line_add(l, "of", words[event]);
  log_line_add_uint(l, "lines", count);
  log_end(l);
}

static void periods_end(log_sink *s, bool is_last, instant now)
{
  for (size_t i = 0; i < LOG_EVENTS; i++)
    period_end(s, i, is_last, now);
}

static void alarm_set(client_record *c)
{
  instant at = INSTANT_NEVER;

  for (size_t i = 0; i < LOG_EVENTS && c->log != NULL; i++)
    at = instant_min(at, log_limit_due(&c->log->limits[i], &c->log->rule));
  if (at.ns == c->log_alarm_at.ns)
    return;
  c->log_alarm_at = at;
  client_alarm_set(c);
}

static void left_out(log_sink *s, log_event event, dibs_log_level level)
{
  if (s->limits[event].left_out == 1 || (uint32_t)level < s->worst[event])
    s->worst[event] = (uint32_t)level;
  if (s->limits[event].left_out == 1)
    alarm_set(s->client);
}

log_line *log_begin(client_record *c, log_event event, dibs_log_level level, instant now)
{
  log_sink *s = c->log;
  log_line *l = NULL;

  if (s == NULL || (int32_t)level > s->level)
    return NULL;
  period_end(s, event, false, now);
  if (!log_limit_pass(&s->limits[event], &s->rule, now)) {
    left_out(s, event, level);
    return NULL;
  }
  if (s->pending < PENDING_MAX)
    l = line_new(s, event, level);
  if (l == NULL) {
    log_limit_drop(&s->limits[event]);
    left_out(s, event, level);
  }
  return l;
}

void log_alarm(client_record *c)
{
  if (c->log == NULL)
    return;
  periods_end(c->log, false, drive_now());
  alarm_set(c);
}

void log_close(client_record *c)
{
  if (c->log != NULL)
    periods_end(c->log, true, drive_now());
}

/* ---- of the client ---- */

void log_client(client_record *c, dibs_event_kind kind, const char *node, const char *why)
{
  static const struct { log_event event; dibs_log_level level; } rows[] = {
    [DIBS_EVENT_CONNECTED] = { LOG_CONNECTED, DIBS_LOG_INFO },
    [DIBS_EVENT_DISCONNECTED] = { LOG_DISCONNECTED, DIBS_LOG_WARNING },
    [DIBS_EVENT_WARNING] = { LOG_WARNING, DIBS_LOG_WARNING },
    [DIBS_EVENT_RECOVERED] = { LOG_RECOVERED, DIBS_LOG_INFO },
  };
  log_line *l;

  if (c->log == NULL || kind == DIBS_EVENT_LOST)
    return;
  l = log_begin(c, rows[kind].event, rows[kind].level, drive_now());
  if (l == NULL)
    return;
  log_line_add(l, "server", node);
  if (kind != DIBS_EVENT_CONNECTED)
    log_line_add(l, "reason", why);
  log_end(l);
}

/* ---- dibs_client_set_log() ---- */

static bool options_check(const dibs_log_options *o, text *why)
{
  return option_check("level", o->level, DIBS_LOG_ERROR, DIBS_LOG_DEBUG, why) &&
         option_check("lines_max", o->lines_max, DIBS_LOG_ALL, INT32_MAX, why) &&
         options_ms_check("per_ms", o->per_ms, why) &&
         option_check("reserved", o->reserved, 0, 0, why);
}

static bool options_read(const dibs_log_options *options, dibs_log_options *ret_options, text *why)
{
  dibs_log_options o = DIBS_LOG_OPTIONS_INIT;

  if (options != NULL && !options_copy(options, &o, sizeof(o), "dibs_log_options", why))
    return false;
  if (!options_check(&o, why))
    return false;
  o.level = o.level != 0 ? o.level : DIBS_LOG_INFO;
  o.lines_max = o.lines_max != 0 ? o.lines_max : LINES_MAX;
  o.per_ms = o.per_ms != 0 ? o.per_ms : PER_MS;
  *ret_options = o;
  return true;
}

static log_sink *sink_new(client_record *c, const dibs_log_options *o)
{
  log_sink *s = mem_zalloc(&c->memory, sizeof(*s));

  if (s == NULL)
    return NULL;
  s->client = c;
  s->level = o->level;
  s->rule = (log_rule){ .most = o->lines_max < 0 ? LOG_NO_LIMIT : (uint32_t)o->lines_max,
                        .per = span_ms(o->per_ms) };
  s->over_job = (drive_job){ .run = over_run, .finish = over_finish };
  return s;
}

/* Mutex held. `s` NULL: no lines any more. */
static void sink_replace(client_record *c, log_sink *s)
{
  log_sink *old = c->log;

  log_close(c);
  c->log = s;
  alarm_set(c);
  if (s != NULL) {
    s->next = c->logs;
    c->logs = s;
  }
  if (old == NULL)
    return;
  old->is_replaced = true;
  sink_settle(old);
}

/* Mutex not held. */
static dibs_status log_set(client_record *c, log_sink *s)
{
  dibs_status status = client_enter(c, false);

  if (status != DIBS_OK)
    return status;
  if (s != NULL)
    status = client_callbacks(c);
  if (status == DIBS_OK)
    sink_replace(c, s);
  client_leave(c);
  return status;
}

static dibs_status set_checked(client_record *c, const dibs_log_options *options,
                               dibs_log_callback callback, callback_data *over)
{
  char bytes[200];
  text why = text_over(bytes, sizeof(bytes));
  dibs_log_options o;
  log_sink *s = NULL;
  dibs_status status;

  if (!options_read(options, &o, &why))
    return client_refuse(c, DIBS_ERR_ARGUMENT, bytes);
  if (callback == NULL)
    return log_set(c, NULL);
  s = sink_new(c, &o);
  if (s == NULL)
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  s->callback = callback;
  s->data = over->data;
  s->over = *over;
  status = log_set(c, s);
  if (status == DIBS_OK)
    over->free = NULL;
  else
    mem_free(&c->memory, s);
  return status;
}

dibs_status dibs_client_set_log(dibs_client *client, const dibs_log_options *options,
                         dibs_log_callback callback, void *data, dibs_free_callback data_free)
{
  callback_data over = { .free = data_free, .data = data };
  client_record *c;
  dibs_status status = client_begin(client, false, &c);

  if (status == DIBS_OK)
    status = client_end(c, set_checked(c, options, callback, &over));
  return callback_data_end(&over, status);
}
