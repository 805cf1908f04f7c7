/* SPDX-License-Identifier: MIT */
/* The routes of the flash sale:
 *
 *   /v1/seckill  looks at the stock, takes one item, writes the order: under the lock "lamp"
 *   /v2/seckill  the same without any lock
 *   /v3/seckill  the same under a mutex of this process
 *   /detail      {"items":..., "stock":..., "orders":..., "oversold":...}
 *   /reset       begins anew; ?items=N, 1000
 *
 * Requests for /v1 wait without a thread: the connection is suspended until the lock is
 * had. The sale itself runs on the thread dibs-callback, one after the other, as it has to. */
#include "sale.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "store.h"

enum { POOL = 4, CONNECTIONS = 12000, BACKLOG = 4096, WAIT_MS = 60000, ITEMS = 1000 };

struct sale {
  sale_options options;
  dibs_client *client;
  struct MHD_Daemon *daemon;
  pthread_key_t stores;       /* each thread has a connection of its own */
  pthread_mutex_t counter;    /* of /v3 */
  pthread_mutex_t gate;       /* a new /v1 comes before the end, or not at all */
  pthread_mutex_t ending;     /* a sale of /v1 likewise */
  bool is_ending;
};

/* One request. */
typedef struct visit {
  sale *sale;
  struct MHD_Connection *connection;
  unsigned int code;          /* 0: not answered yet */
  char body[160];
} visit;

static void close_store(void *data)
{
  store_close(data);
}

static store *store_of_thread(sale *s)
{
  store *mine = pthread_getspecific(s->stores);

  if (mine == NULL) {
    mine = store_open(s->options.url);
    (void)pthread_setspecific(s->stores, mine);
  }
  return mine;
}

static void unavailable(visit *v, const char *why)
{
  v->code = MHD_HTTP_SERVICE_UNAVAILABLE;
  snprintf(v->body, sizeof(v->body), "{\"sold\":false,\"error\":\"%s\"}\n", why);
}

static void think(int microseconds)
{
  struct timespec pause = { .tv_sec = microseconds / 1000000,
                            .tv_nsec = microseconds % 1000000 * 1000L };

  if (microseconds > 0)
    nanosleep(&pause, NULL);
}

/* What all three versions do: nothing in here knows of locks. */
static void sell(visit *v)
{
  store *mine = store_of_thread(v->sale);
  bool is_sold = false;
  char order[32];
  long stock;

  snprintf(order, sizeof(order), "by %ld", (long)getpid());
  if (mine == NULL || !store_look(mine, &stock)) {
    unavailable(v, "no stock server");
    return;
  }
  if (stock > 0) {
    think(v->sale->options.think_us);
    is_sold = store_sell(mine, stock - 1, order);
    if (!is_sold) {
      unavailable(v, "no stock server");
      return;
    }
  }
  v->code = MHD_HTTP_OK;
  snprintf(v->body, sizeof(v->body), "{\"sold\":%s,\"server\":%ld}\n",
           is_sold ? "true" : "false", (long)getpid());
}

/* ---- /v1: on the thread dibs-callback ---- */

static void sell_when_locked(const dibs_error *error, dibs_hold *hold, void *data)
{
  visit *v = data;
  sale *s = v->sale;
  dibs_status status = error->status;

  pthread_mutex_lock(&s->ending);            /* so that no sale is cut short */
  if (status == DIBS_OK && s->is_ending)
    status = DIBS_ERR_CLOSED;                /* dibs_close() releases the hold */
  if (status == DIBS_OK) {
    sell(v);
    /* Lost meanwhile: somebody may have looked at the same stock. A shop of real money
     * gives dibs_hold_fence() with its write: doc/guide/fencing.md. */
    status = dibs_release(hold);
    if (status != DIBS_OK)
      fprintf(stderr, "flash_http: release: %s\n", dibs_status_name(status));
  } else {
    unavailable(v, dibs_status_name(status));
  }
  pthread_mutex_unlock(&s->ending);
  MHD_resume_connection(v->connection);
}

static void sell_locked(visit *v)
{
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;
  dibs_status status = DIBS_ERR_CLOSED;
  sale *s = v->sale;

  options.wait_ms = WAIT_MS;
  options.ttl_ms = s->options.ttl_ms;
  MHD_suspend_connection(v->connection);     /* first: the callback may come at once */
  pthread_mutex_lock(&s->gate);
  if (!s->is_ending)
    status = dibs_lock_async(s->client, "lamp", &options, sell_when_locked, v, NULL);
  pthread_mutex_unlock(&s->gate);
  if (status != DIBS_OK) {
    unavailable(v, dibs_status_name(status));
    MHD_resume_connection(v->connection);
  }
}

/* ---- the other routes ---- */

static void sell_with_local_mutex(visit *v)
{
  pthread_mutex_lock(&v->sale->counter);
  sell(v);
  pthread_mutex_unlock(&v->sale->counter);
}

static void detail(visit *v)
{
  store *mine = store_of_thread(v->sale);
  store_state now;

  if (mine == NULL || !store_read(mine, &now)) {
    unavailable(v, "no stock server");
    return;
  }
  v->code = MHD_HTTP_OK;
  snprintf(v->body, sizeof(v->body),
           "{\"items\":%ld,\"stock\":%ld,\"orders\":%ld,\"oversold\":%ld}\n", now.items,
           now.stock, now.orders, now.orders > now.items ? now.orders - now.items : 0);
}

