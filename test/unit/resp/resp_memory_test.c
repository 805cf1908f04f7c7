/* SPDX-License-Identifier: MIT */
/* resp_memory_test.c - memory that hiredis wants and does not get is an answer: it asks the C
 * library, past the allocator of a client, and asserts here and there. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resp/resp.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);

/* Allocations are counted; from `fail_from` on, `fail_count` of them are refused. Volatile: the
 * compiler knows what a malloc() does. */
static volatile bool is_counting;
static volatile size_t asked;
static size_t fail_from, fail_count;

static bool is_refused(void)
{
  if (!is_counting)
    return false;
  asked++;
  return asked >= fail_from && asked - fail_from < fail_count;
}

/* For the whole program: hiredis 0.14 knows no other. */
void *malloc(size_t size)
{
  return is_refused() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
  return is_refused() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
  return is_refused() ? NULL : __libc_realloc(block, size);
}

/* ---- the memory of the client: never refused here, see resp_reader_test.c ---- */

static void *client_allocate(size_t bytes, void *live)
{
  ++*(size_t *)live;
  return __libc_malloc(bytes);
}

static void *client_reallocate(void *block, size_t bytes, void *live)
{
  *(size_t *)live += block == NULL;
  return __libc_realloc(block, bytes);
}

static void client_release(void *block, void *live)
{
  *(size_t *)live -= block != NULL;
  free(block);
}

/* ---- what a connection does ---- */

/* Above what hiredis keeps of an empty buffer; and above what the reader keeps of a parser. */
enum { MEDIUM = 30000, LARGE = 200000 };

static char medium[MEDIUM + 32], large[LARGE + 32];

static const char *string_of(char *room, size_t room_size, int size)
{
  int head = snprintf(room, room_size, "$%d\r\n", size);

  memset(room + head, 'x', (size_t)size);
  memcpy(room + head + size, "\r\n", 3);
  return room;
}

/* DIBS_OK, or the fault; `*ret_replies` counts the replies before it. */
static dibs_status read_piece(resp_reader *r, const char *bytes, size_t *ret_replies)
{
  dibs_status status = resp_reader_feed(r, bytes, strlen(bytes));
  resp_reply *reply = NULL;

  while (status == DIBS_OK && (status = resp_reader_next(r, &reply)) == DIBS_OK &&
         reply != NULL) {
    reply = resp_reply_free(reply);
    ++*ret_replies;
  }
  return status;
}

/* Small replies of every kind, each fed when what came before was taken. */
static dibs_status read_all(resp_reader *r, size_t *ret_replies)
{
  const char *const pieces[] = {
    "+OK\r\n*3\r\n:1\r\n$-1\r\n*2\r\n$1\r\na\r\n-ERR no\r\n",
    string_of(medium, sizeof(medium), MEDIUM), "+O", "K\r\n",
    string_of(large, sizeof(large), LARGE), ":2\r\n",
  };
  dibs_status status = DIBS_OK;

  for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]) && status == DIBS_OK; i++)
    status = read_piece(r, pieces[i], ret_replies);
  return status;
}

/* DIBS_OK, if each command and reply went through. */
static dibs_status read_and_write(size_t *live)
{
  memory m = { client_allocate, client_reallocate, client_release, live };
  resp_argument words[40];
  resp_reader *r;
  buffer out;
  size_t replies = 0;
  dibs_status status;
  bool is_written;

  for (size_t i = 0; i < 40; i++)
    words[i] = RESP_TEXT("word");
  buffer_init(&out, &m);
  is_written = resp_command(&out, words, 2) && resp_command(&out, words, 40);
  r = resp_reader_new(&m, RESP_LIMITS_DEFAULT);
  status = r == NULL ? DIBS_ERR_NO_MEMORY : read_all(r, &replies);
  r = resp_reader_free(r);
  buffer_deinit(&out);
  if (status == DIBS_OK && is_written)
    return replies == 6 ? DIBS_OK : DIBS_ERR_PROTOCOL;
  return status == DIBS_OK ? DIBS_ERR_NO_MEMORY : status;
}

/* ---- each allocation refused, alone, or with all that follow ---- */

static size_t refuse_each(size_t count)
{
  dibs_status status;

  fail_count = count;
  for (fail_from = 1; fail_from == 1 || asked >= fail_from - 1; fail_from++) {
    size_t live = 0;

    asked = 0;
    is_counting = true;
    status = read_and_write(&live);
    is_counting = false;
    assert_int_equal(live, 0);
    if (asked < fail_from)
      assert_int_equal(status, DIBS_OK);
    else if (status != DIBS_OK)          /* some are done without */
      assert_int_equal(status, DIBS_ERR_NO_MEMORY);
  }
  return asked;
}

/* It puts its own functions in the place of these. */
static bool is_under_valgrind(void)
{
  const char *libraries = getenv("LD_PRELOAD");

  return libraries != NULL && strstr(libraries, "vgpreload") != NULL;
}

TEST(no_refused_allocation_is_more_than_a_fault)
{
  if (is_under_valgrind())
    return;
  assert_true(refuse_each(1) > 5);
  assert_true(refuse_each(SIZE_MAX) > 5);
}

RUN_TESTS(NULL, NULL)
