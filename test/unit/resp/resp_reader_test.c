/* SPDX-License-Identifier: MIT */
/* Unit: resp/resp_reader.c - any cutting of the bytes gives the same flat replies; what
 * a hostile peer announces costs no memory. */
#include "tests.h"
#include "resp/resp.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <stdlib.h>

#include "failing_heap.h"

/* One of each kind, nested. */
static const char sample[] =
  "*5\r\n:-42\r\n$5\r\na\0b\r\n\r\n*2\r\n+OK\r\n*0\r\n$-1\r\n-ERR no\r\n";

static void sample_check(const resp_reply *reply)
{
  const resp_node *root = resp_root(reply);
  const resp_node *inner = resp_child(reply, root, 2);

  assert_int_equal(root->kind, RESP_ARRAY);
  assert_int_equal(root->integer, 5);
  assert_int_equal(root->end, 8);
  assert_int_equal(resp_child(reply, root, 0)->kind, RESP_INTEGER);
  assert_int_equal(resp_child(reply, root, 0)->integer, -42);
  assert_int_equal(resp_child(reply, root, 1)->kind, RESP_STRING);
  assert_int_equal(resp_child(reply, root, 1)->size, 5);
  assert_memory_equal(resp_child(reply, root, 1)->bytes, "a\0b\r\n", 6);
  assert_int_equal(inner->kind, RESP_ARRAY);
  assert_int_equal(resp_child(reply, inner, 0)->kind, RESP_STATUS);
  assert_string_equal(resp_child(reply, inner, 0)->bytes, "OK");
  assert_int_equal(resp_child(reply, inner, 1)->kind, RESP_ARRAY);
  assert_int_equal(resp_child(reply, inner, 1)->integer, 0);
  assert_null(resp_child(reply, inner, 2));
  assert_null(resp_child(reply, resp_child(reply, inner, 1), 0));
  assert_int_equal(resp_child(reply, root, 3)->kind, RESP_NIL);
  assert_int_equal(resp_child(reply, root, 4)->kind, RESP_ERROR);
  assert_string_equal(resp_child(reply, root, 4)->bytes, "ERR no");
  assert_null(resp_child(reply, root, 5));
  assert_null(resp_child(reply, resp_child(reply, root, 0), 0));
}

TEST(any_cutting_gives_the_same_reply)
{
  for (size_t piece = 1; piece <= sizeof(sample); piece++) {
    failing_heap heap = { 0 };
    memory m = FAILING_HEAP_AS(memory, &heap);
    resp_reader *r = resp_reader_new(&m, RESP_LIMITS_DEFAULT);
    size_t replies = 0;

    for (size_t at = 0; at < sizeof(sample) - 1; at += piece) {
      size_t left = sizeof(sample) - 1 - at;
      resp_reply *reply = NULL;
      assert_int_equal(resp_reader_feed(r, sample + at, left < piece ? left : piece),
                       DIBS_OK);
      assert_int_equal(resp_reader_next(r, &reply), DIBS_OK);
      if (reply != NULL) {
        sample_check(reply);
        replies++;
      }
      resp_reply_free(reply);
    }
    assert_int_equal(replies, 1);
    resp_reader_free(r);
    assert_int_equal(heap.live, 0);
  }
}

TEST(replies_in_one_piece_come_one_by_one)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  resp_reader *r = resp_reader_new(&m, RESP_LIMITS_DEFAULT);
  resp_reply *first, *second, *third;

  assert_int_equal(resp_reader_feed(r, "+a\r\n$1\r\nb\r\n:3\r\n", 15), DIBS_OK);
  assert_int_equal(resp_reader_next(r, &first), DIBS_OK);
  assert_int_equal(resp_reader_next(r, &second), DIBS_OK);
  assert_int_equal(resp_reader_next(r, &third), DIBS_OK);
  /* All three stay valid, whatever the reader does next. */
  assert_string_equal(resp_root(first)->bytes, "a");
  assert_string_equal(resp_root(second)->bytes, "b");
  assert_int_equal(resp_root(third)->integer, 3);
  resp_reply_free(first);
  resp_reply_free(second);
  resp_reply_free(third);
  assert_int_equal(resp_reader_next(r, &first), DIBS_OK);
  assert_null(first);
  resp_reader_free(r);
  assert_int_equal(heap.live, 0);
}

