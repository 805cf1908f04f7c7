/* SPDX-License-Identifier: MIT */
/* api/semaphore.c - the number of permits of a semaphore. */
#include "api/api.h"

dibs_status semaphore_units_check(client_record *c, uint64_t count, uint64_t least)
{
  char words[96];
  text why = text_over(words, sizeof(words));

  if (count >= least && count <= DIBS_PERMITS_MAX)
    return DIBS_OK;
  text_add(&why, "permits are ");
  text_add_uint(&why, count);
  text_add(&why, "; allowed are ");
  text_add_uint(&why, least);
  text_add(&why, " to 1000000000");
  return client_refuse(c, DIBS_ERR_ARGUMENT, words);
}

static dibs_status set_ask(client_record *c, const lock_call *call, share_set_what what,
                           uint32_t permits, instant until, bool *ret_done,
                           uint64_t *ret_limit)
{
  request k;
  question q;
  int64_t us = 0;
  dibs_status status = client_agreed_time(c, until, &us);

  if (status != DIBS_OK)
    return status;
  request_init(&k, &c->memory);
  (void)c->names.dialect->share_set(&c->names, &k, call->spec.name, call->spec.name_size, what,
                                    permits, us);
  status = question_run_until(c, &q, &k, until);
  if (status == DIBS_OK && !native_share_set_answer(q.reply, ret_done, ret_limit))
    status = client_refuse(c, DIBS_ERR_PROTOCOL, "unexpected reply to the script share_set");
  question_deinit(&q);
  request_deinit(&k);
  return status;
}

static dibs_status set_run(dibs_client *client, lock_call call, share_set_what what,
                           uint32_t permits, bool *ret_done, uint64_t *ret_limit)
{
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  if (status != DIBS_OK)
    return status;
  status = name_check(c, call.spec.name, call.spec.name_size);
  if (status == DIBS_OK)
    status = semaphore_units_check(c, permits, 0);
  if (status == DIBS_OK)
    status = one_place_check(c);
  if (status == DIBS_OK && !c->names.dialect->traits.has_shares)
    status = native_check(c, "semaphores");
  if (status == DIBS_OK)
    status = set_ask(c, &call, what, permits, client_give_up_at(c), ret_done, ret_limit);
  return client_end(c, status);
}

static dibs_status set_count(dibs_client *client, lock_call call, uint32_t permits)
{
  uint64_t limit;
  bool done;

  return set_run(client, call, SHARE_SET, permits, &done, &limit);
}

dibs_status dibs_semaphore_set(dibs_client *client, const char *name, uint32_t permits)
{
  return set_count(client, lock_call_of(LOCK_SEMAPHORE, name), permits);
}

dibs_status dibs_semaphore_set_bytes(dibs_client *client, const void *name, size_t name_size,
                                     uint32_t permits)
{
  return set_count(client, lock_call_of_bytes(LOCK_SEMAPHORE, name, name_size), permits);
}

static dibs_status set_if_absent(dibs_client *client, lock_call call,
                                 uint32_t permits, uint32_t *ret_permits)
{
  uint64_t limit = 0;
  bool done = false;
  dibs_status status = set_run(client, call, SHARE_SET_IF_ABSENT, permits, &done, &limit);

  if (status == DIBS_OK && ret_permits != NULL)
    *ret_permits = (uint32_t)limit;
  return status;
}

dibs_status dibs_semaphore_set_if_absent(dibs_client *client, const char *name,
                                         uint32_t permits, uint32_t *ret_permits)
{
  return set_if_absent(client, lock_call_of(LOCK_SEMAPHORE, name), permits, ret_permits);
}

dibs_status dibs_semaphore_set_if_absent_bytes(dibs_client *client, const void *name,
                                               size_t name_size, uint32_t permits,
                                               uint32_t *ret_permits)
{
  return set_if_absent(client, lock_call_of_bytes(LOCK_SEMAPHORE, name, name_size), permits,
                       ret_permits);
}

static dibs_status forget(dibs_client *client, lock_call call)
{
  uint64_t limit = 0;
  bool done = false;
  dibs_status status = set_run(client, call, SHARE_DELETE, 0, &done, &limit);

  return status == DIBS_OK && !done ? DIBS_BUSY : status;
}

dibs_status dibs_semaphore_delete(dibs_client *client, const char *name)
{
  return forget(client, lock_call_of(LOCK_SEMAPHORE, name));
}

dibs_status dibs_semaphore_delete_bytes(dibs_client *client, const void *name,
                                        size_t name_size)
{
  return forget(client, lock_call_of_bytes(LOCK_SEMAPHORE, name, name_size));
}
