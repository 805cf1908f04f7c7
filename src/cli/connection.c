/* SPDX-License-Identifier: MIT */
/* cli/connection.c - the options that say which server, and how to reach it.
 * test/cli/identity_test.py reads these rows: an option holds in a command inside, or that test
 * names the reason why not. */
#include "cli/options.h"

#include "base/dialects.h"
#include "cli/message.h"
#include "cli/url.h"

static int set_url(const option_given *g, void *options)
{
  connection_options *c = options;

  if (c->url_count == QUORUM_MAX)
    return say_usage(g->command->name, "--url: a quorum is of at most %d servers", QUORUM_MAX);
  if (url_has_password(g->value))
    return say_usage(g->command->name, "--url: there is a password in the URL, and every user of "
                                       "this machine sees command lines; give it in DIBS_URL or "
                                       "DIBS_PASSWORD, by --pass-file or --askpass, or in a "
                                       "configuration file");
  c->urls[c->url_count++] = g->value;
  return 0;
}

static int set_dialect(const option_given *g, void *options)
{
#define DIALECT_CHOICE(number, NAME, word) { #word, DIBS_DIALECT_##NAME },
  static const option_choice choices[] = { DIALECTS(DIALECT_CHOICE) { NULL, 0 } };
  int meaning = 0, code = option_read_choice(g, g->value, choices, &meaning);

  ((connection_options *)options)->dialect = (dibs_dialect)meaning;
  return code;
}

static int set_degrade(const option_given *g, void *options)
{
  static const option_choice choices[] = {
    { "fail", DIBS_DEGRADE_FAIL }, { "wait", DIBS_DEGRADE_WAIT },
    { "local", DIBS_DEGRADE_LOCAL }, { NULL, 0 },
  };
  int meaning = 0, code = option_read_choice(g, g->value, choices, &meaning);

  ((connection_options *)options)->degrade = (dibs_degrade)meaning;
  return code;
}

const option_row options_connection[] = {
  { "url", 'u', "URL", OWN(set_url),
    "the server: redis://HOST, local: ...; several: a quorum" },
  { "db", 0, "N", INT(connection_options, database, 0, 1000000), "the database number" },
  { "user", 0, "NAME", FULL_TEXT(connection_options, user), "the ACL user" },
  { "askpass", 0, NULL, FLAG(connection_options, wants_askpass),
    "ask for the password on the terminal" },
  { "pass-file", 0, "FILE", FULL_TEXT(connection_options, pass_file),
    "the password is the first line of FILE" },
  { "cacert", 0, "FILE", FULL_TEXT(connection_options, cacert), "TLS: authorities to trust" },
  { "cert", 0, "FILE", FULL_TEXT(connection_options, cert), "TLS: client certificate" },
  { "key", 0, "FILE", FULL_TEXT(connection_options, key), "TLS: its key" },
  { "sni", 0, "HOST", FULL_TEXT(connection_options, sni),
    "TLS: the name to check instead of the URL's host" },
  { "prefix", 0, "WORD", FULL_TEXT(connection_options, prefix), "put before every key (dibs)" },
  { "dialect", 0, "WORD", OWN(set_dialect),
    "whose locks: " DIALECT_WORDS },
  { "registry", 0, "KEY", FULL_TEXT(connection_options, registry),
    "dialect spring: the registry's key" },
  { "connect-timeout", 0, "DUR", DURATION(connection_options, connect_timeout_ms, 1),
    "give up after DUR without a server (5s)" },
  { "degrade", 0, "WORD", OWN(set_degrade),
    "without a server: fail, wait or local (fail, then wait)" },
  { "config", 0, "FILE", FULL_TEXT(connection_options, config), "read this configuration file" },
  { "local", 0, NULL, FLAG(connection_options, wants_local),
    "use the private server of this machine" },
  { "no-local", 0, NULL, FLAG(connection_options, refuses_local), "never use it" },
  { "tls", 0, NULL, REFUSED, "put it in the URL: rediss:// or valkeys://" },
  { "insecure", 0, NULL, REFUSED,
    "certificates are always checked; name your own authority with --cacert FILE" },
  { "cacertdir", 0, "DIR", REFUSED, "use --cacert FILE" },
  { "pass", 0, "WORD", REFUSED,
    "other users can see the command line; use --askpass, --pass-file or DIBS_PASSWORD" },
  { .name = NULL },
};
