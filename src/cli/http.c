/* SPDX-License-Identifier: MIT */
/* cli/http.c - a small HTTP server for dibs metrics and dibs web, over libmicrohttpd. */
#include "cli/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/http_heads.h"
#include "cli/message.h"

#define HEAD_SECONDS 5         /* without a byte of the next request, or before its end */
#define HEAD_MOST_MS 10000     /* until its head is complete */
#define IDLE_SECONDS 60        /* while a request is answered */
#define FILE_MAX 65536

struct http_server {
  struct MHD_Daemon *daemon;
  http_options options;
  bool is_loopback;
  char host[110];            /* of --listen, as a URL has it */
  char address[300];
  char *cert, *key;
  http_heads heads;
};

struct http_request {
  http_server *server;
  struct MHD_Connection *connection;
  enum MHD_Result result;
  bool is_answered;
  bool sets_cookie;
};

/* ---- answers ---- */

/* No page from elsewhere may be in ours, and ours asks no other host. */
static void add_headers(const http_request *r, struct MHD_Response *response, const char *type)
{
  char cookie[300];

  MHD_add_response_header(response, "Content-Type", type);
  MHD_add_response_header(response, "Cache-Control", "no-store");
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
  MHD_add_response_header(
    response, "Content-Security-Policy",
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  if (r->sets_cookie) {
    snprintf(cookie, sizeof(cookie), "dibs_token=%s; Path=/; HttpOnly; SameSite=Strict%s",
             r->server->options.token, r->server->cert != NULL ? "; Secure" : "");
    MHD_add_response_header(response, "Set-Cookie", cookie);
  }
}

static void answer(http_request *r, unsigned code, const char *type, struct MHD_Response *response)
{
  if (response == NULL) {
    r->result = MHD_NO;
  } else {
    add_headers(r, response, type);
    r->result = MHD_queue_response(r->connection, code, response);
    MHD_destroy_response(response);
  }
  r->is_answered = true;
}

void http_reply(http_request *r, unsigned code, const char *type, const char *body, size_t size)
{
  char *copy = malloc(size + 1);

  if (copy != NULL)
    memcpy(copy, body, size);
  answer(r, code, type, copy == NULL ? NULL :
         MHD_create_response_from_buffer(size, copy, MHD_RESPMEM_MUST_FREE));
}

static void reply_text(http_request *r, unsigned code, const char *text)
{
  http_reply(r, code, "text/plain; charset=utf-8", text, strlen(text));
}

const char *http_argument(http_request *r, const char *key)
{
  return MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, key);
}

/* ---- streams ---- */

typedef struct stream {
  http_next next;
  void *state;
  void (*state_free)(void *);
} stream;

static ssize_t stream_read(void *data, uint64_t at, char *bytes, size_t size)
{
  stream *s = data;
  size_t used = s->next(s->state, bytes, size);

  (void)at;
  return used == 0 ? MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)used;
}

static void stream_free(void *data)
{
  stream *s = data;

  s->state_free(s->state);
  free(s);
}

void http_stream(http_request *r, http_next next, void *state, void (*state_free)(void *))
{
  stream *s = malloc(sizeof(*s));

  if (s == NULL) {
    state_free(state);
    reply_text(r, MHD_HTTP_SERVICE_UNAVAILABLE, "no memory\n");
    return;
  }
  *s = (stream){ next, state, state_free };
  answer(r, MHD_HTTP_OK, "text/event-stream",
         MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 65536, stream_read, s, stream_free));
}

/* ---- access ---- */

/* Takes the same time wherever the two differ. */
static bool is_same_secret(const char *given, const char *wanted)
{
  size_t size = strlen(wanted);
  unsigned char differs = 0;

  if (given == NULL || strlen(given) != size)
    return false;
  for (size_t i = 0; i < size; i++)
    differs |= (unsigned char)(given[i] ^ wanted[i]);
  return differs == 0;
}

static bool has_token(http_request *r)
{
  const char *token = r->server->options.token;
  const char *header = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND,
                                                   "Authorization");

  if (token == NULL)
    return true;
  if (header != NULL && strncmp(header, "Bearer ", 7) == 0 && is_same_secret(header + 7, token))
    return true;
  if (is_same_secret(MHD_lookup_connection_value(r->connection, MHD_COOKIE_KIND, "dibs_token"),
                     token))
    return true;
  r->sets_cookie = is_same_secret(http_argument(r, "token"), token);
  return r->sets_cookie;
}

