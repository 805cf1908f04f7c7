/* SPDX-License-Identifier: MIT */
/* resp/resp_reader.c - converts bytes to flat replies: hiredis' parser with our builders.
 *
 * hiredis calls a builder for each element, an array before its children: this is the order of
 * our nodes. Elements and their bytes are collected in two scratch buffers; a complete reply
 * becomes one block of memory:
 *
 *   resp_reply | node 0 | node 1 | ... | bytes of the strings, each with a final zero
 *
 * The peer may be malicious. Limits are checked when a size is announced (elements) or when
 * bytes arrive (payload, unfinished input), never after an allocation of the announced size. */
#include "resp/reply.h"

#include <assert.h>
#include <string.h>

#include <hiredis/hiredis.h>

#define FAULT_TEXT_SIZE 192
#define SEEN_BYTES 48
#define TLS_ALERT 0x15             /* the first bytes of a TLS alert */
#define TLS_MAJOR 0x03
/* Scratch memory above this size is freed after a large reply. */
#define SCRATCH_KEPT_BYTES 65536
/* Complete replies that have not been taken may have this multiple of bytes_max. */
#define UNREAD_FACTOR 4

struct resp_reader {
  memory memory;
  resp_limits limits;
  redisReader *parser;
  buffer nodes;            /* of resp_node; `integer` of a string is its offset in `bytes` */
  buffer bytes;
  size_t announced;        /* elements below the root, present and expected */
  uint64_t fed;            /* bytes given to the parser so far */
  uint64_t finished;       /* of these, in complete replies */
  dibs_status fault;       /* DIBS_OK while all is well */
  char fault_text[FAULT_TEXT_SIZE];
  size_t peak;             /* the most bytes that the parser has buffered */
  char seen[SEEN_BYTES];   /* the parser's position: it drops its input after errors */
  size_t seen_size;
};

/* ---- faults ---- */

static void fault_set(resp_reader *r, dibs_status status, const char *words, size_t limit)
{
  text t = text_over(r->fault_text, sizeof(r->fault_text));

  if (r->fault != DIBS_OK)
    return;
  r->fault = status;
  text_add(&t, words);
  if (limit > 0) {
    text_add(&t, " ");
    text_add_uint(&t, limit);
  }
}

static void fault_no_memory(resp_reader *r)
{
  fault_set(r, DIBS_ERR_NO_MEMORY, "no memory for a reply", 0);
}

static void fault_of_type(resp_reader *r)
{
  fault_set(r, DIBS_ERR_PROTOCOL, "the peer sent a type that RESP2 does not have", 0);
}

/* Reports the parser's error, and the input there. */
static void fault_of_parser(resp_reader *r)
{
  text t;

  if (r->fault != DIBS_OK)
    return;
  if (r->parser->err == REDIS_ERR_OOM) {
    fault_no_memory(r);
    return;
  }
  r->fault = DIBS_ERR_PROTOCOL;
  t = text_over(r->fault_text, sizeof(r->fault_text));
  text_add(&t, "the peer does not use the RESP protocol: ");
  text_add_quoted(&t, r->seen, r->seen_size);
  if (r->seen_size > 1 && r->seen[0] == TLS_ALERT && r->seen[1] == TLS_MAJOR)
    text_add(&t, "; that is TLS: use rediss:// or valkeys://");
}

/* ---- builders: each returns a non-NULL object, or NULL after fault_set() ---- */

static resp_reader *reader_of(const redisReadTask *task)
{
  return task->privdata;
}

static resp_node *node_at(resp_reader *r, size_t i)
{
  return (resp_node *)(void *)(r->nodes.bytes + r->nodes.start) + i;
}

/* Objects are node indexes + 1, because NULL is a failure for hiredis. */
static size_t index_of(const redisReadTask *task)
{
  return (size_t)(uintptr_t)task->obj - 1;
}

static void *node_add(const redisReadTask *task, resp_node node)
{
  resp_reader *r = reader_of(task);
  size_t count = buffer_size(&r->nodes) / sizeof(node);

  node.end = count + 1;
  if (!buffer_append(&r->nodes, &node, sizeof(node))) {
    fault_no_memory(r);
    return NULL;
  }
  for (const redisReadTask *up = task->parent; up != NULL; up = up->parent)
    node_at(r, index_of(up))->end = node.end;
  return (void *)(uintptr_t)node.end;
}

