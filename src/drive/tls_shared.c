/* SPDX-License-Identifier: MIT */
/* drive/tls_shared.c - see tls_shared.h.
 *
 * Reading certificates takes milliseconds, and a cluster has hundreds of links. So they are read
 * again only after a refusal, and only if the disk has other ones. Contexts are freed with the
 * drive: a deployment names two or three sets of files. */
#include "drive/tls_shared.h"

#include <string.h>
#include <sys/stat.h>

#include "base/plain_memory.h"

/* Of a file on the disk; zeros: there is none. */
typedef struct stamp {
  dev_t device;
  ino_t inode;
  off_t size;
  struct timespec written, changed;
  bool is_odd;                /* a FIFO or device: reading it could block */
} stamp;

/* Authorities: a file, or of the machine a file and a directory; certificate, key. */
#define PLACES 4
typedef struct stamps { stamp of[PLACES]; } stamps;

struct tls_shared_one {
  struct tls_shared_one *next;
  char *ca, *cert, *key;
  stamps read;                /* when the context was made */
  tls_context *context;
};

void tls_shared_init(tls_shared *s, const memory *m)
{
  *s = (tls_shared){ .memory = *m };
}

static void one_free(tls_shared *s, struct tls_shared_one *one)
{
  one->context = tls_context_free(one->context);
  mem_free(&s->memory, one->key);
  mem_free(&s->memory, one->cert);
  mem_free(&s->memory, one->ca);
  mem_free(&s->memory, one);
}

void tls_shared_deinit(tls_shared *s)
{
  while (s->first != NULL) {
    struct tls_shared_one *one = s->first;

    s->first = one->next;
    one_free(s, one);
  }
}

static bool is_same(const char *a, const char *b)
{
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool copy(const memory *m, char **ret_copy, const char *words)
{
  *ret_copy = mem_copy_text(m, words);
  return *ret_copy != NULL || words == NULL;
}

static stamp stamp_of(const char *path, mode_t kind)
{
  struct stat facts;

  if (path == NULL || stat(path, &facts) != 0)
    return (stamp){ .size = 0 };
  return (stamp){ facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtim, facts.st_ctim,
                  (facts.st_mode & S_IFMT) != kind };
}

/* Taken before the files are read: what changes meanwhile is read again. */
static stamps stamps_now(const tls_files *files)
{
  const char *file = files->ca, *directory = NULL;

  if (file == NULL)
    tls_machine_places(&file, &directory);
  return (stamps){ { stamp_of(file, S_IFREG), stamp_of(directory, S_IFDIR),
                     stamp_of(files->cert, S_IFREG), stamp_of(files->key, S_IFREG) } };
}

static bool is_same_time(struct timespec a, struct timespec b)
{
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Whether one of them has changed since `before`, and all can be read. */
static bool has_changed(const stamps *now, const stamps *before)
{
  bool is_other = false;

  for (size_t i = 0; i < PLACES; i++) {
    const stamp *a = &now->of[i], *b = &before->of[i];

    if (a->is_odd)
      return false;
    is_other = is_other || a->device != b->device || a->inode != b->inode || a->size != b->size ||
               !is_same_time(a->written, b->written) || !is_same_time(a->changed, b->changed);
  }
  return is_other;
}

static dibs_status one_new(tls_shared *s, const tls_files *files,
                           struct tls_shared_one **ret_one, text *why)
{
  struct tls_shared_one *one = mem_zalloc(&s->memory, sizeof(*one));
  dibs_status status = DIBS_ERR_NO_MEMORY;

  if (one == NULL)
    return status;
  one->read = stamps_now(files);
  if (copy(&s->memory, &one->ca, files->ca) && copy(&s->memory, &one->cert, files->cert) &&
      copy(&s->memory, &one->key, files->key))
    status = tls_context_new(&s->memory, files, &one->context, why);
  if (status != DIBS_OK) {
    one_free(s, one);
    return status;
  }
  *ret_one = one;
  return DIBS_OK;
}

static tls_files files_of(const server_url *server)
{
  return (tls_files){ .ca = server->ca_file, .cert = server->cert_file,
                      .key = server->key_file };
}

static struct tls_shared_one *find(const tls_shared *s, const tls_files *files)
{
  struct tls_shared_one *one = s->first;

  while (one != NULL && !(is_same(one->ca, files->ca) && is_same(one->cert, files->cert) &&
                          is_same(one->key, files->key)))
    one = one->next;
  return one;
}

static void file_name(text *out, const char *option, const char *path)
{
  if (path == NULL)
    return;
  text_add(out, out->used > 0 ? ", " : "");
  text_add(out, option);
  text_add(out, " ");
  text_add_quoted(out, path, strlen(path));
}

/* ---- read again ---- */

struct tls_fresh {
  char *ca, *cert, *key;      /* plain memory */
  stamps known, now;
  tls_context *context;       /* NULL: not read, as there is no change, or it cannot be used */
};

tls_fresh *tls_fresh_free(tls_fresh *f)
{
  const memory plain = plain_memory();

  if (f == NULL)
    return NULL;
  (void)tls_context_free(f->context);
  mem_free(&plain, f->ca);
  mem_free(&plain, f->cert);
  mem_free(&plain, f->key);
  mem_free(&plain, f);
  return NULL;
}

tls_fresh *tls_fresh_new(const tls_shared *s, const server_url *server)
{
  const memory plain = plain_memory();
  tls_files files = files_of(server);
  const struct tls_shared_one *one = find(s, &files);
  tls_fresh *f = one == NULL ? NULL : mem_zalloc(&plain, sizeof(*f));

  if (f == NULL)
    return NULL;
  f->known = one->read;
  if (copy(&plain, &f->ca, files.ca) && copy(&plain, &f->cert, files.cert) &&
      copy(&plain, &f->key, files.key))
    return f;
  return tls_fresh_free(f);
}

void tls_fresh_read(tls_fresh *f, text *ret_files)
{
  const memory plain = plain_memory();
  const tls_files files = { f->ca, f->cert, f->key };

  f->now = stamps_now(&files);
  if (has_changed(&f->now, &f->known) &&
      tls_context_new(&plain, &files, &f->context, ret_files) != DIBS_OK)
    return;
  file_name(ret_files, "cacert", files.ca);
  file_name(ret_files, "cert", files.cert);
  file_name(ret_files, "key", files.key);
}

void tls_shared_take(tls_shared *s, tls_fresh *f)
{
  struct tls_shared_one *one = find(s, &(tls_files){ f->ca, f->cert, f->key });

  if (one == NULL || f->context == NULL)
    return;
  tls_context_swap(one->context, f->context);
  one->read = f->now;
}

/* ---- for connections ---- */

dibs_status tls_shared_get(tls_shared *s, const server_url *server, tls_context **ret_context,
                           text *why)
{
  tls_files files = files_of(server);
  struct tls_shared_one *one;
  dibs_status status;

  *ret_context = NULL;
  if (server->transport != SERVER_TLS)
    return DIBS_OK;
  one = find(s, &files);
  if (one == NULL) {
    status = one_new(s, &files, &one, why);
    if (status != DIBS_OK)
      return status;
    one->next = s->first;
    s->first = one;
  }
  *ret_context = one->context;
  return DIBS_OK;
}