/* A page of another site whose name points to 127.0.0.1 must not read ours. */
static bool is_local_host(http_request *r)
{
  const char *const hosts[] = { "127.0.0.1", "localhost", "[::1]", r->server->host };
  const char *host = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Host");

  if (!r->server->is_loopback || r->server->options.token != NULL || host == NULL)
    return true;
  for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
    size_t size = strlen(hosts[i]);

    if (strncasecmp(host, hosts[i], size) == 0 && (host[size] == 0 || host[size] == ':'))
      return true;
  }
  return false;
}

static void expect_head(http_server *s, struct MHD_Connection *connection, int64_t until_ms)
{
  const union MHD_ConnectionInfo *info =
    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

  if (info != NULL)
    http_heads_set(&s->heads, info->connect_fd, until_ms);
}

/* A connection begins, or ends; its socket is closed afterwards. */
static void connected(void *data, struct MHD_Connection *connection, void **state,
                      enum MHD_ConnectionNotificationCode what)
{
  (void)state;
  expect_head(data, connection,
              what == MHD_CONNECTION_NOTIFY_STARTED ? clock_ms() + HEAD_MOST_MS : 0);
}

static enum MHD_Result handle(void *data, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **state)
{
  http_request r = { data, connection, MHD_NO, false, false };

  (void)version, (void)upload, (void)upload_size, (void)state;
  expect_head(data, connection, 0);
  (void)MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, IDLE_SECONDS);
  if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
    reply_text(&r, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
  else if (!is_local_host(&r))
    reply_text(&r, MHD_HTTP_FORBIDDEN, "only for its own address and localhost\n");
  else if (!has_token(&r))
    reply_text(&r, MHD_HTTP_UNAUTHORIZED, "add ?token=TOKEN to the address\n");
  else
    r.server->options.handle(&r, path, r.server->options.data);
  if (!r.is_answered)
    reply_text(&r, MHD_HTTP_NOT_FOUND, "no such page\n");
  return r.result;
}

static void answered(void *data, struct MHD_Connection *connection, void **state,
                     enum MHD_RequestTerminationCode how)
{
  (void)state;
  if (how != MHD_REQUEST_TERMINATED_COMPLETED_OK)
    return;
  expect_head(data, connection, clock_ms() + HEAD_MOST_MS);
  (void)MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, HEAD_SECONDS);
}

/* ---- start ---- */

static bool is_loopback(const struct sockaddr *address)
{
  if (address->sa_family == AF_INET) {
    struct sockaddr_in in;

    memcpy(&in, address, sizeof(in));
    return (ntohl(in.sin_addr.s_addr) >> 24) == 127;
  } else {
    struct sockaddr_in6 in;

    memcpy(&in, address, sizeof(in));
    return IN6_IS_ADDR_LOOPBACK(&in.sin6_addr);
  }
}

static bool is_port(const char *text)
{
  size_t size = strlen(text);

  return size > 0 && size <= 5 && strspn(text, "0123456789") == size &&
         (size < 5 || strcmp(text, "65535") <= 0);
}

/* Splits HOST:PORT and finds the address. NULL after saying what is wrong. */
static struct addrinfo *listen_address(const char *verb, const char *text)
{
  const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                  .ai_socktype = SOCK_STREAM };
  const char *colon = strrchr(text, ':');
  struct addrinfo *found = NULL;
  char host[100];
  size_t size = colon == NULL ? 0 : (size_t)(colon - text);

  if (size >= 2 && text[0] == '[' && text[size - 1] == ']') {
    text++;
    size -= 2;
  }
  snprintf(host, sizeof(host), "%.*s", (int)size, text);
  if (size == 0 || size >= sizeof(host) || !is_port(colon + 1) ||
      getaddrinfo(host, colon + 1, &hints, &found) != 0) {
    (void)say_usage(verb, "--listen %s: ADDRESS:PORT is wanted, such as 127.0.0.1:8080 or "
                    "[::1]:8080", text);
    return NULL;
  }
  return found;
}

/* The content of a small file, ends with a zero; NULL after saying why. */
static char *file_read(const char *path)
{
  FILE *file = fopen(path, "re");
  char *bytes = file == NULL ? NULL : calloc(1, FILE_MAX);
  size_t size = bytes == NULL ? 0 : fread(bytes, 1, FILE_MAX - 1, file);
  int error = file != NULL && bytes != NULL && !ferror(file) ? 0 : errno;

  if (file != NULL)
    fclose(file);
  if (size == 0) {
    say_fault(&(message_facts) { .code = CODE_FILE, .status = "DIBS_ERR_SYSTEM" },
              "cannot read %s: %s", path, error == 0 ? "it is empty" : strerror(error));
    free(bytes);
    return NULL;
  }
  return bytes;
}