/* Feeds `bytes`, takes replies until a fault, and answers that fault. */
static dibs_status fault_of(resp_limits limits, const char *bytes, size_t size,
                            char ret_words[200])
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  resp_reader *r = resp_reader_new(&m, limits);
  dibs_status status = resp_reader_feed(r, bytes, size);
  resp_reply *reply = NULL;

  while (status == DIBS_OK) {
    status = resp_reader_next(r, &reply);
    if (status != DIBS_OK || reply == NULL)
      break;
    reply = resp_reply_free(reply);
  }
  snprintf(ret_words, 200, "%s", resp_reader_fault(r));
  /* After a fault only that fault is answered. */
  if (status != DIBS_OK) {
    assert_int_equal(resp_reader_feed(r, "+OK\r\n", 5), status);
    assert_int_equal(resp_reader_next(r, &reply), status);
    assert_string_equal(resp_reader_fault(r), ret_words);
  }
  resp_reader_free(r);
  assert_int_equal(heap.live, 0);
  return status;
}

static dibs_status default_fault_of(const char *words, char ret_words[200])
{
  return fault_of(RESP_LIMITS_DEFAULT, words, strlen(words), ret_words);
}

TEST(what_is_no_resp_is_shown_in_its_first_bytes)
{
  char words[200];

  assert_int_equal(default_fault_of("HTTP/1.1 400 Bad Request\r\n\r\n", words),
                   DIBS_ERR_PROTOCOL);
  assert_non_null(strstr(words, "HTTP/1.1 400 Bad Request"));
  assert_int_equal(default_fault_of("\x16\x03\x01garbage", words), DIBS_ERR_PROTOCOL);
  assert_non_null(strstr(words, "\\x16\\x03\\x01garbage"));
}

TEST(broken_sizes_are_faults)
{
  static const char *const broken[] = {
    "$-2\r\n", "*-2\r\n", "$abc\r\n", "*abc\r\n", "*1\r\n$99999999999999999999\r\n",
    "*99999999999999999999\r\n", ":abc\r\n", "*2147483648\r\n", "%1\r\n+a\r\n+b\r\n", "#t\r\n",
    ",1.5\r\n", "*1\r\n,1.5\r\n", "~0\r\n", ">1\r\n+a\r\n", "(12\r\n", "=7\r\ntxt:abc\r\n",
  };
  char words[200];

  for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
    if (default_fault_of(broken[i], words) != DIBS_ERR_PROTOCOL)
      fail_msg("%s is taken", broken[i]);
}

TEST(eight_arrays_nest_and_nine_do_not)
{
  char words[200];

  assert_int_equal(default_fault_of("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
                                    words), DIBS_OK);
  assert_int_equal(default_fault_of("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
                                    words), DIBS_ERR_PROTOCOL);
}

TEST(a_smaller_depth_is_kept_too)
{
  static const char deep[] = "*1\r\n*1\r\n*1\r\n:1\r\n";
  char words[200];

  assert_int_equal(fault_of((resp_limits){ 3, 10, 100 }, deep, sizeof(deep) - 1, words),
                   DIBS_OK);
  assert_int_equal(fault_of((resp_limits){ 2, 10, 100 }, deep, sizeof(deep) - 1, words),
                   DIBS_ERR_PROTOCOL);
  assert_string_equal(words, "a reply is nested deeper than 2");
}

TEST(too_many_elements_are_refused_when_announced)
{
  char words[200];

  assert_int_equal(default_fault_of("*16384\r\n", words), DIBS_OK);
  assert_int_equal(default_fault_of("*16385\r\n", words), DIBS_ERR_PROTOCOL);
  assert_string_equal(words, "a reply has more elements than 16384");
  assert_int_equal(default_fault_of("*2000000000\r\n", words), DIBS_ERR_PROTOCOL);
  /* Small arrays in one reply count together, in several replies they do not. */
  assert_int_equal(default_fault_of("*2\r\n*10000\r\n", words), DIBS_OK);
  assert_int_equal(default_fault_of("*16384\r\n*1\r\n", words), DIBS_ERR_PROTOCOL);
  assert_int_equal(fault_of((resp_limits){ 8, 2, 100 },
                            "*2\r\n:1\r\n:2\r\n*2\r\n:3\r\n:4\r\n", 24, words), DIBS_OK);
}

