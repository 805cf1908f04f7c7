/* SPDX-License-Identifier: MIT */
/* test/live/rotated_files_test.c - what a client has read from files is replaced on the disk and on
 * the server while it runs: a reconnection that is refused reads the files again. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "authority.h"
#include "deployment.h"
#include "live.h"

enum { TTL_MS = 30000 };

static struct test_authority *authority;

/* A server, the files of its clients, and two of these. */
struct stage {
  struct test_server *server;
  char ca[200], cert[200], key[200];
  dibs_options options;
  struct live_events events;
  dibs_client *a, *b;
};

/* By one rename, as a tool that rotates does it. */
static void file_write(const char *path, const void *bytes, size_t size)
{
  char fresh[220];
  FILE *f;

  (void)snprintf(fresh, sizeof(fresh), "%s.new", path);
  f = fopen(fresh, "we");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, size, f), size);
  assert_int_equal(fclose(f), 0);
  assert_int_equal(rename(fresh, path), 0);
}

static void file_copy(const char *from, const char *to)
{
  static char bytes[65536];
  FILE *f = fopen(from, "re");
  size_t size;

  assert_non_null(f);
  size = fread(bytes, 1, sizeof(bytes), f);
  assert_int_equal(fclose(f), 0);
  file_write(to, bytes, size);
}

static void file_name(const struct stage *s, const char *name, char *path, size_t size)
{
  (void)snprintf(path, size, "%s/%s", test_server_directory(s->server), name);
}

static struct stage *stage_set(const struct test_server_options *server)
{
  static struct stage s;

  s = (struct stage){ .server = test_server_start_with(server), .options = live_options() };
  (void)pthread_mutex_init(&s.events.mutex, NULL);
  s.options.connect_timeout_ms = s.options.command_timeout_ms = LIVE_LONG_MS;
  s.options.on_event = live_on_event;
  s.options.on_event_data = &s.events;
  file_name(&s, "its-ca", s.ca, sizeof(s.ca));
  file_name(&s, "its-cert", s.cert, sizeof(s.cert));
  file_name(&s, "its-key", s.key, sizeof(s.key));
  return &s;
}

static void clients_open(struct stage *s, const char *url)
{
  s->a = live_open_with(url, &s->options);
  s->options.on_event = NULL;
  s->b = live_open_with(url, &s->options);
}

static void stage_end(struct stage *s)
{
  s->a = dibs_close(s->a);
  s->b = dibs_close(s->b);
  s->server = test_server_stop(s->server);
}

static void connections_cut(const struct stage *s)
{
  (void)test_server_command(s->server, "CLIENT KILL TYPE normal SKIPME yes");
  (void)test_server_command(s->server, "CLIENT KILL TYPE pubsub");
}

static bool is_reached(void *client)
{
  return dibs_ping(client, 2000, NULL) == DIBS_OK;
}

/* ---- a disk that hangs: for the whole program, library included ---- */

static const char *_Atomic hanging;      /* this file; NULL: none */