/* An IPv6 address has brackets in a URL, also if --listen had none. */
static void host_write(http_server *s, const char *listen)
{
  int size = (int)(strrchr(listen, ':') - listen);
  bool is_bare = listen[0] != '[' && memchr(listen, ':', (size_t)size) != NULL;

  snprintf(s->host, sizeof(s->host), "%s%.*s%s", is_bare ? "[" : "", size, listen,
           is_bare ? "]" : "");
}

static void address_write(http_server *s)
{
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);

  snprintf(s->address, sizeof(s->address), "http%s://%s:%u", s->cert != NULL ? "s" : "", s->host,
           info != NULL ? (unsigned)info->port : 0);
}

static int daemon_start(const char *verb, http_server *s, const struct addrinfo *at)
{
  unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD |
                   (at->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0u) |
                   (s->cert != NULL ? MHD_USE_TLS : 0u);
  struct MHD_OptionItem tls[] = { { MHD_OPTION_HTTPS_MEM_CERT, 0, s->cert },
                                  { MHD_OPTION_HTTPS_MEM_KEY, 0, s->key },
                                  { MHD_OPTION_END, 0, NULL } };

  if (s->cert == NULL)
    tls[0].option = MHD_OPTION_END;
  errno = 0;
  s->daemon = MHD_start_daemon(flags, 0, NULL, NULL, handle, s, MHD_OPTION_SOCK_ADDR, at->ai_addr,
                               MHD_OPTION_CONNECTION_LIMIT, HTTP_CONNECTIONS_MAX,
                               MHD_OPTION_CONNECTION_TIMEOUT, HEAD_SECONDS,
                               MHD_OPTION_NOTIFY_COMPLETED, answered, s,
                               MHD_OPTION_NOTIFY_CONNECTION, connected, s,
                               MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
  if (s->daemon != NULL)
    return 0;
  return say_fault(&(message_facts){ .code = CODE_FILE },
                   "%s: cannot listen on %s: %s%s", verb, s->options.listen,
                   errno != 0 ? strerror(errno) : "the certificate or key is not usable",
                   errno == EADDRINUSE ? "; choose another port with --listen" : "");
}

int http_start(const char *verb, const http_options *o, http_server **ret_server)
{
  struct addrinfo *at = listen_address(verb, o->listen);
  http_server *s = at == NULL ? NULL : calloc(1, sizeof(*s));
  int code = CODE_USAGE;

  if (s != NULL) {
    s->options = *o;
    (void)pthread_mutex_init(&s->heads.mutex, NULL);
    s->is_loopback = is_loopback(at->ai_addr);
    host_write(s, o->listen);
    if (!s->is_loopback && !o->is_public_allowed && o->token == NULL && o->cert == NULL)
      code = say_usage(verb, "--listen %s is not an address of this machine alone: give --token "
                       "or --tls-cert, or listen on 127.0.0.1", o->listen);
    else if ((o->cert == NULL) != (o->key == NULL))
      code = say_usage(verb, o->key == NULL ? "--tls-cert needs --tls-key"
                                            : "--tls-key needs --tls-cert: without it this would "
                                              "serve http");
    else if (o->cert != NULL && ((s->cert = file_read(o->cert)) == NULL ||
                                 (s->key = file_read(o->key)) == NULL))
      code = CODE_FILE;
    else
      code = daemon_start(verb, s, at);
  }
  if (at != NULL)
    freeaddrinfo(at);
  if (code != 0) {
    http_stop(s);
    return code;
  }
  address_write(s);
  *ret_server = s;
  return 0;
}

const char *http_address(const http_server *s)
{
  return s->address;
}

void http_wait(http_server *s, const sigset_t *ends)
{
  const struct timespec second = { .tv_sec = 1 };

  while (sigtimedwait(ends, NULL, &second) < 0)
    http_heads_end_late(&s->heads, clock_ms());
}

void http_stop(http_server *s)
{
  if (s == NULL)
    return;
  if (s->daemon != NULL)
    MHD_stop_daemon(s->daemon);
  free(s->cert);
  free(s->key);
  free(s);
}