static void *build_text(const redisReadTask *task, char *bytes, size_t size)
{
  resp_reader *r = reader_of(task);
  size_t place = buffer_size(&r->bytes);
  resp_node node = { .size = size, .integer = (int64_t)place };

  if (task->type == REDIS_REPLY_STRING) {
    node.kind = RESP_STRING;
  } else if (task->type == REDIS_REPLY_STATUS) {
    node.kind = RESP_STATUS;
  } else if (task->type == REDIS_REPLY_ERROR) {
    node.kind = RESP_ERROR;
  } else {
    fault_of_type(r);
    return NULL;
  }
  if (place > r->limits.bytes_max || size > r->limits.bytes_max - place) {
    fault_set(r, DIBS_ERR_PROTOCOL, "a reply is longer than", r->limits.bytes_max);
    return NULL;
  }
  if (!buffer_append(&r->bytes, bytes, size) || !buffer_append(&r->bytes, "", 1)) {
    fault_no_memory(r);
    return NULL;
  }
  return node_add(task, node);
}

static void *build_array_of(const redisReadTask *task, size_t elements)
{
  resp_reader *r = reader_of(task);
  size_t depth = 1;

  if (task->type != REDIS_REPLY_ARRAY) {
    fault_of_type(r);
    return NULL;
  }
  for (const redisReadTask *up = task->parent; up != NULL; up = up->parent)
    depth++;
  if (depth > r->limits.depth_max) {
    fault_set(r, DIBS_ERR_PROTOCOL, "a reply is nested deeper than", r->limits.depth_max);
    return NULL;
  }
  if (elements > r->limits.elements_max - r->announced) {
    fault_set(r, DIBS_ERR_PROTOCOL, "a reply has more elements than",
              r->limits.elements_max);
    return NULL;
  }
  r->announced += elements;
  return node_add(task, (resp_node){ .kind = RESP_ARRAY, .integer = (int64_t)elements });
}

#if HIREDIS_MAJOR >= 1
static void *build_array(const redisReadTask *task, size_t elements)
{
  return build_array_of(task, elements);
}

/* RESP3 only, which is never requested. */
static void *build_double(const redisReadTask *task, double value, char *bytes,
                          size_t size)
{
  (void)value;
  (void)bytes;
  (void)size;
  fault_of_type(reader_of(task));
  return NULL;
}

static void *build_bool(const redisReadTask *task, int value)
{
  (void)value;
  fault_of_type(reader_of(task));
  return NULL;
}
#else
static void *build_array(const redisReadTask *task, int elements)
{
  return build_array_of(task, (size_t)elements);
}
#endif

static void *build_integer(const redisReadTask *task, long long value)
{
  return node_add(task, (resp_node){ .kind = RESP_INTEGER, .integer = value });
}

static void *build_nil(const redisReadTask *task)
{
  return node_add(task, (resp_node){ .kind = RESP_NIL });
}

/* Objects are numbers: nothing to free. */
static void build_nothing(void *object)
{
  (void)object;
}

static redisReplyObjectFunctions builders = {
  .createString = build_text,
  .createArray = build_array,
  .createInteger = build_integer,
  .createNil = build_nil,
  .freeObject = build_nothing,
#if HIREDIS_MAJOR >= 1
  .createDouble = build_double,
  .createBool = build_bool,
#endif
};

/* ---- the reader ---- */

/* NULL: no memory. The parser must not replace a large empty buffer by itself, which
 * `maxbuf` enables: it asserts that this allocation succeeds. */
static redisReader *parser_new(resp_reader *r)
{
  redisReader *parser = redisReaderCreateWithFunctions(&builders);

  if (parser == NULL)
    return NULL;
  parser->privdata = r;
  parser->maxbuf = 0;
  return parser;
}

/* Replaces a parser that has grown and has no unread input. Without memory it stays. */
static void parser_shrink(resp_reader *r)
{
  redisReader *parser;

  if (r->peak <= SCRATCH_KEPT_BYTES || r->parser->len != r->parser->pos)
    return;
  parser = parser_new(r);
  if (parser == NULL)
    return;
  redisReaderFree(r->parser);
  r->parser = parser;
  r->peak = 0;
}

