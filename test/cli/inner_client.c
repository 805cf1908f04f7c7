/* SPDX-License-Identifier: MIT */
/* A C program as it may run under `dibs run`: it names no server, and works with what the
 * environment says.
 *
 *   inner_client url [FIELD=VALUE...]   prints dibs_full_url(), with passwords, of a client that
 *                                       was opened with these fields of dibs_options
 *   inner_client try NAME               tries to lock NAME; prints the status's name
 *   inner_client open [FIELD=VALUE...]  opens two clients, one after the other
 *   inner_client events [FIELD=VALUE...]  opens one, prints the first warning that it tells */
#include <dibs/dibs.h>

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct field {
  const char *name;
  bool is_text;
  size_t place;
} field;

#define TEXT(member) { #member, true, offsetof(dibs_options, member) }
#define NUMBER(member) { #member, false, offsetof(dibs_options, member) }

static const field fields[] = {
  TEXT(prefix), TEXT(user), TEXT(password), TEXT(password_file), TEXT(ca_file), TEXT(cert_file),
  TEXT(key_file), TEXT(server_name), TEXT(note), TEXT(sentinel_user), TEXT(sentinel_password),
  TEXT(registry), TEXT(classes), TEXT(config_file),
  NUMBER(connect_timeout_ms), NUMBER(command_timeout_ms),
  NUMBER(close_timeout_ms), NUMBER(renew_every_ms), NUMBER(clock_rate_error_ppm),
  NUMBER(quarantine_ms), NUMBER(degrade), NUMBER(dialect), NUMBER(names_max),
  NUMBER(report_ms), NUMBER(history), NUMBER(history_max), NUMBER(history_over_ms),
  NUMBER(database),
  NUMBER(local_handovers_max), NUMBER(local_handover_ms), NUMBER(flags),
};

static bool field_set(dibs_options *o, char *word)
{
  char *value = strchr(word, '=');

  if (value == NULL)
    return false;
  *value++ = '\0';
  for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
    void *at = (char *)o + fields[i].place;

    if (strcmp(fields[i].name, word) != 0)
      continue;
    if (fields[i].is_text)
      *(const char **)at = value;
    else
      *(int32_t *)at = (int32_t)strtol(value, NULL, 10);
    return true;
  }
  return false;
}

static int try_name(dibs_client *client, const char *name)
{
  dibs_hold *hold = NULL;
  dibs_status status = dibs_try_lock(client, name, NULL, &hold);

  printf("%s\n", dibs_status_name(status));
  if (hold != NULL)
    (void)dibs_release(hold);
  return 0;
}

static atomic_int warnings;

static void event_print(const dibs_event *event, void *data)
{
  (void)data;
  if (event->kind != DIBS_EVENT_WARNING)
    return;
  printf("warning: %s\n", event->text);
  atomic_fetch_add(&warnings, 1);
}

/* Up to half a second: of no event one can only say that it has not come yet. */
static int wait_for_warning(void)
{
  for (int i = 0; i < 50 && atomic_load(&warnings) == 0; i++)
    usleep(10000);
  return 0;
}

static int open_again(const dibs_options *options)
{
  dibs_client *client = NULL;

  if (dibs_open(NULL, options, &client, NULL) != DIBS_OK)
    return 1;
  (void)dibs_close(client);
  return 0;
}

static int print_url(dibs_client *client)
{
  static char url[DIBS_URL_SIZE];

  if (dibs_full_url(client, true, url, sizeof(url)) != DIBS_OK)
    return 1;
  puts(url);
  return 0;
}

int main(int argc, char **argv)
{
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_client *client = NULL;
  dibs_error error = DIBS_ERROR_INIT;
  bool is_try = argc > 2 && strcmp(argv[1], "try") == 0;
  int code;

  for (int i = 2; i < argc && !is_try; i++)
    if (!field_set(&options, argv[i])) {
      fprintf(stderr, "no field %s\n", argv[i]);
      return 2;
    }
  if (argc > 1 && strcmp(argv[1], "events") == 0)
    options.on_event = event_print;
  if (dibs_open(NULL, &options, &client, &error) != DIBS_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 1;
  }
  if (is_try)
    code = try_name(client, argv[2]);
  else if (options.on_event != NULL)
    code = wait_for_warning();
  else
    code = argc > 1 && strcmp(argv[1], "open") == 0 ? open_again(&options) : print_url(client);
  (void)dibs_close(client);
  return code;
}
