/* SPDX-License-Identifier: MIT */
/* drive/files.c - certificates and passwords that a server has refused are read again: they may
 * have been replaced on the disk.
 *
 * A disk can hang (NFS), so a separate thread reads, without the mutex. A connection waits for it
 * for a limited time, then it tries with what it has; what comes later is for the next try. A
 * connection has one such thread at most, however long that takes. */
#include <string.h>
#include <sys/epoll.h>

#include "base/plain_memory.h"
#include "drive/internal.h"

struct reading {
  errand errand;
  tls_fresh *tls;             /* or NULL: a password */
  char *path, *password;      /* NULL: not read */
  password_place place;
  password_reader *read;
  char words[256];            /* the files, or why they cannot be used */
};

static reading *reading_of(errand *e)
{
  return (reading *)(void *)e;
}

static void reading_free(errand *e)
{
  const memory plain = plain_memory();
  reading *r = reading_of(e);

  r->tls = tls_fresh_free(r->tls);
  mem_free_secret(&plain, r->password);
  mem_free(&plain, r->path);
  mem_free(&plain, r);
}

static void reading_run(errand *e)
{
  const memory plain = plain_memory();
  reading *r = reading_of(e);
  text shown = text_over(r->words, sizeof(r->words));

  if (r->tls != NULL) {
    tls_fresh_read(r->tls, &shown);
  } else if (r->read(&plain, r->path, r->place, &r->password, &shown) == DIBS_OK) {
    text_add(&shown, "password from ");
    text_add_quoted(&shown, r->path, strlen(r->path));
  }
}

/* NULL: there is nothing to read, or no memory. */
static reading *reading_new(const drive *d, const server_url *server, dibs_status refusal)
{
  const memory plain = plain_memory();
  reading *r = mem_zalloc(&plain, sizeof(*r));

  if (r == NULL)
    return NULL;
  if (refusal == DIBS_ERR_TLS) {
    r->tls = tls_fresh_new(&d->tls, server);
  } else {
    r->path = mem_copy_text(&plain, server->password_file);
    r->place = server->password_in;
    r->read = d->handler.password_read;
  }
  if (r->tls != NULL || r->path != NULL)
    return r;
  reading_free(&r->errand);
  return NULL;
}

/* Mutex held. */
static void use(drive *d, transport *t, reading *r)
{
  if (r->tls != NULL)
    tls_shared_take(&d->tls, r->tls);
  else if (r->password != NULL)
    d->handler.password(d->handler.owner, r->path, r->place, r->password);
  engine_files(d->engine, t->link, r->words);
}

void files_end(drive *d, transport *t)
{
  if (t->reading == NULL)
    return;
  (void)epoll_ctl(d->links_fd, EPOLL_CTL_DEL, t->reading->errand.fd, NULL);
  (void)errand_let_go(&t->reading->errand);
  t->reading = NULL;
}

void files_drop(transport *t)
{
  if (t->reading != NULL)
    errand_drop(&t->reading->errand);
}

/* Without a thread, the call waits for the disk, as for names. */
static void read_here(drive *d, transport *t, reading *r)
{
  reading_run(&r->errand);
  use(d, t, r);
  reading_free(&r->errand);
}

static bool reading_begin(drive *d, transport *t, reading *r)
{
  if (!errand_begin(&r->errand, "dibs-files", reading_run, reading_free))
    return false;
  t->reading = r;
  t->reading_number = socket_watch(d, t->link, r->errand.fd, SOURCE_FILES, EPOLLIN);
  if (t->reading_number == 0)
    files_end(d, t);
  return t->reading != NULL;
}

bool files_begin(drive *d, transport *t, const server_url *server, dibs_status refusal)
{
  reading *r = t->reading != NULL ? NULL : reading_new(d, server, refusal);

  if (r != NULL && !d->has_thread) {
    read_here(d, t, r);
    return false;
  }
  if (t->reading == NULL && (r == NULL || !reading_begin(d, t, r)))
    return false;
  t->state = TRANSPORT_READING;
  t->read_until = instant_add(drive_now(), d->read_limit);
  return true;
}

void files_event(drive *d, transport *t, uint64_t number)
{
  if (t->reading == NULL || t->reading_number != number || !errand_is_done(&t->reading->errand))
    return;
  use(d, t, t->reading);
  files_end(d, t);
  if (t->state == TRANSPORT_READING)
    dial_begin(d, t);
}

void files_tick(drive *d, transport *t, instant now)
{
  char words[256];
  text shown = text_over(words, sizeof(words));

  if (t->state != TRANSPORT_READING || instant_before(now, t->read_until))
    return;
  if (t->reading->tls != NULL)
    text_add(&shown, "the certificates");
  else
    text_add_quoted(&shown, t->reading->path, strlen(t->reading->path));
  text_add(&shown, " cannot be read yet: the disk does not answer");
  engine_files(d->engine, t->link, words);
  dial_begin(d, t);
}
