/* SPDX-License-Identifier: MIT */
/* Every request of the dialects, word for word, as requests.txt shows it; the longest requests;
 * refused memory.
 *
 *   requests_test FILE            compares
 *   requests_test FILE --write    writes the file again */
#include "requests.h"

#include <ctype.h>
#include <stdio.h>

#include "answer_reader.h"
#include "failing_heap.h"

#define COLUMNS 100

/* What is shown instead of the bytes on the left. */
static const struct { const char *bytes, *shown; } marks[] = {
  { ANNA, "<C>" }, { "00112233-4455-6677-8899-aabbccddeeff", "<U>" },
  { BERT, "<C2>" }, { "04104104-1041-0410-4104-104104104104", "<U2>" },
};

static const char *path;
static bool is_written;
static buffer page;

/* ---- the page is made ---- */

static failing_heap heap;
static size_t attempt;
static request draft;
static buffer sent;

request *const out = &draft;
size_t sent_words;
char longest_name[NAME_MAX_BYTES];

protocol longest_of(const protocol *n)
{
  protocol far = *n;

  memset(far.prefix, 'p', PREFIX_MAX_BYTES);
  memset(far.registry, 'r', REGISTRY_MAX_BYTES);
  return far;
}

static void page_add(const char *words)
{
  assert_true(buffer_append(&page, words, strlen(words)));
}

/* The page so far. */
static const char *page_words(void)
{
  assert_true(buffer_append(&page, "", 1));
  buffer_truncate(&page, 1);
  return buffer_bytes(&page);
}

void fact(const char *title)
{
  char line[COLUMNS + 4];

  snprintf(line, sizeof(line), "\n%s\n", title);
  if (strstr(page_words(), line) != NULL)
    fail_msg("two facts have this title: %s", title);
  page_add(line);
}

static bool is_plain(char c)
{
  return isprint((unsigned char)c) && strchr("\"\\<>", c) == NULL;
}

/* Shows the first of the bytes at `at`, or a mark for some of them; returns for how many. */
static size_t bytes_show(const char *at, char *ret, size_t room)
{
  for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
    if (strncmp(at, marks[i].bytes, strlen(marks[i].bytes)) == 0) {
      snprintf(ret, room, "%s", marks[i].shown);
      return strlen(marks[i].bytes);
    }
  if (is_plain(*at))
    snprintf(ret, room, "%c", *at);
  else
    snprintf(ret, room, "\\x%02x", (unsigned char)*at);
  return 1;
}

static void word_show(const resp_node *word, char *ret, size_t room)
{
  bool is_bare = word->size > 0;

  for (size_t i = 0; i < word->size; i++)
    is_bare = is_bare && is_plain(word->bytes[i]) && word->bytes[i] != ' ';
  snprintf(ret, room, "%s", is_bare ? "" : "\"");
  for (size_t i = 0; i < word->size;)
    i += bytes_show(word->bytes + i, ret + strlen(ret), room - strlen(ret));
  snprintf(ret + strlen(ret), room - strlen(ret), "%s", is_bare ? "" : "\"");
}

/* One command, in lines that are not longer than COLUMNS. */
static void request_show(const resp_reply *r)
{
  const resp_node *root = resp_root(r);
  char shown[1000];
  size_t column = 0;

  for (size_t i = 0; i < (size_t)root->integer; i++) {
    word_show(resp_child(r, root, i), shown, sizeof(shown));
    if (out->script != NULL && i == 1) {
      assert_string_equal(shown, out->script->sha1);
      snprintf(shown, sizeof(shown), "%s", out->script->name);
    } else if (out->has_limit && i + 1 == (size_t)root->integer) {
      assert_string_equal(shown, "0");
      strcpy(shown, "<limit>");
    }
    if (i > 0 && column + 1 + strlen(shown) > COLUMNS) {
      page_add("\n     ");
      column = 5;
    }
    page_add(i == 0 ? "  " : " ");
    page_add(shown);
    column += (i == 0 ? 2 : 1) + strlen(shown);
  }
  page_add("\n");
}

