/* SPDX-License-Identifier: MIT */
/* tls/tls.c - a TLS filter of bytes, with OpenSSL. */
#include "tls/tls.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/errno_text.h"

struct tls_context {
  memory memory;
  SSL_CTX *ssl;
  bool has_own_authorities;   /* a file of them, instead of the machine's */
};

struct tls_session {
  memory memory;
  SSL *ssl;
  BIO *in, *out;         /* owned by ssl */
  char *name;            /* expected in the peer's certificate */
  bool has_own_authorities;
};

/* Adds OpenSSL's reason of the oldest error, which is the cause; empties its queue. */
static dibs_status tls_fault(text *why, const char *what, const char *file)
{
  unsigned long code = ERR_get_error();
  const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);

  text_add(why, "TLS: ");
  text_add(why, what);
  if (file != NULL) {
    text_add(why, " ");
    text_add_quoted(why, file, strlen(file));
  }
  if (code != 0 && ERR_SYSTEM_ERROR(code)) {
    text_add(why, ": ");
    text_add(why, errno_text(ERR_GET_REASON(code)));
  } else if (reason != NULL) {
    text_add(why, ": ");
    text_add(why, reason);
  }
  ERR_clear_error();
  return DIBS_ERR_TLS;
}

/* ---- context ---- */

static dibs_status authorities_load(tls_context *c, const char *file, text *why)
{
  if (file == NULL) {
    if (SSL_CTX_set_default_verify_paths(c->ssl) != 1)
      return tls_fault(why, "the system's certificate authorities cannot be used", NULL);
    return DIBS_OK;
  }
  if (SSL_CTX_load_verify_file(c->ssl, file) != 1)
    return tls_fault(why, "no certificate authority can be read from", file);
  return DIBS_OK;
}

static dibs_status certificate_load(tls_context *c, const char *cert, const char *key, text *why)
{
  if (cert == NULL && key == NULL)
    return DIBS_OK;
  if (cert == NULL || key == NULL) {
    text_add(why, "TLS: a client certificate needs both files, cert and key");
    return DIBS_ERR_TLS;
  }
  if (SSL_CTX_use_certificate_chain_file(c->ssl, cert) != 1)
    return tls_fault(why, "no certificate can be read from", cert);
  if (SSL_CTX_use_PrivateKey_file(c->ssl, key, SSL_FILETYPE_PEM) != 1)
    return tls_fault(why, "no private key can be read from", key);
  if (SSL_CTX_check_private_key(c->ssl) != 1)
    return tls_fault(why, "the private key does not belong to the certificate", cert);
  return DIBS_OK;
}

