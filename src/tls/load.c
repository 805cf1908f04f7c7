/* SPDX-License-Identifier: MIT */
/* tls/load.c - tls.h and digest.h in libdibs.so: OpenSSL is loaded when it is first needed.
 *
 * The loader takes longer for it than for all else at the start of `dibs run`, and few programs
 * need it. It comes with libdibs-tls.so, which is beside libdibs.so, or else is looked for by its
 * name: so a program can link it, and has it from its start. */
#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <dibs/version.h>

#include "tls/functions.h"

static const char library_name[] = TLS_LIBRARY;
static const tls_functions *_Atomic loaded;

static const char *library_place(text *out)
{
  Dl_info self;

  /* A path that is not absolute was meant where the program began. */
  if (dladdr(library_name, &self) == 0 || self.dli_fname[0] != '/')
    return library_name;
  text_add_bytes(out, self.dli_fname, (size_t)(strrchr(self.dli_fname, '/') + 1 - self.dli_fname));
  text_add(out, library_name);
  return !out->is_cut && access(out->at, F_OK) == 0 ? out->at : library_name;
}

/* NULL: `why` contains the reason. */
static const tls_functions *find(text *why)
{
  char path[PATH_MAX];
  text out = text_over(path, sizeof(path));
  void *library = dlopen(library_place(&out), RTLD_NOW | RTLD_LOCAL);
  const tls_functions *f = library == NULL ? NULL : dlsym(library, TLS_FUNCTIONS_NAME);

  if (f == NULL) {
    text_format(why, "OpenSSL is used through " TLS_LIBRARY ", a part of dibs: %s", dlerror());
    return NULL;
  }
  if (strcmp(f->version, DIBS_VERSION) != 0) {
    text_format(why, TLS_LIBRARY " is of version %s, and libdibs of " DIBS_VERSION ": install one "
                "version of both, and start this program again", f->version);
    return NULL;
  }
  return f;
}

/* As find(), until it is found. Any thread: what another has found stays. */
static const tls_functions *load(text *why)
{
  const tls_functions *f = loaded;

  if (f == NULL)
    f = find(why);
  if (f != NULL)
    loaded = f;
  return f;
}

dibs_status tls_context_new(const memory *m, const tls_files *files,
                            tls_context **ret_context, text *why)
{
  const tls_functions *f = load(why);

  return f == NULL ? DIBS_ERR_TLS : f->context_new(m, files, ret_context, why);
}

void tls_machine_places(const char **ret_file, const char **ret_directory)
{
  char bytes[1];
  text why = text_over(bytes, sizeof(bytes));
  const tls_functions *f = load(&why);

  *ret_file = *ret_directory = NULL;
  if (f != NULL)
    f->machine_places(ret_file, ret_directory);
}

bool sha256_prepare(text *why)
{
  return load(why) != NULL;
}

bool sha256_write(const void *bytes, size_t size, char ret_digits[SHA256_TEXT_SIZE], text *why)
{
  const tls_functions *f = load(why);

  return f != NULL && f->sha256(bytes, size, ret_digits, why);
}

/* ---- of a context or session that there is ---- */

tls_context *tls_context_free(tls_context *c)
{
  return c == NULL ? NULL : loaded->context_free(c);
}

void tls_context_swap(tls_context *a, tls_context *b)
{
  loaded->context_swap(a, b);
}

tls_session *tls_session_new(tls_context *c, const char *name)
{
  return loaded->session_new(c, name);
}

tls_session *tls_session_free(tls_session *s)
{
  return s == NULL ? NULL : loaded->session_free(s);
}

dibs_status tls_feed(tls_session *s, const void *bytes, size_t size, text *why)
{
  return loaded->feed(s, bytes, size, why);
}

dibs_status tls_handshake(tls_session *s, buffer *out, bool *ret_done, text *why)
{
  return loaded->handshake(s, out, ret_done, why);
}

dibs_status tls_read(tls_session *s, void *bytes, size_t size, size_t *ret_size,
                     bool *ret_ended, buffer *out, text *why)
{
  return loaded->read(s, bytes, size, ret_size, ret_ended, out, why);
}

dibs_status tls_write(tls_session *s, const void *bytes, size_t size, buffer *out, text *why)
{
  return loaded->write(s, bytes, size, out, why);
}