/* Refuses the next allocation of this call; after the last of them, none. */
void send_begin(void)
{
  memory refusing = FAILING_HEAP_AS(memory, &heap);

  heap = (failing_heap){ .fail_at = ++attempt };
  request_init(&draft, &refusing);
  buffer_init(&sent, &refusing);
}

bool send_end(bool is_shown, bool is_made)
{
  bool is_sent = is_made && request_render(&draft, false, &sent);

  assert_int_equal(is_made, !draft.is_incomplete);
  assert_int_equal(is_sent, heap.refused == 0);
  assert_int_equal(buffer_size(&sent) > 0, is_sent);
  if (is_sent) {
    resp_reply *r = reply_of_bytes(buffer_bytes(&sent), buffer_size(&sent));

    sent_words = (size_t)resp_root(r)->integer;
    if (is_shown)
      request_show(r);
    resp_reply_free(r);
    attempt = 0;
  }
  request_deinit(&draft);
  buffer_deinit(&sent);
  assert_int_equal(heap.live, 0);
  return is_sent;
}

/* ---- the page and the file ---- */

static int entry_size(const char *entry)
{
  const char *end = strstr(entry, "\n\n");

  return (int)(end != NULL ? (size_t)(end - entry) : strlen(entry));
}

/* Shows the first entry that differs, under its title. */
static void compare(const char *wanted, const char *came)
{
  size_t at = 0, begin = 0;

  for (; wanted[at] != 0 && wanted[at] == came[at]; at++)
    if (at > 0 && wanted[at] == '\n' && wanted[at - 1] == '\n')
      begin = at + 1;
  if (wanted[at] == came[at])
    return;
  if (wanted[at] == 0 || came[at] == 0)
    begin = at;
  fprintf(stderr, "%s wants:\n%.*s\nwhat came:\n%.*s\n", path, entry_size(wanted + begin),
          wanted + begin, entry_size(came + begin), came + begin);
  fail();
}

static char *file_read(void)
{
  static char bytes[100000];
  FILE *file = fopen(path, "r");

  assert_non_null(file);
  bytes[fread(bytes, 1, sizeof(bytes) - 1, file)] = 0;
  fclose(file);
  return bytes;
}

static void file_write(const char *words)
{
  FILE *file = fopen(path, "w");

  assert_non_null(file);
  assert_true(fputs(words, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* The head of the file stays as it is. */
TEST(every_request_is_that_of_the_file)
{
  const char *words = file_read();
  const char *head_end = strstr(words, "\n\n");

  assert_non_null(head_end);
  assert_true(buffer_append(&page, words, (size_t)(head_end + 1 - words)));
  native_requests();
  foreign_requests();
  if (is_written)
    file_write(page_words());
  else
    compare(words, page_words());
}

/* That of native/report is in src/fleet. */
TEST(every_script_is_called)
{
  char call[100];

  for (size_t i = 0; i < script_count; i++) {
    snprintf(call, sizeof(call), "\n  EVALSHA %s ", script_table[i]->name);
    if (strstr(page_words(), call) == NULL &&
        strcmp(script_table[i]->name, "native/report") != 0)
      fail_msg("%s is in no request", script_table[i]->name);
  }
}

TEST(the_longest_requests_fit)
{
  memset(longest_name, 'n', sizeof(longest_name));
  native_longest();
  foreign_longest();
}

int main(int argc, char **argv)
{
  int failed;

  if (argc < 2)
    return 2;
  path = argv[1];
  is_written = argc > 2 && strcmp(argv[2], "--write") == 0;
  buffer_init(&page, &reader_heap);
  failed = tests_run(NULL, NULL, NULL, NULL);
  buffer_deinit(&page);
  return failed;
}
