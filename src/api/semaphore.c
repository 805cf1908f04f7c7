/* SPDX-License-Identifier: MIT */
/* api/semaphore.c - permits: taking them, and how many there are. */
#include "api/api.h"

static dibs_status permits_check(dibs_client *c, uint64_t count, uint64_t least)
{
  char words[96];
  text why = text_over(words, sizeof(words));

  if (c == NULL)
    return DIBS_ERR_ARGUMENT;
  if (count >= least && count <= DIBS_PERMITS_MAX)
    return DIBS_OK;
  text_add(&why, "permits are ");
  text_add_uint(&why, count);
  text_add(&why, "; allowed are ");
  text_add_uint(&why, least);
  text_add(&why, " to 1000000000");
  return client_refuse(c, DIBS_ERR_ARGUMENT, words);
}

/* ---- taking ---- */

static dibs_status permits_blocking(dibs_client *c, const char *name, uint32_t count,
                                    const dibs_lock_options *options, bool is_try,
                                    dibs_hold **ret_hold)
{
  lock_target target = lock_target_of(LOCK_PERMITS, name);
  dibs_status status = permits_check(c, count, 1);

  target.units = count;
  return status != DIBS_OK ? status : lock_blocking(c, &target, options, is_try, ret_hold);
}

dibs_status dibs_acquire_permits(dibs_client *client, const char *name, uint32_t count,
                                 const dibs_lock_options *options, dibs_hold **ret_hold)
{
  return permits_blocking(client, name, count, options, false, ret_hold);
}

dibs_status dibs_try_acquire_permits(dibs_client *client, const char *name, uint32_t count,
                                     const dibs_lock_options *options, dibs_hold **ret_hold)
{
  return permits_blocking(client, name, count, options, true, ret_hold);
}

dibs_status dibs_drain_permits(dibs_client *client, const char *name,
                               const dibs_lock_options *options, dibs_hold **ret_hold)
{
  lock_target target = lock_target_of(LOCK_PERMITS, name);

  target.units = 0;
  return lock_blocking(client, &target, options, true, ret_hold);
}

static dibs_status permits_async(dibs_client *c, const char *name, uint32_t count,
                                 const dibs_lock_options *options, bool is_try,
                                 dibs_lock_callback callback, void *data,
                                 dibs_request **ret_request)
{
  lock_target target = lock_target_of(LOCK_PERMITS, name);
  dibs_status status = permits_check(c, count, 1);

  target.units = count;
  return status != DIBS_OK ? status
                           : lock_async(c, &target, options, is_try, callback, data,
                                        ret_request);
}

dibs_status dibs_acquire_permits_async(dibs_client *client, const char *name, uint32_t count,
                                       const dibs_lock_options *options,
                                       dibs_lock_callback callback, void *data,
                                       dibs_request **ret_request)
{
  return permits_async(client, name, count, options, false, callback, data, ret_request);
}

dibs_status dibs_try_acquire_permits_async(dibs_client *client, const char *name,
                                           uint32_t count, const dibs_lock_options *options,
                                           dibs_lock_callback callback, void *data,
                                           dibs_request **ret_request)
{
  return permits_async(client, name, count, options, true, callback, data, ret_request);
}

/* ---- the count ---- */

static dibs_status set_ask(dibs_client *c, const lock_target *target, share_set_what what,
                           uint32_t permits, bool *ret_done, uint64_t *ret_limit)
{
  script_command k;
  question q;
  int64_t us = 0;
  dibs_status status = client_agreed_time(c, &us);

  if (status != DIBS_OK)
    return status;
  script_command_init(&k, c);
  status = script_command_run(c, &q, &k,
                       dialect_share_set(&c->names, &k.by_digest, false, target->name,
                                         target->name_size, what, permits, us) &&
                         dialect_share_set(&c->names, &k.by_text, true, target->name,
                                           target->name_size, what, permits, us));
  if (status == DIBS_OK && !native_share_set_answer(q.reply, ret_done, ret_limit))
    status = client_refuse(c, DIBS_ERR_PROTOCOL, "an answer to share_set of no known form");
  question_deinit(&q);
  script_command_deinit(&k);
  return status;
}

static dibs_status set_run(dibs_client *c, const char *name, share_set_what what,
                           uint32_t permits, bool *ret_done, uint64_t *ret_limit)
{
  lock_target target = lock_target_of(LOCK_PERMITS, name);
  dibs_status status = client_pin(c);

  if (status != DIBS_OK)
    return status;
  status = name_check(c, target.name, target.name_size);
  if (status == DIBS_OK)
    status = permits_check(c, permits, 0);
  if (status == DIBS_OK)
    status = one_place_check(c);
  if (status == DIBS_OK && !dialect_traits_of(&c->names)->has_shares)
    status = native_check(c, "semaphores");
  if (status == DIBS_OK)
    status = set_ask(c, &target, what, permits, ret_done, ret_limit);
  client_unpin(c);
  return status;
}

dibs_status dibs_semaphore_set(dibs_client *client, const char *name, uint32_t permits)
{
  uint64_t limit;
  bool done;

  return set_run(client, name, SHARE_SET, permits, &done, &limit);
}

dibs_status dibs_semaphore_set_if_absent(dibs_client *client, const char *name,
                                         uint32_t permits, uint32_t *ret_permits)
{
  uint64_t limit;
  bool done;
  dibs_status status = set_run(client, name, SHARE_SET_IF_ABSENT, permits, &done, &limit);

  if (status == DIBS_OK && ret_permits != NULL)
    *ret_permits = (uint32_t)limit;
  return status;
}

dibs_status dibs_semaphore_delete(dibs_client *client, const char *name)
{
  uint64_t limit;
  bool done;
  dibs_status status = set_run(client, name, SHARE_DELETE, 0, &done, &limit);

  return status == DIBS_OK && !done ? DIBS_BUSY : status;
}