int open(const char *path, int flags, ...)
{
  mode_t mode = 0;
  va_list more;

  va_start(more, flags);
  if ((flags & O_CREAT) != 0)
    mode = va_arg(more, mode_t);
  va_end(more);
  while (hanging != NULL && strcmp(hanging, path) == 0)
    (void)poll(NULL, 0, 1);
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

/* So that a test that fails ends. */
static void *disk_answers_later(void *data)
{
  (void)data;
  for (int i = 0; i < LIVE_LONG_MS && hanging != NULL; i++)
    (void)poll(NULL, 0, 1);
  hanging = NULL;
  return NULL;
}

/* ---- certificates ---- */

static void needs_tls(void)
{
  if (!test_servers_speak_tls())
    skip();
}

static struct stage *tls_stage_set(bool wants_client_certificate)
{
  const struct test_server_options server = {
    .has_tls = true, .wants_client_certificate = wants_client_certificate,
    .authority = authority };
  struct stage *s = stage_set(&server);

  file_copy(test_authority_ca(authority), s->ca);
  s->options.ca_file = s->ca;
  if (wants_client_certificate) {
    file_copy(test_authority_client_certificate(authority), s->cert);
    file_copy(test_authority_client_key(authority), s->key);
    s->options.cert_file = s->cert;
    s->options.key_file = s->key;
  }
  clients_open(s, test_server_tcp_url(s->server));
  return s;
}

/* From now on its certificate is of the other authority. */
static void server_shows_another(const struct stage *s)
{
  assert_string_equal(
    test_server_command(s->server, "CONFIG SET tls-cert-file %s tls-key-file %s",
                        test_authority_certificate(authority, TEST_CERTIFICATE_FOREIGN),
                        test_authority_key(authority, TEST_CERTIFICATE_FOREIGN)), "OK");
}

/* From now on it accepts clients of the other authority only. */
static void server_wants_another(const struct stage *s)
{
  assert_string_equal(test_server_command(s->server, "CONFIG SET tls-ca-cert-file %s",
                                          test_authority_foreign_ca(authority)), "OK");
}

static bool has_renewed(void *client)
{
  return live_stats(client).renewed > 0;
}

/* While `a` holds a lock and `b` waits for it; neither notices. */
static void rotated(struct stage *s, void (*rotate)(const struct stage *s))
{
  dibs_lock_options wait = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *hold = live_lock(s->a, "rotated", TTL_MS);
  struct live_ask ask;

  live_ask_begin(&ask, s->b, "rotated", &wait);
  live_expect_waiters(s->server, "rotated", 1);
  rotate(s);
  connections_cut(s);
  assert_true(live_until(LIVE_LONG_MS, has_renewed, s->a));
  live_expect(s->a, dibs_release(hold), DIBS_OK);
  live_expect(s->b, dibs_release(live_ask_granted(&ask, LIVE_LONG_MS)), DIBS_OK);
  stage_end(s);
}

static void authorities_rotate(const struct stage *s)
{
  file_copy(test_authority_foreign_ca(authority), s->ca);
  server_shows_another(s);
}

TEST(a_new_authority_is_read)
{
  needs_tls();
  rotated(tls_stage_set(false), authorities_rotate);
}

static void client_certificates_rotate(const struct stage *s)
{
  file_copy(test_authority_foreign_client_certificate(authority), s->cert);
  file_copy(test_authority_foreign_client_key(authority), s->key);
  server_wants_another(s);
}

TEST(a_new_client_certificate_is_read)
{
  needs_tls();
  rotated(tls_stage_set(true), client_certificates_rotate);
}

static bool is_warned(void *events)
{
  struct live_events *e = events;

  return atomic_load(&e->counts[DIBS_EVENT_WARNING]) > 0;
}

TEST(a_refusal_names_the_file_until_it_is_replaced)
{
  struct stage *s;
  dibs_hold *hold;

  needs_tls();
  s = tls_stage_set(false);
  hold = live_lock(s->a, "rotated", TTL_MS);
  server_shows_another(s);
  connections_cut(s);
  live_expect(s->a, dibs_ping(s->a, LIVE_LONG_MS, NULL), DIBS_ERR_TLS);
  live_expect_words(s->a, "unknown issuer");
  live_expect_words(s->a, s->ca);
  assert_true(live_until(LIVE_LONG_MS, is_warned, &s->events));
  assert_non_null(strstr(s->events.warning, s->ca));
  file_copy(test_authority_foreign_ca(authority), s->ca);
  assert_true(live_until(LIVE_LONG_MS, is_reached, s->a));
  live_expect(s->a, dibs_release(hold), DIBS_OK);
  stage_end(s);
}

/* Between two renames the key is of another certificate: the old ones are still used. */
TEST(files_that_do_not_fit_yet_are_named)
{
  struct stage *s;

  needs_tls();
  s = tls_stage_set(true);
  live_expect(s->a, dibs_ping(s->a, LIVE_LONG_MS, NULL), DIBS_OK);
  file_copy(test_authority_foreign_client_certificate(authority), s->cert);
  connections_cut(s);
  assert_true(live_until(LIVE_LONG_MS, is_reached, s->a));
  server_wants_another(s);
  connections_cut(s);
  live_expect(s->a, dibs_ping(s->a, LIVE_LONG_MS, NULL), DIBS_ERR_TLS);
  live_expect_words(s->a, "alert unknown ca");
  live_expect_words(s->a, s->key);
  file_copy(test_authority_foreign_client_key(authority), s->key);
  assert_true(live_until(LIVE_LONG_MS, is_reached, s->a));
  stage_end(s);
}

/* ---- passwords ---- */

static char password[16];                /* of the server; test_server_command() uses it */

/* The clients' password is the first line of s->key; the URL makes them search for the server. */
static struct stage *password_stage_set(void)
{
  struct test_server_options server = { .password = strcpy(password, "first") };
  struct stage *s = stage_set(&server);
  char url[200];

  (void)snprintf(url, sizeof(url), "redis://127.0.0.1:%d,localhost:%d",
                 test_server_port(s->server), test_server_port(s->server));
  file_write(s->key, "first\n", 6);
  s->options.password_file = s->key;
  clients_open(s, url);
  return s;
}

static void server_wants_a_new_password(const struct stage *s)
{
  assert_string_equal(test_server_command(s->server, "CONFIG SET requirepass second"), "OK");
  (void)strcpy(password, "second");
}

static void passwords_rotate(const struct stage *s)
{
  file_write(s->key, "second\n", 7);
  server_wants_a_new_password(s);
}

TEST(a_new_password_is_read)
{
  rotated(password_stage_set(), passwords_rotate);
}

/* s->key is a configuration file with the password in it. */
static void configure(const struct stage *s, const char *word)
{
  char text[400];
  int size = snprintf(text, sizeof(text), "url = %s\npassword = %s\n",
                      test_server_url(s->server), word);

  file_write(s->key, text, (size_t)size);
}

static void configuration_rotates(const struct stage *s)
{
  configure(s, "second");
  server_wants_a_new_password(s);
}

TEST(a_new_password_in_a_configuration_file_is_read)
{
  struct test_server_options server = { .password = strcpy(password, "first") };
  struct stage *s = stage_set(&server);

  configure(s, "first");
  s->options.config_file = s->key;
  clients_open(s, NULL);
  rotated(s, configuration_rotates);
}

TEST(a_refused_password_names_its_file_until_that_has_another)
{
  struct stage *s = password_stage_set();
  dibs_hold *hold = live_lock(s->a, "rotated", TTL_MS);
  static char url[DIBS_URL_SIZE];

  server_wants_a_new_password(s);
  connections_cut(s);
  live_expect(s->a, dibs_ping(s->a, LIVE_LONG_MS, NULL), DIBS_ERR_AUTH);
  live_expect_words(s->a, "WRONGPASS");
  live_expect_words(s->a, s->key);
  assert_true(live_until(LIVE_LONG_MS, is_warned, &s->events));
  assert_non_null(strstr(s->events.warning, s->key));
  assert_int_equal(remove(s->key), 0);
  live_expect(s->b, dibs_ping(s->b, LIVE_LONG_MS, NULL), DIBS_ERR_AUTH);
  live_expect_words(s->b, "No such file");
  file_write(s->key, "second\n", 7);
  assert_true(live_until(LIVE_LONG_MS, is_reached, s->a));
  live_expect(s->a, dibs_release(hold), DIBS_OK);
  live_expect(s->a, dibs_full_url(s->a, true, url, sizeof(url)), DIBS_OK);
  assert_non_null(strstr(url, "password=second&password_file="));
  stage_end(s);
}

/* dibs_client_set_credentials() is the program's word: its file no longer counts. */
TEST(credentials_of_the_program_are_not_replaced)
{
  struct stage *s = password_stage_set();

  server_wants_a_new_password(s);
  live_expect_ok(dibs_client_set_credentials(s->a, NULL, "wrong"));
  file_write(s->key, "second\n", 7);
  live_expect(s->a, dibs_lock(s->a, "name", NULL, &(dibs_hold *){ NULL }), DIBS_ERR_AUTH);
  live_expect(s->b, dibs_ping(s->b, LIVE_LONG_MS, NULL), DIBS_OK);
  stage_end(s);
}

/* Its own log-in waits for the disk, for a quarter of connect_timeout_ms at most. */
TEST(a_disk_that_hangs_holds_up_no_call)
{
  struct stage *s = password_stage_set();
  pthread_t thread;
  int64_t begun;

  live_expect_ok(dibs_ping(s->a, LIVE_LONG_MS, NULL));
  server_wants_a_new_password(s);
  hanging = s->key;
  assert_int_equal(pthread_create(&thread, NULL, disk_answers_later, NULL), 0);
  connections_cut(s);
  begun = live_now_ms();
  live_expect(s->a, dibs_ping(s->a, 500, NULL), DIBS_ERR_UNREACHABLE);
  for (int i = 0; i < 20; i++)
    (void)live_stats(s->a);
  assert_in_range(live_now_ms() - begun, 0, LIVE_LONG_MS / 2);
  live_expect(s->a, dibs_ping(s->a, LIVE_LONG_MS, NULL), DIBS_ERR_AUTH);
  live_expect_words(s->a, s->key);
  assert_non_null(hanging);
  file_write(s->key, "second\n", 7);
  hanging = NULL;
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_true(live_until(LIVE_LONG_MS, is_reached, s->a));
  stage_end(s);
}

/* ---- the password of sentinels ---- */

static char sentinel_password[16];

static void configure_sentinels(const char *path, const struct test_sentinels *watch,
                                const char *word)
{
  char text[400];
  int size = snprintf(text, sizeof(text), "url = redis+sentinel://127.0.0.1:%d/" TEST_SERVICE
                      "/0\nsentinel_password = %s\n", test_server_port(test_sentinel(watch, 0)),
                      word);

  file_write(path, text, (size_t)size);
}

/* A client asks the sentinels for its server at its first call. */
TEST(a_new_password_of_sentinels_in_a_configuration_file_is_read)
{
  const struct test_set_options alone = { .replicas = TEST_NONE };
  const struct test_sentinels_options o = { .count = 1,
                                            .password = strcpy(sentinel_password, "first") };
  struct test_set *set = test_set_start(&alone);
  struct test_sentinels *watch = test_sentinels_start(set, &o);
  const struct test_server *sentinel = test_sentinel(watch, 0);
  dibs_options options = live_options();
  dibs_client *client;
  char path[200];

  (void)snprintf(path, sizeof(path), "%s/its-config", test_server_directory(sentinel));
  configure_sentinels(path, watch, "first");
  options.connect_timeout_ms = LIVE_LONG_MS;
  options.config_file = path;
  client = live_open_with(NULL, &options);
  configure_sentinels(path, watch, "second");
  assert_string_equal(test_server_command(sentinel, "ACL SETUSER default resetpass >second"),
                      "OK");
  (void)strcpy(sentinel_password, "second");
  live_expect(client, dibs_ping(client, LIVE_LONG_MS, NULL), DIBS_OK);
  client = dibs_close(client);
  watch = test_sentinels_stop(watch);
  set = test_set_stop(set);
}

static int setup(void **state)
{
  (void)state;
  authority = test_authority_make();
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  authority = test_authority_free(authority);
  return 0;
}

RUN_TESTS(setup, teardown)
