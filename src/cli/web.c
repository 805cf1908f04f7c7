/* SPDX-License-Identifier: MIT */
/* cli/web.c - dibs web: a dashboard of all locks, read-only. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/commands.h"
#include "cli/http.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/web_files.h"
#include "cli/web_json.h"

#define LOOKED_AT_MS 1500    /* between two samples while a page is open */
#define IDLE_MS 10000
#define INSPECTIONS 200      /* of one sample */
#define POINTS 1800
#define PAGE_MAX 1000000
#define FINDINGS_MS 30000
#define PING_SECONDS 15      /* a stream without news; shorter than the HTTP server's limit */

typedef struct web_arguments {
  command_line line;
  const char *listen, *token, *cert, *key;
} web_arguments;

static const option_row rows[] = {
  { "listen", 0, "ADDRESS:PORT", TEXT(web_arguments, listen),
    "serve the page there (127.0.0.1:8090)" },
  { "token", 0, "TEXT", TEXT(web_arguments, token), "ask for this secret: http://...?token=TEXT" },
  { "tls-cert", 0, "FILE", TEXT(web_arguments, cert), "serve https with this certificate (PEM)" },
  { "tls-key", 0, "FILE", TEXT(web_arguments, key), "its key" },
  { .name = NULL },
};

typedef struct point {
  int64_t unix_s, held, waiting, oldest_ms;
} point;

typedef struct web {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  sampler sampler;
  char *state;               /* the latest, as JSON */
  uint64_t version;
  size_t viewers;
  bool is_over;
  point points[POINTS];
  size_t point_count;
  json_t *findings;
  int64_t findings_ms;
} web;

/* ---- the stream ---- */

typedef struct viewer {
  web *web;
  uint64_t version;
  char *rest;                /* what did not fit yet */
  size_t at;
} viewer;

static char *event_text(const web *w)
{
  size_t size = strlen(w->state) + 32;
  char *text = malloc(size);

  if (text != NULL)
    snprintf(text, size, "data: %s\n\n", w->state);
  return text;
}

/* With the mutex: waits for news. false: the stream is over. */
static bool next_event(viewer *v)
{
  struct timespec end;
  int error = 0;

  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += PING_SECONDS;
  while (!v->web->is_over && v->version == v->web->version && error == 0)
    error = pthread_cond_timedwait(&v->web->changed, &v->web->mutex, &end);
  if (v->web->is_over)
    return false;
  v->at = 0;
  v->rest = v->version == v->web->version ? strdup(": ping\n\n") : event_text(v->web);
  v->version = v->web->version;
  return v->rest != NULL;
}

/* Thread: of the connection. */
static size_t viewer_next(void *state, char *ret_bytes, size_t size)
{
  viewer *v = state;
  size_t left;

  if (v->rest == NULL) {
    bool is_there;

    pthread_mutex_lock(&v->web->mutex);
    is_there = next_event(v);
    pthread_mutex_unlock(&v->web->mutex);
    if (!is_there)
      return 0;
  }
  left = strlen(v->rest + v->at);
  if (left > size)
    left = size;
  memcpy(ret_bytes, v->rest + v->at, left);
  v->at += left;
  if (v->rest[v->at] == 0) {
    free(v->rest);
    v->rest = NULL;
  }
  return left;
}

static void viewer_free(void *state)
{
  viewer *v = state;

  pthread_mutex_lock(&v->web->mutex);
  v->web->viewers--;
  pthread_mutex_unlock(&v->web->mutex);
  free(v->rest);
  free(v);
}

static void events(http_request *r, web *w)
{
  viewer *v = calloc(1, sizeof(*v));

  if (v == NULL)
    return;
  v->web = w;
  pthread_mutex_lock(&w->mutex);
  w->viewers++;
  v->version = w->version - (w->state != NULL);    /* the present state at once */
  pthread_cond_broadcast(&w->changed);             /* no idle pause now */
  pthread_mutex_unlock(&w->mutex);
  http_stream(r, viewer_next, v, viewer_free);
}

/* ---- answers ---- */

/* Drops `object`. NULL: no memory, or a fault with `error`. */
static void reply_json(http_request *r, json_t *object, const dibs_error *error)
{
  bool is_mistake = error != NULL && error->status == DIBS_ERR_ARGUMENT;
  unsigned code = object != NULL ? 200 : is_mistake ? 400 : 503;
  char *text;

  if (object == NULL && error != NULL) {
    object = json_object();
    json_object_set_new(object, "error", json_text(error->text));
  }
  text = object == NULL ? NULL : json_line(object);
  json_decref(object);
  if (text == NULL)
    http_reply(r, 503, "application/json", "{\"error\":\"no memory\"}", 21);
  else
    http_reply(r, code, "application/json", text, strlen(text));
  free(text);
}

