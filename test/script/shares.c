/* SPDX-License-Identifier: MIT */
/* test/script/shares.c - see shares.h. */

#include "tests.h"

#include <string.h>

#include "server.h"
#include "shares.h"
#include "rendered.h"

#define NAME WORLD_NAME, strlen(WORLD_NAME)

int64_t share_mistake_us;

/* The state without its bounds, then every other field but the index. The bounds must be
 * bounds, `used` the sum of all units, and whoever waits must be found by his ask. */
static const char dump_script[] =
  "local all = redis.call('HGETALL', KEYS[1]) "
  "if #all == 0 then return 'none' end "
  "local field, lines, used, writers = {}, {}, 0, 0 "
  "for i = 1, #all, 2 do field[all[i]] = all[i + 1] end "
  "local kind, token, held, earliest, ends, first, rest = "
  "  string.match(field.s, '^(%l+) (%d+) (%d+) (%d+) (%d+) (%S+) (.+)$') "
  "for name, value in pairs(field) do "
  "  local id = string.match(name, '^k(.+)$') "
  "  if id then "
  "    local mode, units, t, ahead, length, renewals, flags = string.match(value, "
  "      '^(%l) (%d+) (%d+) (%-?%d+) (%d+) (%d+) (%d)$') "
  "    local deadline = t + ahead * 1000 "
  "    used, writers = used + units, writers + (mode == 'w' and 1 or 0) "
  "    if ends + 0 == 0 or deadline < ends + 0 then return 'ends is no bound' end "
  "    if flags == '0' and (earliest + 0 == 0 or deadline < earliest + 0) then "
  "      return 'earliest is no bound: ' .. field.s .. ' ' .. value end "
  "    if t + 0 > token + 0 then return 'a token above the last' end "
  "  end "
  "  local index = string.match(name, '^w(.+)$') "
  "  if index then "
  "    local c, k = string.match(value, '^x (%S+) (%d+)') "
  "    if not c then c, k = string.match(value, '^(%S+) (%d+)') end "
  "    if field['c' .. c .. ':' .. k] ~= index then return 'a lost entry ' .. value end "
  "    if index + 0 < field.h + 0 or index + 0 >= field.n + 0 then return 'an entry outside' end "
  "  end "
  "  local owner = string.match(name, '^c(.+)$') "
  "  if owner and not field['w' .. value] then return 'an index without an entry' end "
  "  if name ~= 's' and not owner then lines[#lines + 1] = name .. ' ' .. value end "
  "end "
  "if held + 0 ~= used then "
  "  return 'used is ' .. held .. ', held are ' .. used .. ': ' .. table.concat(all, ' ') end "
  "if kind ~= 'sem' and rest + 0 ~= writers then return 'writes is ' .. rest end "
  "if writers > 0 and used ~= 1 then return 'a writer is not alone' end "
  "if used == 0 and (ends ~= '0' or first ~= '-') then return 'bounds of nothing' end "
  "if ARGV[1] == 'check' then lines = {} end "
  "table.sort(lines) "
  "table.insert(lines, 1, kind .. ' ' .. token .. ' ' .. held .. ' ' .. rest) "
  "return table.concat(lines, '\\n')";

const char *share_dump(struct world *w)
{
  return test_server_command(world_server(w), "EVAL %s 1 %s", dump_script, WORLD_KEY);
}

/* Where the name is a shared resource. */
static void check(struct world *w)
{
  long long left = test_server_integer(world_server(w), "PTTL %s", WORLD_KEY);
  const char *dump = test_server_command(world_server(w), "EVAL %s 1 %s check", dump_script,
                                         WORLD_KEY);
  int kept = 0;

  if (strcmp(dump, "none") == 0)
    return;
  if (strncmp(dump, "rw ", 3) != 0 && strncmp(dump, "sem ", 4) != 0 &&
      strncmp(dump, "new ", 4) != 0)
    fail_msg("%s", dump);
  if (dump[0] == 's')
    kept = dump[strlen(dump) - 1] == '1';
  if (kept)
    assert_int_equal(left, -1);
  else if (dump[0] == 'n')
    assert_in_range(left, 0, 61000);
  else
    assert_in_range(left, HOUR_MS - 120000, INT64_MAX);
}

static const resp_reply *call(struct world *w)
{
  const resp_reply *r = world_raw(w, world_buffer(w));

  buffer_clear(world_buffer(w));
  if (resp_root(r)->kind == RESP_ERROR)
    fail_msg("%s", resp_root(r)->bytes);
  return r;
}

share_call share_call_of(struct world *w, char mode, uint64_t units, uint64_t ask)
{
  return (share_call){ .name = WORLD_NAME, .name_size = strlen(WORLD_NAME), .ask = ask,
                       .mode = mode, .units = units, .ttl_ms = 30000, .waits = true,
                       .estimate_us = world_time_us(w) };
}

acquire_answer share_send(struct world *w, int who, const share_call *c)
{
  acquire_answer a;

  assert_true(RENDERED(native_share_acquire, world_native(w, who), world_buffer(w), false,
                       c));
  assert_true(native_share_answer(world_native(w, who), c->ask, call(w), &a));
  if (a.rank < 100)                    /* long queues are looked at when they end */
    check(w);
  return a;
}

