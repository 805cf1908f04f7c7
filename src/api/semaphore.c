/* SPDX-License-Identifier: MIT */
/* api/semaphore.c - the number of permits of a semaphore. */
#include "api/question.h"

#include <inttypes.h>

dibs_status semaphore_units_check(client_record *c, uint64_t count, uint64_t least)
{
  if (count >= least && count <= DIBS_PERMITS_MAX)
    return DIBS_OK;
  return client_refuse_with(c, DIBS_ERR_ARGUMENT, "permits are %" PRIu64 "; allowed are %" PRIu64
                            " to 1000000000", count, least);
}

static dibs_status set_ask(client_record *c, const lock_call *call, share_set_what what,
                           uint32_t permits, instant until, bool *ret_done,
                           uint64_t *ret_limit)
{
  request k;
  question q;
  dibs_status status = client_learn_time(c, call->spec.name, call->spec.name_size, until);

  if (status != DIBS_OK)
    return status;
  request_init(&k, &c->memory);
  (void)c->names.dialect->share_set(&c->names, &k, call->spec.name, call->spec.name_size, what,
                                    permits, ESTIMATE_AT_SENDING);
  status = question_run_until(c, &q, &k, until);
  if (status == DIBS_OK && !native_share_set_answer(q.reply, ret_done, ret_limit))
    status = client_refuse(c, DIBS_ERR_PROTOCOL, "unexpected reply to the script share_set");
  question_deinit(&q);
  request_deinit(&k);
  return status;
}

static dibs_status set_run(dibs_client *client, dibs_bytes name, uint32_t flags,
                           share_set_what what, uint32_t permits, bool *ret_done,
                           uint64_t *ret_limit)
{
  lock_call call = lock_call_of_bytes(LOCK_SEMAPHORE, name.bytes, name.size);
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  if (status != DIBS_OK)
    return status;
  if ((flags & ~DIBS_SEMAPHORE_IF_ABSENT) != 0)
    return client_end(c, client_refuse(c, DIBS_ERR_ARGUMENT,
                                       "flags has bits that this library does not know"));
  status = name_check(c, call.spec.name, call.spec.name_size);
  if (status == DIBS_OK)
    status = semaphore_units_check(c, permits, 0);
  if (status == DIBS_OK)
    status = one_place_check(c);
  if (status == DIBS_OK && !c->names.dialect->traits.has_shares)
    status = native_check(c, "semaphores");
  if (status == DIBS_OK)
    status = set_ask(c, &call, what, permits, client_give_up_at(c), ret_done, ret_limit);
  if (status == DIBS_OK && what == SHARE_DELETE && !*ret_done)
    status = client_refuse(c, DIBS_BUSY, "permits are in use, or a client waits for some; "
                                         "nothing was deleted");
  return client_end(c, status);
}

dibs_status dibs_semaphore_set(dibs_client *client, dibs_bytes name, uint32_t permits,
                               uint32_t flags, uint32_t *ret_permits)
{
  bool is_if_absent = flags == DIBS_SEMAPHORE_IF_ABSENT, done = false;
  uint64_t limit = permits;
  dibs_status status = set_run(client, name, flags,
                               is_if_absent ? SHARE_SET_IF_ABSENT : SHARE_SET, permits, &done,
                               &limit);

  if (status == DIBS_OK && ret_permits != NULL)
    *ret_permits = is_if_absent ? (uint32_t)limit : permits;
  return status;
}

dibs_status dibs_semaphore_delete(dibs_client *client, dibs_bytes name)
{
  uint64_t limit = 0;
  bool done = false;

  return set_run(client, name, 0, SHARE_DELETE, 0, &done, &limit);
}