TEST(an_announced_size_takes_no_memory)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  resp_reader *r = resp_reader_new(&m, RESP_LIMITS_DEFAULT);
  char block[65536];
  size_t fed = 0;
  dibs_status status = resp_reader_feed(r, "$9000000000000000000\r\n", 22);
  resp_reply *reply;

  memset(block, 'x', sizeof(block));
  while (status == DIBS_OK) {
    status = resp_reader_next(r, &reply);
    if (status != DIBS_OK)
      break;
    assert_null(reply);
    status = resp_reader_feed(r, block, sizeof(block));
    fed += sizeof(block);
    assert_true(fed <= (3u << 20));
  }
  assert_int_equal(status, DIBS_ERR_PROTOCOL);
  assert_int_equal(heap.asked, 1);      /* the reader itself */
  resp_reader_free(r);
}

static dibs_status small_fault_of(const char *bytes, char ret_words[200])
{
  return fault_of((resp_limits){ 8, 100, 10 }, bytes, strlen(bytes), ret_words);
}

TEST(a_long_reply_is_refused_however_it_comes)
{
  char words[200];

  assert_int_equal(small_fault_of("$10\r\n0123456789\r\n", words), DIBS_OK);
  assert_int_equal(small_fault_of("$11\r\n0123456789a\r\n", words), DIBS_ERR_PROTOCOL);
  assert_string_equal(words, "a reply is longer than 10");
  assert_int_equal(small_fault_of("*2\r\n$6\r\n012345\r\n$6\r\n012345\r\n", words),
                   DIBS_ERR_PROTOCOL);
  assert_int_equal(small_fault_of("+an endless line", words), DIBS_ERR_PROTOCOL);
  assert_int_equal(small_fault_of("+many\r\n+short\r\n+ones\r\n+do\r\n", words),
                   DIBS_OK);
}

TEST(replies_that_nobody_takes_do_not_pile_up_for_ever)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  resp_reader *r = resp_reader_new(&m, (resp_limits){ 8, 100, 100 });
  size_t fed = 0;

  while (resp_reader_feed(r, "+OK\r\n", 5) == DIBS_OK && fed < 10000)
    fed += 5;
  assert_in_range(fed, 100, 1000);
  resp_reader_free(r);
}

TEST(much_traffic_is_no_unfinished_reply)
{
  failing_heap heap = { 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  resp_reader *r = resp_reader_new(&m, (resp_limits){ 8, 100, 100 });

  for (size_t i = 0; i < 1000; i++) {
    resp_reply *reply = NULL;
    assert_int_equal(resp_reader_feed(r, i == 0 ? "$3\r\nab" : "c\r\n$3\r\nab",
                                      i == 0 ? 6 : 9), DIBS_OK);
    assert_int_equal(resp_reader_next(r, &reply), DIBS_OK);
    assert_true((reply != NULL) == (i > 0));
    resp_reply_free(reply);
  }
  resp_reader_free(r);
  assert_int_equal(heap.live, 0);
}

static bool reads(failing_heap *heap, void *data)
{
  memory m = FAILING_HEAP_AS(memory, heap);
  resp_reader *r = resp_reader_new(&m, RESP_LIMITS_DEFAULT);
  resp_reply *reply = NULL;
  dibs_status status;

  (void)data;
  if (r == NULL)
    return false;
  status = resp_reader_feed(r, sample, sizeof(sample) - 1);
  if (status == DIBS_OK)
    status = resp_reader_next(r, &reply);
  if (status == DIBS_OK)
    sample_check(reply);
  else
    assert_int_equal(status, DIBS_ERR_NO_MEMORY);
  resp_reply_free(reply);
  resp_reader_free(r);
  return status == DIBS_OK;
}

TEST(refused_memory_is_a_fault_of_its_own)
{
  failing_heap_try_all(reads, NULL);
}

RUN_TESTS(NULL, NULL)
