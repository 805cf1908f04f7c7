/* SPDX-License-Identifier: MIT */
/* Stories of log-ins: a server refuses a password, and meanwhile its file or the program has
 * another. */
#include "tests.h"

#include "base/plain_memory.h"
#include "peer.h"

#define FILE_NAME "/run/password"

/* Its password was read from FILE_NAME. "a" asks; the connection is not made yet. */
static struct peer *asking(void)
{
  static char host[] = "server", old[] = "old", file[] = FILE_NAME;
  static server_url seed = { .memory = PLAIN_MEMORY, .transport = SERVER_TCP, .host = host,
                             .port = 7000, .password = old, .password_file = file };
  static deployment one = { .kind = DEPLOYMENT_SINGLE, .seed_count = 1, .seeds = &seed };
  engine_settings s = peer_settings();
  struct peer *p;

  s.deployment = &one;
  p = peer_new_with(&s);
  peer_lock(p, "a", (struct wish){ .wait_ms = 10000 });
  return p;
}

static void file_is_read(struct peer *p, const char *password)
{
  assert_true(engine_set_file_password(peer_engine(p), FILE_NAME, PASSWORD_LINE, password));
}

static void program_says(struct peer *p, const char *password)
{
  assert_true(engine_set_credentials(peer_engine(p), NULL, password));
}

static void refuses(struct peer *p, const char *login)
{
  peer_serve(p, login, "-WRONGPASS invalid username-password pair or user is disabled.");
}

static void serves(struct peer *p, const char *login)
{
  peer_connect(p, 0);
  peer_serve(p, login, "+OK");
  peer_serve(p, "acquire*", "[1 %lld 30000 60]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_free(p);
}

/* The password of the file was refused, and the file is to be read again. */
static struct peer *refused_once(void)
{
  struct peer *p = asking();

  peer_connect(p, 0);
  refuses(p, "AUTH old");
  assert_int_equal(peer_wants_files(p, 0), DIBS_ERR_AUTH);
  return p;
}

TEST(a_refused_password_is_read_again)
{
  struct peer *p = refused_once();

  file_is_read(p, "new");
  peer_expect_told_nothing(p);
  serves(p, "AUTH new");
}

TEST(a_file_that_was_being_read_does_not_replace_the_password_of_the_program)
{
  struct peer *p = refused_once();

  program_says(p, "new");
  file_is_read(p, "old");
  serves(p, "AUTH new");
}

/* The file is refused twice, so that the next attempt has a pause before it. */
TEST(once_the_program_has_given_a_password_no_file_is_read)
{
  struct peer *p = refused_once();

  peer_connect(p, 0);
  refuses(p, "AUTH old");
  peer_expect_told(p, "failed a DIBS_ERR_AUTH");
  assert_false(peer_wants(p, 0));
  program_says(p, "new");
  peer_lock(p, "a", (struct wish){ .wait_ms = 10000 });
  while (!peer_wants(p, 0))
    peer_advance_ms(p, 1);
  assert_int_equal(peer_wants_files(p, 0), DIBS_OK);
  serves(p, "AUTH new");
}

TEST(the_refusal_of_a_password_that_was_replaced_meanwhile_ends_no_call)
{
  struct peer *p = asking();

  peer_connect(p, 0);
  peer_expect(p, "AUTH old");
  program_says(p, "new");
  peer_answer(p, "-WRONGPASS invalid username-password pair or user is disabled.");
  peer_expect_told_nothing(p);
  serves(p, "AUTH new");
}

TEST(the_refusal_of_the_one_after_it_does)
{
  struct peer *p = asking();

  peer_connect(p, 0);
  peer_expect(p, "AUTH old");
  program_says(p, "new");
  peer_answer(p, "-WRONGPASS invalid username-password pair or user is disabled.");
  peer_connect(p, 0);
  refuses(p, "AUTH new");
  peer_expect_told(p, "failed a DIBS_ERR_AUTH");
  peer_free(p);
}

RUN_TESTS(NULL, NULL)