static json_t *points_json(const web *w)
{
  json_t *list = json_array();
  size_t count = w->point_count < POINTS ? w->point_count : POINTS;

  for (size_t i = w->point_count - count; i < w->point_count; i++) {
    const point *p = &w->points[i % POINTS];

    json_array_append_new(list, json_pack("[I,I,I,I]", (json_int_t)p->unix_s,
                                          (json_int_t)p->held, (json_int_t)p->waiting,
                                          (json_int_t)p->oldest_ms));
  }
  return list;
}

/* The argument `key` has a wrong value. */
static void refuse(dibs_error *error, const char *key, const char *value, const char *expected)
{
  char shown[200];

  error->status = DIBS_ERR_ARGUMENT;
  if (value == NULL)
    (void)snprintf(error->text, sizeof(error->text), "%s is missing: %s", key, expected);
  else
    (void)snprintf(error->text, sizeof(error->text), "%s: \"%s\" is not %s", key,
                   printable(value, shown, sizeof(shown)), expected);
}

static bool order_read(const char *word, enum watch_order *ret_order)
{
  for (size_t i = 0; i < WATCH_ORDER_COUNT; i++) {
    if (strcmp(word, watch_order_words[i]) == 0) {
      *ret_order = (enum watch_order)i;
      return true;
    }
  }
  return false;
}

static bool page_read(const char *word, size_t *ret_page)
{
  size_t number = 0;
  const char *at = word;

  for (; *at >= '0' && *at <= '9' && number <= PAGE_MAX; at++)
    number = 10 * number + (size_t)(*at - '0');
  *ret_page = number;
  return at > word && *at == '\0' && number <= PAGE_MAX;
}

static json_t *names_json(http_request *r, const web *w, dibs_error *error)
{
  const char *filter = http_argument(r, "q"), *sort = http_argument(r, "sort");
  const char *page = http_argument(r, "page"), *all = http_argument(r, "all");
  enum watch_order order = WATCH_BY_WAIT;
  size_t number = 0;

  if (sort != NULL && !order_read(sort, &order)) {
    refuse(error, "sort", sort, "one of " WATCH_ORDER_WORDS);
    return NULL;
  }
  if (page != NULL && !page_read(page, &number)) {
    refuse(error, "page", page, "a number from 0 to 1000000");
    return NULL;
  }
  return web_names(&w->sampler, order, filter != NULL ? filter : "", all != NULL, number);
}

static void name_reply(http_request *r, const web *w)
{
  const char *id = http_argument(r, "id");
  char name[DIBS_NAME_MAX + 1];
  dibs_error error = DIBS_ERROR_INIT;
  json_t *object = NULL;
  size_t size = id == NULL ? 0 : name_of_hex(id, name);

  if (size > 0)
    object = web_name(w->sampler.client, name, size, &error);
  else
    refuse(&error, "id", id, "a name in hex digits, two for each byte");
  reply_json(r, object, &error);
}

static json_t *findings(web *w)
{
  if (w->findings == NULL || sampler_now_ms() - w->findings_ms > FINDINGS_MS) {
    json_decref(w->findings);
    w->findings = web_findings(w->sampler.client);
    w->findings_ms = sampler_now_ms();
  }
  return json_incref(w->findings);
}

static void answer_data(http_request *r, const char *path, web *w)
{
  static const dibs_error gone = { .size = sizeof(gone), .text = "the servers do not answer" };
  dibs_error error = DIBS_ERROR_INIT;

  if (strcmp(path, "events") == 0) {
    events(r, w);
  } else if (strcmp(path, "name") == 0) {
    name_reply(r, w);
  } else {
    pthread_mutex_lock(&w->mutex);
    if (strcmp(path, "names") == 0) {
      json_t *names = names_json(r, w, &error);

      reply_json(r, names, error.status == DIBS_OK ? NULL : &error);
    } else if (strcmp(path, "points") == 0)
      reply_json(r, points_json(w), NULL);
    else if (strcmp(path, "waits") == 0)
      reply_json(r, web_waits(&w->sampler), NULL);
    else if (strcmp(path, "servers") == 0)
      reply_json(r, findings(w), &gone);
    pthread_mutex_unlock(&w->mutex);
  }
}

/* Thread: of the connection. */
static void answer(http_request *r, const char *path, void *data)
{
  if (strcmp(path, "/") == 0)
    http_reply(r, 200, "text/html; charset=utf-8", web_html, web_html_size);
  else if (strcmp(path, "/page.js") == 0)
    http_reply(r, 200, "text/javascript; charset=utf-8", web_js, web_js_size);
  else if (strcmp(path, "/page.css") == 0)
    http_reply(r, 200, "text/css; charset=utf-8", web_css, web_css_size);
  else if (strcmp(path, "/chart.js") == 0)
    http_reply(r, 200, "text/javascript; charset=utf-8", web_chart, web_chart_size);
  else if (strncmp(path, "/api/", 5) == 0)
    answer_data(r, path + 5, data);
}

/* ---- samples ---- */

