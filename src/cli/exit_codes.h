/* SPDX-License-Identifier: MIT */
/* cli/exit_codes.h - what `dibs` exits with when it is not the code of its command: one meaning
 * each. sysexits.h where it has a word for it; from 79 on our own; 126 and 127 as every shell and
 * timeout(1). dibs(1) has the same table, which test/cli/exit_codes_test.py compares. */
#ifndef CLI_EXIT_CODES_H
#define CLI_EXIT_CODES_H

#define EXIT_CODES(ROW) \
  ROW(OK, 0, "done; also busy with --skip-ok") \
  ROW(NO, 1, "the answer is no: who: free; --exit-code: nothing found; barrier: broken; " \
             "elect observe -n: no leader; doctor: a check failed; break: answered with n") \
  ROW(USAGE, 64, "wrong usage; the message names the value and what is allowed") \
  ROW(OTHER_USE, 65, "the name is used otherwise: as another kind of lock, with another " \
                     "number of permits, or its key has something else") \
  ROW(NOT_SET, 66, "nothing is set for the name: a semaphore, latch or rate has to be set first") \
  ROW(UNREACHABLE, 69, "no server could decide: none was reached, of a quorum no majority, or " \
                       "too few replicas; the message has the server's error") \
  ROW(INTERNAL, 70, "internal error, or stdout could not be written") \
  ROW(FILE, 74, "a file cannot be read or written, or an address cannot be listened on") \
  ROW(BUSY, 75, "another client holds the lock: busy (-n), or the wait timed out (-w); " \
                "-E changes it") \
  ROW(PROTOCOL, 76, "what answers is no Redis or Valkey, or a reply is too large") \
  ROW(DENIED, 77, "wrong credentials, or an ACL forbids what is needed") \
  ROW(CONFIG, 78, "the configuration is wrong: URL, file, variable, certificate, password file") \
  ROW(LOST, 79, "the lock was lost while held, or the command was stopped before that") \
  ROW(DEADLOCK, 80, "refused, as it would wait for itself: inside a dibs run of the same name") \
  ROW(UNSUPPORTED, 81, "the server, the dialect, the deployment or this build cannot do it") \
  ROW(NOT_EXECUTABLE, 126, "the command cannot be executed") \
  ROW(NOT_FOUND, 127, "the command was not found")

/* NOLINTNEXTLINE(bugprone-macro-parentheses): the value of an enumerator */
#define EXIT_CODE(NAME, number, meaning) CODE_##NAME = number,
enum exit_code { EXIT_CODES(EXIT_CODE) CODE_END = 128 };   /* from there: signals */

#endif
