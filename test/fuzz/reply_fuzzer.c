/* SPDX-License-Identifier: MIT */
/* Fuzz: bytes from a peer into resp_reader, in chunks that the input chooses.
 *
 * The first byte seeds the cutting, the rest is what the peer says. Facts checked: each
 * reply is a well-formed tree; cutting changes nothing; limits hold. */
#include "fuzz.h"

#include "resp/resp.h"

#include <string.h>

#define DIGEST_START UINT64_C(14695981039346656037)

/* What came out of a run, condensed so that two runs can be compared. */
typedef struct outcome {
  uint64_t digest;
  size_t replies;
  dibs_status fault;
} outcome;

static void digest_add(outcome *o, const void *bytes, size_t size)
{
  const uint8_t *at = bytes;

  for (size_t i = 0; i < size; i++)
    o->digest = (o->digest ^ at[i]) * UINT64_C(1099511628211);
}

/* Walks the nodes from `node` to its end, and answers that end. Deep recursion is no
 * danger: the depth is what is checked. */
static size_t walk(const resp_reply *reply, const resp_node *node, size_t depth, outcome *o)
{
  const resp_node *root = resp_root(reply);
  size_t next = (size_t)(node - root) + 1;

  FUZZ_CHECK(depth <= 9);
  FUZZ_CHECK(node->kind >= RESP_STRING && node->kind <= RESP_ARRAY);
  FUZZ_CHECK(node->end >= next && node->end <= root->end);
  digest_add(o, &node->kind, sizeof(node->kind));
  digest_add(o, &node->integer, sizeof(node->integer));
  if (node->bytes != NULL) {
    FUZZ_CHECK(node->bytes[node->size] == 0);
    digest_add(o, node->bytes, node->size);
  }
  if (node->kind == RESP_ARRAY) {
    for (size_t i = 0; i < (size_t)node->integer; i++) {
      const resp_node *child = resp_child(reply, node, i);
      FUZZ_CHECK(child == root + next);
      next = walk(reply, child, depth + 1, o);
    }
    FUZZ_CHECK(resp_child(reply, node, (size_t)node->integer) == NULL);
  }
  FUZZ_CHECK(next == node->end);
  return next;
}

/* Takes all whole replies. */
static dibs_status drain(resp_reader *r, outcome *o)
{
  for (;;) {
    resp_reply *reply = NULL;
    dibs_status status = resp_reader_next(r, &reply);
    if (status != DIBS_OK || reply == NULL)
      return status;
    o->replies++;
    walk(reply, resp_root(reply), 1, o);
    resp_reply_free(reply);
  }
}

static outcome run(resp_limits limits, const uint8_t *bytes, size_t size, uint64_t seed)
{
  static const memory heap = PLAIN_MEMORY;
  outcome o = { .digest = DIGEST_START };
  resp_reader *r = resp_reader_new(&heap, limits);
  random_source source;

  FUZZ_CHECK(r != NULL);
  random_seed(&source, seed);
  while (size > 0 && o.fault == DIBS_OK) {
    size_t most = seed == 0 ? size : (size_t)1 << (seed & 7);
    size_t piece = 1 + (size_t)random_below(&source, most);
    if (seed == 0 || piece > size)
      piece = size;
    o.fault = resp_reader_feed(r, bytes, piece);
    if (o.fault == DIBS_OK)
      o.fault = drain(r, &o);
    bytes += piece;
    size -= piece;
  }
  if (o.fault != DIBS_OK)
    FUZZ_CHECK(strlen(resp_reader_fault(r)) > 0);
  resp_reader_free(r);
  return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
  outcome whole, cut;
  uint64_t seed;

  if (size < 1 || size > (1u << 20))
    return 0;
  seed = (uint64_t)bytes[0] + 1;
  bytes++;
  size--;
  whole = run(RESP_LIMITS_DEFAULT, bytes, size, 0);
  cut = run(RESP_LIMITS_DEFAULT, bytes, size, seed);
  FUZZ_CHECK(whole.digest == cut.digest);
  FUZZ_CHECK(whole.replies == cut.replies);
  FUZZ_CHECK(whole.fault == cut.fault);
  run((resp_limits){ 2, 8, 64 }, bytes, size, seed);
  return 0;
}