/* With the mutex. */
static void take_sample(web *w)
{
  struct timespec now;
  json_t *state;
  char *text;
  watch_sums sums;

  clock_gettime(CLOCK_REALTIME, &now);
  (void)sampler_read(&w->sampler);
  sums = watch_sum(&w->sampler.table, sampler_now_ms());
  w->points[w->point_count++ % POINTS] = (point){ (int64_t)now.tv_sec, (int64_t)sums.held,
                                                  (int64_t)sums.waiting, sums.oldest_ms };
  state = web_state(&w->sampler);
  text = json_line(state);
  json_decref(state);
  if (text != NULL) {        /* without memory the state before it stays */
    free(w->state);
    w->state = text;
    w->version++;
  }
  pthread_cond_broadcast(&w->changed);
}

static void *sample(void *data)
{
  web *w = data;

  pthread_mutex_lock(&w->mutex);
  while (!w->is_over) {
    int64_t begin_ms;
    struct timespec end;

    take_sample(w);
    begin_ms = sampler_now_ms();    /* a pause after slow samples too: it frees the mutex */
    for (;;) {
      int64_t pause_ms = w->viewers > 0 ? LOOKED_AT_MS : IDLE_MS;
      int64_t left_ms = begin_ms + pause_ms - sampler_now_ms();

      if (w->is_over || left_ms <= 0)
        break;
      clock_gettime(CLOCK_MONOTONIC, &end);
      end.tv_nsec += (long)(left_ms % 1000 * 1000000);
      end.tv_sec += (time_t)(left_ms / 1000) + end.tv_nsec / 1000000000;
      end.tv_nsec %= 1000000000;
      (void)pthread_cond_timedwait(&w->changed, &w->mutex, &end);
    }
  }
  pthread_mutex_unlock(&w->mutex);
  return NULL;
}

/* Waits go by a clock that is never set. */
static void begin(web *w)
{
  pthread_condattr_t monotonic;

  pthread_mutex_init(&w->mutex, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&w->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
}

static int serve(web *w, const http_options *o)
{
  http_server *server = NULL;
  pthread_t thread;
  sigset_t ends;
  int code;

  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, NULL);
  code = http_start("web", o, &server);
  if (code != 0)
    return code;
  if (pthread_create(&thread, NULL, sample, w) != 0) {
    http_stop(server);
    return say_fault(&(message_facts){ .code = CODE_INTERNAL }, "web: cannot start a thread");
  }
  say_softly("dashboard at %s/%s", http_address(server),
             o->token != NULL ? "?token=... (as given)" : "");
  http_wait(server, &ends);
  pthread_mutex_lock(&w->mutex);
  w->is_over = true;
  pthread_cond_broadcast(&w->changed);
  pthread_mutex_unlock(&w->mutex);
  http_stop(server);
  pthread_join(thread, NULL);
  return CODE_OK;
}

/* It goes into a header: no blanks, quotes or separators. */
static int web_check(void *data)
{
  const web_arguments *a = data;
  const char *token = a->token;

  if (token != NULL && (strlen(token) < 8 || strlen(token) > 128 ||
                        strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                      "0123456789-_.") != strlen(token)))
    return say_usage("web", "--token: 8 to 128 letters, digits, - _ . are wanted");
  return 0;
}

static int web_run(void *data)
{
  const web_arguments *a = data;
  const http_options o = { .listen = a->listen != NULL ? a->listen : "127.0.0.1:8090",
                           .token = a->token, .cert = a->cert, .key = a->key,
                           .handle = answer };
  http_options with = o;
  web *w = calloc(1, sizeof(*w));
  session s;
  int code = session_start(&s, &a->line);

  if (code == 0 && w == NULL)
    code = session_verb_fault(&s, DIBS_ERR_NO_MEMORY, "web");
  if (code == 0 && w != NULL) {
    begin(w);
    w->sampler.client = s.client;
    w->sampler.budget = INSPECTIONS;
    w->sampler.pattern = a->line.operand_count > 0 ? a->line.operands[0] : NULL;
    with.data = w;
    /* A page should soon say that servers are gone. */
    (void)dibs_client_set_call_timeout(s.client, 2000);
    code = serve(w, &with);
    sampler_free(&w->sampler);
    json_decref(w->findings);
    free(w->state);
  }
  free(w);
  session_close(&s);
  return code;
}

const command web_command = {
  .name = "web", .operands = "[PATTERN]",
  .summary = "a dashboard of all locks for the browser",
  .operands_max = 1,
  .examples = { "dibs web                          # http://127.0.0.1:8090/",
                "dibs web 'orders:*' --listen 127.0.0.1:0",
                "dibs web --listen 0.0.0.0:8090 --token \"$SECRET\" --tls-cert c.pem "
                "--tls-key k.pem" },
  .notes = "Read-only. Addresses that others can reach need --token or --tls-cert.",
  .check = web_check, .is_in_view = true,
  OPTIONS({ rows, 0 }, COMMON, SERVER),
  ARGUMENTS(web_arguments, .line = LINE_DEFAULTS),
  .run = web_run
};
