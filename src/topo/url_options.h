/* SPDX-License-Identifier: MIT */
/* topo/url_options.h - the options of a URL, each once.
 *
 * ROW(name, identity, kind, field, need, of). The identity is for programs that compare two URLs
 * (cli/take_before.c): OTHER_LOCK, another value leads to another lock, as another host, service or
 * database in the path does; SAME_LOCK, it is the same lock, reached, waited for or reported in
 * another way. A lock is a key of a database, as in api/lock_files.c: so another user, certificate
 * or quarantine makes no other one. `sni` does: several servers may have one address, and it
 * selects one. The other columns are of server_url_options.c.
 *
 * Each has a row in test/cli/identity_test.py, which reads this one. */
#ifndef TOPO_URL_OPTIONS_H
#define TOPO_URL_OPTIONS_H

#define URL_OPTIONS(ROW) \
  ROW("db", OTHER_LOCK, DATABASE, url.database, FOR_ALL, OF_SERVER) \
  ROW("prefix", OTHER_LOCK, TEXT, url.prefix, FOR_ALL, OF_CLIENT) \
  ROW("user", SAME_LOCK, TEXT, url.user, FOR_ALL, OF_SERVER) \
  ROW("password", SAME_LOCK, SECRET, url.password, FOR_ALL, OF_SERVER) \
  ROW("password_file", SAME_LOCK, SECRET, url.password_file, FOR_ALL, OF_SERVER) \
  ROW("connect_timeout", SAME_LOCK, DURATION, url.connect_timeout_ms, FOR_ALL, OF_CLIENT) \
  ROW("command_timeout", SAME_LOCK, DURATION, url.command_timeout_ms, FOR_ALL, OF_CLIENT) \
  ROW("close_timeout", SAME_LOCK, DURATION, url.close_timeout_ms, FOR_ALL, OF_CLIENT) \
  ROW("clock_rate_error_ppm", SAME_LOCK, PPM, url.clock_rate_error_ppm, FOR_ALL, OF_CLIENT) \
  ROW("cacert", SAME_LOCK, TEXT, url.ca_file, FOR_TLS, OF_SERVER) \
  ROW("cert", SAME_LOCK, TEXT, url.cert_file, FOR_TLS, OF_SERVER) \
  ROW("key", SAME_LOCK, TEXT, url.key_file, FOR_TLS, OF_SERVER) \
  ROW("sni", OTHER_LOCK, TEXT, url.server_name, FOR_TLS, OF_SERVER) \
  ROW("note", SAME_LOCK, TEXT, url.note, FOR_ALL, OF_CLIENT) \
  ROW("quarantine", SAME_LOCK, PAUSE, url.quarantine_ms, FOR_ALL, OF_CLIENT) \
  ROW("degrade", SAME_LOCK, DEGRADE, url.degrade, FOR_ALL, OF_CLIENT) \
  ROW("dialect", OTHER_LOCK, DIALECT, url.dialect, FOR_ALL, OF_CLIENT) \
  ROW("report", SAME_LOCK, REPORT, url.report_ms, FOR_ALL, OF_CLIENT) \
  ROW("history", SAME_LOCK, HISTORY, url.history, FOR_ALL, OF_CLIENT) \
  ROW("history_max", SAME_LOCK, COUNT_OF, url.history_max, FOR_ALL, OF_CLIENT) \
  ROW("history_over", SAME_LOCK, DURATION, url.history_over_ms, FOR_ALL, OF_CLIENT) \
  ROW("classes", SAME_LOCK, TEXT, url.classes, FOR_ALL, OF_CLIENT) \
  ROW("registry", OTHER_LOCK, TEXT, url.registry, FOR_ALL, OF_CLIENT) \
  ROW("pubsub", SAME_LOCK, CHOICE, url.pubsub, FOR_ALL, OF_CLIENT) \
  ROW("functions", SAME_LOCK, CHOICE, url.functions, FOR_ALL, OF_CLIENT) \
  ROW("sharded", SAME_LOCK, CHOICE, url.sharded, FOR_FOUND, OF_CLIENT) \
  ROW("map", SAME_LOCK, MAP, mappings, FOR_FOUND, OF_CLIENT) \
  ROW("sentinel_user", SAME_LOCK, TEXT, sentinel_user, FOR_SENTINEL, OF_CLIENT) \
  ROW("sentinel_password", SAME_LOCK, SECRET, sentinel_password, FOR_SENTINEL, OF_CLIENT) \
  ROW("sentinel_tls", SAME_LOCK, CHOICE, sentinel_tls, FOR_SENTINEL, OF_CLIENT)

#endif
