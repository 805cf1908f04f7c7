/* SPDX-License-Identifier: MIT */
/* Unit: tls/digest. */
#include "tests.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/plain_memory.h"
#include "tls/digest.h"
#include "tls/tls.h"

static char reason[256], digits[SHA256_TEXT_SIZE];
static tls_context *context;

static bool digest(const char *words)
{
  text why = text_over(reason, sizeof(reason));

  return sha256_write(words, strlen(words), digits, &why);
}

static void use_tls(void)
{
  tls_session *session = tls_session_new(context, "localhost");
  int code = session == NULL ? 1 : 0;

  session = tls_session_free(session);
  context = tls_context_free(context);
  _exit(code);
}

static void end_after_digest_and_context(void)
{
  const memory m = plain_memory();
  text why = text_over(reason, sizeof(reason));

  if (atexit(use_tls) != 0 || !digest("abc") ||
      tls_context_new(&m, &(tls_files){ .ca = NULL }, &context, &why) != DIBS_OK)
    _exit(2);
  exit(3);
}

/* The first test: another one would decide for its process. */
TEST(threads_can_use_tls_during_exit_though_a_digest_came_first)
{
  pid_t child = fork();
  int status;

  if (child == 0)
    end_after_digest_and_context();
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

/* Of FIPS 180-2, appendix B. */
TEST(digests_are_those_of_the_standard)
{
  assert_true(digest("abc"));
  assert_string_equal(digits, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert_true(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"));
  assert_string_equal(digits, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

RUN_TESTS(NULL, NULL)
