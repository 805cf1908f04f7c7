/* SPDX-License-Identifier: MIT */
/* request - one command as a value: what is asked, not yet encoded. Dialects fill it, the engine
 * keeps those that wait, the link encodes it when it is sent.
 *
 * May include script/, resp/, base/. A request keeps its memory: filled again, it allocates
 * nothing once it has been as large before. */
#ifndef REQUEST_H
#define REQUEST_H

#include "resp/resp.h"
#include "script/script.h"

typedef struct request {
  const script *script;     /* NULL: a plain command, or none */
  uint32_t key_count;       /* of a script */
  bool carries_text;        /* the script's text travels, not its digest; the sender sets it */
  bool is_incomplete;       /* memory was refused: it cannot be sent */
  bool has_limit;           /* of a script: `limit_us` follows as the last argument */
  int64_t limit_us;         /* the server's time after which it does nothing; 0: none; the
                               sender sets it */
  size_t estimate_at;       /* the argument, from 1, that is `estimate_us`; 0: none */
  int64_t estimate_us;      /* the estimated time of the server, 0: not trusted; the sender
                               sets it */
  buffer sizes;             /* size_t: of the keys and arguments; plain: of the name, too */
  buffer bytes;             /* of all of them */
} request;

void request_init(request *r, const memory *m);
void request_deinit(request *r);

/* Start over, with copies. false, and is_incomplete: memory. */
bool request_command(request *r, const resp_argument *arguments, size_t count);
bool request_script(request *r, const script *s, const resp_argument *keys, size_t key_count,
                    const resp_argument *arguments, size_t argument_count);
/* The same in pieces: the keys, request_keys_end(), the arguments. */
void request_begin(request *r, const script *s);
void request_put(request *r, const void *bytes, size_t size);
bool request_add(request *r, const resp_argument *arguments, size_t count);
void request_keys_end(request *r);
/* The script takes a limit (lua/shared/late.lua). false: it is incomplete. */
bool request_limit(request *r);
/* The next argument is an estimate of the server's time when the request is sent. */
void request_put_estimate(request *r);
bool request_copy(request *to, const request *from);

static inline bool request_is_empty(const request *r) { return buffer_size(&r->sizes) == 0; }
/* The key that decides which server of a Cluster it is for: the first of a script, and the
 * argument after the name of a plain command. false: none. */
bool request_key(const request *r, const char **ret_key, size_t *ret_size);
/* Whether it is a plain command of this name. */
bool request_is_command(const request *r, const char *name);

/* Appends it as RESP; false and unchanged when memory is refused, or was before.
 * `by_function`: scripts by FCALL. */
bool request_render(const request *r, bool by_function, buffer *out);

#endif