static void reset(visit *v)
{
  store *mine = store_of_thread(v->sale);
  const char *words =
    MHD_lookup_connection_value(v->connection, MHD_GET_ARGUMENT_KIND, "items");
  long items = words == NULL ? ITEMS : strtol(words, NULL, 10);

  if (mine == NULL || !store_reset(mine, items)) {
    unavailable(v, "no stock server");
    return;
  }
  detail(v);
}

static void no_such_page(visit *v)
{
  v->code = MHD_HTTP_NOT_FOUND;
  snprintf(v->body, sizeof(v->body),
           "{\"error\":\"try /v1/seckill, /v2/seckill, /v3/seckill, /detail, /reset\"}\n");
}

typedef struct route {
  const char *path;
  void (*run)(visit *v);
  bool is_later;              /* answered when the connection is resumed */
} route;

static const route routes[] = {
  { "/v1/seckill", sell_locked, true },
  { "/v2/seckill", sell, false },
  { "/v3/seckill", sell_with_local_mutex, false },
  { "/detail", detail, false },
  { "/reset", reset, false },
};

static const route *route_of(const char *path)
{
  static const route elsewhere = { "", no_such_page, false };

  for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++)
    if (strcmp(path, routes[i].path) == 0)
      return &routes[i];
  return &elsewhere;
}

/* ---- libmicrohttpd ---- */

static enum MHD_Result answer(visit *v)
{
  struct MHD_Response *response =
    MHD_create_response_from_buffer(strlen(v->body), v->body, MHD_RESPMEM_MUST_COPY);
  enum MHD_Result result;

  if (response == NULL)
    return MHD_NO;
  MHD_add_response_header(response, "Content-Type", "application/json");
  result = MHD_queue_response(v->connection, v->code, response);
  MHD_destroy_response(response);
  return result;
}

/* Called when the head is here, when the body is, and again after a suspension. */
static enum MHD_Result on_request(void *data, struct MHD_Connection *connection,
                                  const char *url, const char *method, const char *version,
                                  const char *upload, size_t *upload_size, void **slot)
{
  visit *v = *slot;

  (void)method, (void)version, (void)upload;
  if (v == NULL) {
    v = calloc(1, sizeof(*v));
    if (v == NULL)
      return MHD_NO;
    v->sale = data;
    v->connection = connection;
    *slot = v;
    return MHD_YES;
  }
  if (*upload_size > 0) {
    *upload_size = 0;                        /* bodies are not read here */
    return MHD_YES;
  }
  if (v->code == 0) {
    const route *wanted = route_of(url);

    wanted->run(v);
    if (wanted->is_later)
      return MHD_YES;                        /* v is the callback's now */
  }
  return answer(v);
}

static void on_end(void *data, struct MHD_Connection *connection, void **slot,
                   enum MHD_RequestTerminationCode code)
{
  (void)data, (void)connection, (void)code;
  free(*slot);
  *slot = NULL;
}

static struct MHD_Daemon *listen_on(sale *s)
{
  struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(s->options.port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

  return MHD_start_daemon(
    MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
    s->options.port, NULL, NULL, on_request, s, MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL,
    MHD_OPTION_THREAD_POOL_SIZE, (unsigned int)POOL, MHD_OPTION_CONNECTION_LIMIT,
    (unsigned int)CONNECTIONS, MHD_OPTION_LISTEN_BACKLOG_SIZE, (unsigned int)BACKLOG,
    MHD_OPTION_LISTENING_ADDRESS_REUSE, 1u, MHD_OPTION_SOCK_ADDR, &here, MHD_OPTION_END);
}

sale *sale_open(const sale_options *options)
{
  sale *s = calloc(1, sizeof(*s));
  dibs_error error = DIBS_ERROR_INIT;

  if (s == NULL)
    return NULL;
  s->options = *options;
  if (pthread_key_create(&s->stores, close_store) != 0 ||
      pthread_mutex_init(&s->counter, NULL) != 0 ||
      pthread_mutex_init(&s->gate, NULL) != 0 ||
      pthread_mutex_init(&s->ending, NULL) != 0) {
    free(s);
    return NULL;
  }
  if (dibs_open(options->url, NULL, &s->client, &error) != DIBS_OK) {
    fprintf(stderr, "flash_http: %s\n", error.text);
    return sale_close(s);
  }
  s->daemon = listen_on(s);
  if (s->daemon == NULL) {
    fprintf(stderr, "flash_http: cannot listen on port %u\n", (unsigned int)options->port);
    return sale_close(s);
  }
  return s;
}

sale *sale_close(sale *s)
{
  if (s == NULL)
    return NULL;
  pthread_mutex_lock(&s->gate);
  pthread_mutex_lock(&s->ending);
  s->is_ending = true;
  pthread_mutex_unlock(&s->ending);
  pthread_mutex_unlock(&s->gate);
  /* First the client: its callbacks resume every suspended connection. */
  s->client = dibs_close(s->client);
  if (s->daemon != NULL)
    MHD_stop_daemon(s->daemon);
  pthread_mutex_destroy(&s->ending);
  pthread_mutex_destroy(&s->gate);
  pthread_mutex_destroy(&s->counter);
  pthread_key_delete(s->stores);
  free(s);
  return NULL;
}
