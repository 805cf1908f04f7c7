/* SPDX-License-Identifier: MIT */
/* api/lock_files.c - see lock_files.h. */
#include "api/lock_files.h"

#include "local/failure.h"
#include "tls/digest.h"

/* Of the servers of a quorum that have different ones: -1, as for all clients of it. */
static int database_of(const deployment *d)
{
  int database = d->data.database;

  if (d->kind != DEPLOYMENT_QUORUM)
    return database;
  database = d->seeds[0].database;
  for (size_t i = 1; i < d->seed_count; i++)
    if (d->seeds[i].database != database)
      return -1;
  return database;
}

/* What is one lock at the servers has one text, and what is two has two: the database, and the
 * key, which a prefix is not a part of in each dialect. The addresses are left out: clients of one
 * deployment may have different ones, such as names of one server, or some servers of several, and
 * would not exclude each other. So two deployments need two prefixes. */
static bool identity_write(const claim *cl, size_t index, text *out)
{
  const protocol *names = &cl->client->names;
  const char *name;
  size_t size;

  if (!claim_name(cl, index, &name, &size))
    return false;
  text_add_int(out, database_of(&cl->client->servers));
  text_add(out, " ");
  names->dialect->key(names, name, size, out);
  return true;
}

static dibs_status digest_write(const claim *cl, size_t index,
                                char ret_digest[SHA256_TEXT_SIZE], dibs_error *ret_error)
{
  char identity[KEY_TEXT_SIZE + 16], words[sizeof(ret_error->text)] = "";
  text out = text_over(identity, sizeof(identity)), why = text_over(words, sizeof(words));

  if (!identity_write(cl, index, &out))
    return DIBS_ERR_SYSTEM;
  if (!sha256_write(out.at, out.used, ret_digest, &why))
    return failure(ret_error, DIBS_ERR_SYSTEM, "%s", words);
  return DIBS_OK;
}

static dibs_status file_open(const claim *cl, lock_files *f, size_t index, dibs_error *ret_error)
{
  char digest[SHA256_TEXT_SIZE];
  dibs_status status;

  if (f->locks[index].fd >= 0)
    return DIBS_OK;
  status = digest_write(cl, index, digest, ret_error);
  return status == DIBS_OK ? local_lock_open(digest, &f->locks[index], ret_error) : status;
}

/* `ret_fence` NULL: shared. */
static dibs_status file_lock(const claim *cl, lock_files *f, size_t index, uint64_t *ret_fence,
                             dibs_error *ret_error)
{
  for (;;) {
    dibs_status status = file_open(cl, f, index, ret_error);

    if (status == DIBS_OK)
      status = ret_fence == NULL ? local_lock_share(&f->locks[index])
                                 : local_lock_try(&f->locks[index], ret_fence);
    if (status != DIBS_LOST)
      return status;
    local_lock_close(&f->locks[index]);
  }
}

void lock_files_init(lock_files *f, local_lock *locks, size_t count)
{
  *f = (lock_files){ .count = count, .locks = locks };
  for (size_t i = 0; i < count; i++)
    locks[i].fd = -1;
}

bool lock_files_are_open(const lock_files *f)
{
  return f->locks[0].fd >= 0;
}

bool lock_files_are_named(const lock_files *f)
{
  for (size_t i = 0; i < f->count; i++)
    if (f->locks[i].fd >= 0 && !local_lock_is_named(&f->locks[i]))
      return false;
  return true;
}

dibs_status lock_files_share(claim *cl, lock_files *f, dibs_error *ret_error)
{
  dibs_status status = DIBS_OK;

  for (size_t i = 0; i < f->count && status == DIBS_OK; i++)
    status = file_lock(cl, f, i, NULL, ret_error);
  if (status != DIBS_OK)
    lock_files_end(cl, f, false);
  /* A library that was built without locks of the machine has none to keep out. */
  return status == DIBS_ERR_UNSUPPORTED ? DIBS_OK : status;
}

dibs_status lock_files_take(claim *cl, lock_files *f, uint64_t *ret_fence, dibs_error *ret_error)
{
  return file_lock(cl, f, 0, ret_fence, ret_error);
}

bool lock_files_copy(lock_files *f, const lock_files *from)
{
  local_lock_close(&f->locks[0]);
  return local_lock_copy(&from->locks[0], &f->locks[0]);
}

void lock_files_end(const claim *cl, lock_files *f, bool is_shared)
{
  bool is_own = !is_shared && cl->client->epoch == fork_epoch();

  for (size_t i = 0; i < f->count; i++) {
    if (is_own)
      local_lock_end(&f->locks[i]);
    else
      local_lock_close(&f->locks[i]);
  }
}