static bool is_address(const char *name)
{
  unsigned char bytes[16];

  return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

/* OpenSSL must not ask for the password of an encrypted key on the terminal. */
static int no_password(char *bytes, int size, int is_writing, void *data)
{
  (void)bytes;
  (void)size;
  (void)is_writing;
  (void)data;
  return -1;
}

static dibs_status files_read(tls_context *c, const tls_files *files, text *why)
{
  dibs_status status = DIBS_ERR_NO_MEMORY;

  /* Threads of dibs may still run during exit(), so OpenSSL must not clean up there. */
  (void)OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL);
  ERR_clear_error();
  c->ssl = SSL_CTX_new(TLS_client_method());
  if (c->ssl == NULL)
    goto fail;
  if (SSL_CTX_set_min_proto_version(c->ssl, TLS1_2_VERSION) != 1)
    goto fail;
  SSL_CTX_set_options(c->ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(c->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE |
                             SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(c->ssl, SSL_VERIFY_PEER, NULL);
  SSL_CTX_set_default_passwd_cb(c->ssl, no_password);

  c->has_own_authorities = files->ca != NULL;
  status = authorities_load(c, files->ca, why);
  if (status == DIBS_OK)
    status = certificate_load(c, files->cert, files->key, why);
fail:
  ERR_clear_error();
  return status;
}

dibs_status tls_context_new(const memory *m, const tls_files *files,
                            tls_context **ret_context, text *why)
{
  tls_context *c = mem_zalloc(m, sizeof(*c));
  dibs_status status;

  if (c == NULL)
    return DIBS_ERR_NO_MEMORY;
  c->memory = *m;
  status = files_read(c, files, why);
  if (status != DIBS_OK)
    (void)tls_context_free(c);
  else
    *ret_context = c;
  return status;
}

/* Sessions keep the SSL_CTX that they began with. */
void tls_context_swap(tls_context *a, tls_context *b)
{
  SSL_CTX *ssl = a->ssl;

  a->ssl = b->ssl;
  b->ssl = ssl;
}

tls_context *tls_context_free(tls_context *c)
{
  if (c == NULL)
    return NULL;
  SSL_CTX_free(c->ssl);
  mem_free(&c->memory, c);
  return NULL;
}

/* ---- session ---- */

static bool name_require(tls_session *s)
{
  X509_VERIFY_PARAM *parameters = SSL_get0_param(s->ssl);

  if (is_address(s->name))
    return X509_VERIFY_PARAM_set1_ip_asc(parameters, s->name) == 1;
  X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return X509_VERIFY_PARAM_set1_host(parameters, s->name, 0) == 1 &&
         SSL_set_tlsext_host_name(s->ssl, s->name) == 1;
}

tls_session *tls_session_new(tls_context *c, const char *name)
{
  tls_session *s = mem_zalloc(&c->memory, sizeof(*s));

  if (s == NULL)
    return NULL;
  s->memory = c->memory;
  s->has_own_authorities = c->has_own_authorities;
  s->name = mem_copy_text(&s->memory, name);
  s->ssl = SSL_new(c->ssl);
  s->in = BIO_new(BIO_s_mem());
  s->out = BIO_new(BIO_s_mem());
  if (s->name == NULL || s->ssl == NULL || s->in == NULL || s->out == NULL) {
    BIO_free(s->in);
    BIO_free(s->out);
    s->in = s->out = NULL;
    return tls_session_free(s);
  }
  SSL_set_bio(s->ssl, s->in, s->out);
  SSL_set_connect_state(s->ssl);
  if (!name_require(s)) {
    ERR_clear_error();
    return tls_session_free(s);
  }
  return s;
}

tls_session *tls_session_free(tls_session *s)
{
  if (s == NULL)
    return NULL;
  SSL_free(s->ssl);
  mem_free(&s->memory, s->name);
  mem_free(&s->memory, s);
  return NULL;
}

static bool ciphertext_take(tls_session *s, buffer *out)
{
  size_t pending = BIO_ctrl_pending(s->out);

  if (pending == 0)
    return true;
  if (pending > INT_MAX || !buffer_reserve(out, pending))
    return false;
  BIO_read(s->out, out->bytes + out->end, (int)pending);
  out->end += pending;
  return true;
}

dibs_status tls_feed(tls_session *s, const void *bytes, size_t size, text *why)
{
  ERR_clear_error();
  if (size > INT_MAX || BIO_write(s->in, bytes, (int)size) != (int)size)
    return tls_fault(why, "no memory for received bytes", NULL);
  return DIBS_OK;
}

void tls_machine_places(const char **ret_file, const char **ret_directory)
{
  const char *file = getenv(X509_get_default_cert_file_env());
  const char *directory = getenv(X509_get_default_cert_dir_env());

  *ret_file = file == NULL ? X509_get_default_cert_file() : file;
  *ret_directory = directory == NULL ? X509_get_default_cert_dir() : directory;
}

/* The directory in which OpenSSL looks for authorities, if it and the usual file have none: a
 * machine without the package ca-certificates. Else NULL. */
static const char *empty_store(void)
{
  const char *file, *path;
  const struct dirent *entry = NULL;
  DIR *directory;

  tls_machine_places(&file, &path);
  if (access(file, R_OK) == 0)
    return NULL;
  directory = directory_read(path);
  while (directory != NULL && (entry = readdir(directory)) != NULL && entry->d_name[0] == '.')
    continue;
  if (directory != NULL)
    (void)closedir(directory);
  return entry == NULL ? path : NULL;
}

static void unknown_issuer(const tls_session *s, text *why)
{
  const char *place = s->has_own_authorities ? NULL : empty_store();

  text_add(why, "the server's certificate has an unknown issuer");
  if (place == NULL) {
    text_add(why, "; the option cacert names the file of its authority");
    return;
  }
  text_add(why, ", as this machine knows none: install ca-certificates, or name a file by "
                "cacert; looked in ");
  text_add_quoted(why, place, strlen(place));
}

/* Why the peer's certificate is refused, and what to do. */
static dibs_status certificate_fault(tls_session *s, long verdict, text *why)
{
  ERR_clear_error();
  text_add(why, "TLS: ");
  switch (verdict) {
  case X509_V_ERR_CERT_HAS_EXPIRED:
    text_add(why, "the server's certificate has expired");
    break;
  case X509_V_ERR_CERT_NOT_YET_VALID:
    text_add(why, "the server's certificate is not valid yet; check this machine's clock");
    break;
  case X509_V_ERR_HOSTNAME_MISMATCH:
  case X509_V_ERR_IP_ADDRESS_MISMATCH:
    text_add(why, "the server's certificate is not valid for the name ");
    text_add_quoted(why, s->name, strlen(s->name));
    text_add(why, "; the option sni sets the name to check");
    break;
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
  case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
  case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
  case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
  case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    unknown_issuer(s, why);
    break;
  default:
    text_add(why, "the server's certificate is refused: ");
    text_add(why, X509_verify_cert_error_string(verdict));
  }
  return DIBS_ERR_TLS;
}

dibs_status tls_handshake(tls_session *s, buffer *out, bool *ret_done, text *why)
{
  int result, error;
  long verdict;
  bool is_other;

  ERR_clear_error();
  result = SSL_do_handshake(s->ssl);
  error = SSL_get_error(s->ssl, result);
  if (!ciphertext_take(s, out))
    return DIBS_ERR_NO_MEMORY;
  *ret_done = result == 1;
  if (result == 1 || error == SSL_ERROR_WANT_READ)
    return DIBS_OK;
  verdict = SSL_get_verify_result(s->ssl);
  if (verdict != X509_V_OK)
    return certificate_fault(s, verdict, why);
  is_other = ERR_GET_REASON(ERR_peek_error()) == SSL_R_WRONG_VERSION_NUMBER;
  (void)tls_fault(why, "the handshake failed", NULL);
  if (is_other)
    text_add(why, "; the server seems to have no TLS on this port: use redis:// or "
                  "valkey://");
  return DIBS_ERR_TLS;
}

dibs_status tls_read(tls_session *s, void *bytes, size_t size, size_t *ret_size,
                     bool *ret_ended, buffer *out, text *why)
{
  size_t got = 0;
  int result, error;

  ERR_clear_error();
  result = SSL_read_ex(s->ssl, bytes, size, &got);
  error = SSL_get_error(s->ssl, result);
  if (!ciphertext_take(s, out))
    return DIBS_ERR_NO_MEMORY;
  *ret_ended = result != 1 && error == SSL_ERROR_ZERO_RETURN;
  *ret_size = result == 1 ? got : 0;
  if (result == 1 || *ret_ended || error == SSL_ERROR_WANT_READ)
    return DIBS_OK;
  return tls_fault(why, "the session broke", NULL);
}

dibs_status tls_write(tls_session *s, const void *bytes, size_t size, buffer *out, text *why)
{
  const char *at = bytes;

  while (size > 0) {
    size_t written = 0;

    ERR_clear_error();
    if (SSL_write_ex(s->ssl, at, size, &written) != 1)
      return tls_fault(why, "the session broke", NULL);
    at += written;
    size -= written;
  }
  return ciphertext_take(s, out) ? DIBS_OK : DIBS_ERR_NO_MEMORY;
}