resp_reader *resp_reader_new(const memory *m, resp_limits limits)
{
  resp_reader *r = mem_zalloc(m, sizeof(*r));

  if (r == NULL)
    return NULL;
  r->memory = *m;
  r->limits = limits;
  buffer_init(&r->nodes, m);
  buffer_init(&r->bytes, m);
  r->parser = parser_new(r);
  return r->parser != NULL ? r : resp_reader_free(r);
}

resp_reader *resp_reader_free(resp_reader *r)
{
  if (r != NULL) {
    if (r->parser != NULL)
      redisReaderFree(r->parser);
    buffer_deinit(&r->bytes);
    buffer_deinit(&r->nodes);
    mem_free(&r->memory, r);
  }
  return NULL;
}

static size_t unread_bytes(const resp_reader *r)
{
  return r->parser->len - r->parser->pos;
}

dibs_status resp_reader_feed(resp_reader *r, const void *bytes, size_t size)
{
  size_t unread = unread_bytes(r);

  if (r->fault != DIBS_OK)
    return r->fault;
  if (size > SIZE_MAX - unread || (unread + size) / UNREAD_FACTOR > r->limits.bytes_max) {
    fault_set(r, DIBS_ERR_PROTOCOL, "a reply is longer than", r->limits.bytes_max);
    return r->fault;
  }
  if (redisReaderFeed(r->parser, bytes, size) != REDIS_OK) {
    fault_no_memory(r);
    return r->fault;
  }
  r->fed += size;
  r->peak = r->parser->len > r->peak ? r->parser->len : r->peak;
  return DIBS_OK;
}

/* Records the parser's input for fault_of_parser(). */
static void see(resp_reader *r)
{
  size_t size = unread_bytes(r);

  r->seen_size = size < SEEN_BYTES ? size : SEEN_BYTES;
  if (r->seen_size > 0)
    memcpy(r->seen, r->parser->buf + r->parser->pos, r->seen_size);
}

static void scratch_clear(buffer *b)
{
  if (b->capacity > SCRATCH_KEPT_BYTES)
    buffer_deinit(b);
  else
    buffer_clear(b);
}

/* Copies the complete reply from the scratch buffers into one block. */
static resp_reply *reply_new(const resp_reader *r)
{
  size_t nodes_size = buffer_size(&r->nodes);
  size_t bytes_size = buffer_size(&r->bytes);
  resp_reply *reply = mem_alloc(&r->memory, sizeof(*reply) + nodes_size + bytes_size);
  char *bytes;

  if (reply == NULL)
    return NULL;
  reply->memory = r->memory;
  reply->count = nodes_size / sizeof(resp_node);
  memcpy(reply->nodes, buffer_bytes(&r->nodes), nodes_size);
  bytes = (char *)(reply->nodes + reply->count);
  memcpy(bytes, buffer_bytes(&r->bytes), bytes_size);
  for (size_t i = 0; i < reply->count; i++) {
    resp_node *node = &reply->nodes[i];
    if (node->kind == RESP_STRING || node->kind == RESP_STATUS
        || node->kind == RESP_ERROR) {
      node->bytes = bytes + node->integer;
      node->integer = 0;
    }
  }
  return reply;
}

dibs_status resp_reader_next(resp_reader *r, resp_reply **ret_reply)
{
  void *object = NULL;
  resp_reply *reply = NULL;

  if (r->fault != DIBS_OK)
    return r->fault;
  see(r);
  if (redisReaderGetReply(r->parser, &object) != REDIS_OK) {
    fault_of_parser(r);
    return r->fault;
  }
  if (object == NULL) {
    if (r->fed - r->finished > r->limits.bytes_max) {
      fault_set(r, DIBS_ERR_PROTOCOL, "a reply is longer than", r->limits.bytes_max);
      return r->fault;
    }
    *ret_reply = NULL;
    return DIBS_OK;
  }
  reply = reply_new(r);
  if (reply == NULL) {
    fault_no_memory(r);
    return r->fault;
  }
  scratch_clear(&r->nodes);
  scratch_clear(&r->bytes);
  r->announced = 0;
  r->finished = r->fed - unread_bytes(r);
  parser_shrink(r);
  *ret_reply = reply;
  return DIBS_OK;
}

const char *resp_reader_fault(const resp_reader *r)
{
  return r->fault_text;
}