acquire_answer share_ask(struct world *w, int who, char mode, uint64_t units, uint64_t ask)
{
  share_call c = share_call_of(w, mode, units, ask);

  return share_send(w, who, &c);
}

acquire_answer share_try(struct world *w, int who, char mode, uint64_t units, uint64_t ask)
{
  share_call c = share_call_of(w, mode, units, ask);

  c.waits = false;
  return share_send(w, who, &c);
}

static int64_t expected_us(struct world *w) { return world_time_us(w) + share_mistake_us; }

bool share_release(struct world *w, int who, const lease_id *lease, int64_t until_us)
{
  release_answer a;

  assert_true(RENDERED(native_share_release, world_native(w, who), world_buffer(w), false,
                       NAME, lease, until_us, expected_us(w)));
  assert_true(native_release_answer(call(w), &a));
  assert_true(a.outcome == RELEASE_DONE || a.outcome == RELEASE_GONE);
  check(w);
  return a.outcome == RELEASE_DONE;
}

static bool token_release(const protocol *n, request *out, const lease_id *lease, int64_t us)
{
  return native_share_release(n, out, NAME, lease, 0, us) && request_limit(out);
}

bool share_token_release(struct world *w, int who, const lease_id *lease)
{
  release_answer a;

  assert_true(RENDERED(token_release, world_native(w, who), world_buffer(w), false, lease,
                       expected_us(w)));
  assert_true(native_release_answer(call(w), &a));
  check(w);
  return a.outcome == RELEASE_DONE;
}

int64_t share_cancel(struct world *w, int who, uint64_t ask, int64_t until_us)
{
  const resp_reply *r;
  int64_t answer;

  assert_true(RENDERED(native_share_cancel, world_native(w, who), world_buffer(w), false,
                       NAME, ask, until_us, expected_us(w)));
  r = call(w);
  assert_true(native_cancel_answer(r));
  answer = resp_root(r)->integer;
  check(w);
  return answer;
}

renew_answer share_renew(struct world *w, int who, const lease_id *lease, int64_t ttl_ms,
                         char mode)
{
  share_renew_item item = { WORLD_NAME, strlen(WORLD_NAME), lease, ttl_ms, mode, 0, false };
  const resp_reply *r;
  renew_answer a;
  int64_t server_us;

  assert_true(RENDERED(native_share_renew, world_native(w, who), world_buffer(w), false,
                       &item, 1, expected_us(w)));
  r = call(w);
  assert_true(native_renew_server_us(r, &server_us));
  assert_true(native_renew_answer(r, 0, &a));
  if (a.is_ours)
    check(w);
  return a;
}

release_answer share_break(struct world *w, int who, const lease_id *lease)
{
  release_answer a;

  assert_true(RENDERED(native_break, world_native(w, who), world_buffer(w), false, NAME,
                       lease, expected_us(w)));
  assert_true(native_release_answer(call(w), &a));
  check(w);
  return a;
}

inspect_answer share_inspect(struct world *w)
{
  inspect_answer a;

  assert_true(RENDERED(native_inspect, world_native(w, ANNA), world_buffer(w), false,
                       NAME));
  assert_true(native_inspect_answer(call(w), &a));
  return a;
}

bool share_set(struct world *w, share_set_what what, uint64_t permits, uint64_t *ret_limit)
{
  uint64_t limit;
  bool is_done;

  assert_true(RENDERED(native_share_set, world_native(w, ANNA), world_buffer(w), false,
                       NAME, what, permits, expected_us(w)));
  assert_true(native_share_set_answer(call(w), &is_done, &limit));
  if (ret_limit != NULL)
    *ret_limit = limit;
  check(w);
  return is_done;
}

/* ---- errors ---- */

static const char *error_of(struct world *w)
{
  const resp_node *root = resp_root(world_raw(w, world_buffer(w)));

  buffer_clear(world_buffer(w));
  return root->kind == RESP_ERROR ? root->bytes : "";
}

const char *share_acquire_error(struct world *w, int who, const share_call *c)
{
  assert_true(RENDERED(native_share_acquire, world_native(w, who), world_buffer(w), false,
                       c));
  return error_of(w);
}

const char *share_release_error(struct world *w, int who, const lease_id *lease)
{
  assert_true(RENDERED(native_share_release, world_native(w, who), world_buffer(w), false,
                       NAME, lease, 0, expected_us(w)));
  return error_of(w);
}

const char *share_cancel_error(struct world *w, int who, uint64_t ask)
{
  assert_true(RENDERED(native_share_cancel, world_native(w, who), world_buffer(w), false,
                       NAME, ask, 0, expected_us(w)));
  return error_of(w);
}

const char *share_set_error(struct world *w, share_set_what what, uint64_t permits)
{
  assert_true(RENDERED(native_share_set, world_native(w, ANNA), world_buffer(w), false,
                       NAME, what, permits, expected_us(w)));
  return error_of(w);
}
