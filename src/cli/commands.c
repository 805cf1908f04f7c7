/* SPDX-License-Identifier: MIT */
/* cli/commands.c - the table of subcommands. */
#include "cli/commands.h"

#include <stddef.h>

#include "cli/cli.h"
#include "cli/help.h"
#include "cli/options.h"

#define SET(...) ((const option_row *const[]){ __VA_ARGS__, NULL })

const command commands[] = {
  { .name = "run", .alias = "exec", .operands = "NAME [--] CMD [ARG...]",
    .summary = "hold a lock while a command runs",
    .options = SET(options_kind, options_taking, options_run, options_common,
                   options_connection),
    .operands_min = 1, .operands_max = -1,
    .examples = { "dibs run -w 10s deploy -- make deploy      # wait at most 10 s, then exit 75",
                  "dibs run -n --skip-ok --min-hold 40s mail -- ./digest.sh   # on thirty hosts",
                  "dibs run -j 4 render -- ffmpeg -i in.mov out.mp4   # at most 4 anywhere",
                  "dibs run --multi alice,bob -- ./transfer.sh   # both, or wait for both" },
    .notes =
        "Exit: the command's own code, 128+N after signal N; 75 busy, 79 the lock was lost\n"
        "and the command stopped, 69 no server, 78 refused, 126 and 127 no such command.",
    .run = command_run },
  { .name = "acquire", .operands = "NAME", .summary = "take a lock and print a token for it",
    .options = SET(options_kind, options_taking, options_acquire, options_common,
                   options_connection),
    .operands_min = 1, .operands_max = 1,
    .examples = { "token=$(dibs acquire -w 10s --for-pid $$ nightly) || exit",
                  "eval \"$(dibs acquire --sh --for-pid $$ nightly)\"; echo $DIBS_FENCE",
                  "dibs acquire -n -t 5m --no-renew cooldown:mail   # one mail in 5 minutes",
                  "dibs release \"$token\"" },
    .run = command_acquire },
  { .name = "renew", .operands = "TOKEN", .summary = "make a lease last longer",
    .options = SET(options_renew, options_common, options_connection),
    .operands_min = 1, .operands_max = 1,
    .examples = { "dibs renew \"$token\"", "dibs renew -t 5m \"$token\"",
                  "dibs renew -v \"$token\"            # prints the milliseconds left",
                  "dibs renew \"$DIBS_TOKEN\" || exit   # inside dibs run; 79: it is lost" },
    .run = command_renew },
  { .name = "release", .operands = "TOKEN | --force NAME",
    .summary = "give a lock back, or break somebody else's",
    .options = SET(options_release, options_common, options_connection),
    .operands_min = 1, .operands_max = 1,
    .examples = { "dibs release \"$token\" || echo 'was lost meanwhile'",
                  "dibs release --force nightly",
                  "dibs release --force nightly --yes -m 'web-3 is gone'",
                  "dibs release --force nightly --yes --fence 1805233418240000" },
    .run = command_release },
  { .name = "sem", .operands = "VERB [ARGUMENT...]",
    .summary = "semaphores: set up, take and return permits",
    .options = SET(options_permits, options_taking, options_acquire, options_common,
                   options_connection),
    .operands_min = 1, .operands_max = 3,
    .operand_words = "init resize acquire drain release renew wait ls rm",
    .notes = "  init NAME N       let there be N permits; prints how many are free\n"
             "  resize NAME N     another number, also while in use\n"
             "  acquire NAME      take permits, print a token; as dibs acquire\n"
             "  drain NAME        take all that are free, print a token\n"
             "  release TOKEN     give them back; 79: they were lost meanwhile\n"
             "  renew TOKEN       make the lease last longer\n"
             "  wait NAME         until all permits are back, as sem --wait; -w limits it\n"
             "  ls [PATTERN]      show semaphores\n"
             "  rm NAME           forget it; 75: somebody uses it",
    .examples = { "dibs sem init render 4", "dibs run -j 4 render -- ffmpeg -i in.mov out.mp4",
                  "token=$(dibs sem acquire --take 2 --for-pid $$ render) || exit",
                  "dibs sem resize render 0; dibs sem wait render   # until all are done" },
    .run = command_sem },
  { .name = "rate", .operands = "VERB NAME [ARGUMENT...]",
    .summary = "at most so many in so long, also with Java",
    .options = SET(options_rate, options_common, options_connection),
    .operands_min = 1, .operands_max = 1000, .operand_words = "set take show rm",
    .notes = "  set NAME N TIME   N in any TIME; what was taken counts on\n"
             "  take NAME [K]     take K (1), when there is room for them; 75: not within -w\n"
             "  show NAME...      how many are free now, of how many\n"
             "  rm NAME           forget it",
    .examples = { "dibs rate set partner-api 10 1s",
                  "dibs rate take partner-api && curl https://partner.example/",
                  "dibs rate take -n partner-api || echo later" },
    .run = command_rate },
  { .name = "latch", .operands = "VERB NAME [NUMBER]",
    .summary = "wait until so many things have happened",
    .options = SET(options_latch, options_common, options_connection),
    .operands_min = 1, .operands_max = 1000, .operand_words = "init down wait ls rm",
    .notes = "  init NAME N       arm it; 75: it is armed already\n"
             "  down NAME [K]     count down by K (1); prints what is left\n"
             "  wait NAME         until it is at zero, or not armed; 75: not within -w\n"
             "  ls [NAME...]      show what is left; without names those that left a trace\n"
             "  rm NAME           disarm it; who waits goes on waiting",
    .examples = { "dibs latch init release-42 30", "dibs latch down --id \"$HOSTNAME\" release-42",
                  "dibs latch wait -w 10m release-42 && ./switch-over" },
    .run = command_latch },
  { .name = "barrier", .operands = "VERB NAME",
    .summary = "let programs wait for each other",
    .options = SET(options_barrier, options_common, options_connection),
    .operands_min = 1, .operands_max = 1000, .operand_words = "wait reset ls",
    .notes = "  wait -n N NAME    until N have come; -v prints who came when, from 0\n"
             "  reset NAME        mend a broken one, break a meeting under way\n"
             "  ls [NAME...]      show how many have come\n\n"
             "Exit of wait: 0 all came, 75 not within -w, 1 somebody else gave up or died.",
    .examples = { "dibs barrier wait -n 3 -w 5m phase && ./phase-two",
                  "dibs barrier ls phase", "dibs barrier reset phase" },
    .run = command_barrier },
  { .name = "elect", .operands = "NAME [-- CMD [ARG...]]",
    .summary = "lead while a command runs, or see who leads",
    .options = SET(options_elect, options_taking, options_run, options_common,
                   options_connection),
    .operands_min = 1, .operands_max = 1, .has_inner = true,
    .notes =
        "Exit: the command's own code; 79 leading was lost and the command stopped; 0 without\n"
        "a command, after INT or TERM; 1 with --observe -n when nobody leads.",
    .examples = { "dibs elect billing --value \"$HOSTNAME\" --loop -- billing-daemon",
                  "dibs elect vip --on-elected ./take-address --on-deposed ./drop-address",
                  "dibs elect billing --observe", "dibs elect billing --observe -n" },
    .run = command_elect },
  { .name = "status", .alias = "ls", .operands = "[PATTERN]",
    .summary = "show who holds what, and who waits",
    .options = SET(options_status, options_common, options_connection),
    .operands_min = 0, .operands_max = 1,
    .examples = { "dibs status --held 'orders:*'", "dibs status --watch --sort wait",
                  "dibs status --graph        # who waits for whom",
                  "dibs status --json | jq -r 'select(.state == \"held\") | .name'" },
    .run = command_status },
  { .name = "who", .operands = "NAME", .summary = "show who holds a name, and who waits",
    .options = SET(options_common, options_connection),
    .operands_min = 1, .operands_max = 1,
    .examples = { "dibs who nightly", "dibs who nightly >/dev/null && echo held",
                  "dibs who --json nightly | jq .holder.host",
                  "dibs who -u unix:///run/redis.sock nightly" },
    .notes = "Exit: 0 held, 1 free.", .run = command_who },
  { .name = "wait", .operands = "NAME",
    .summary = "wait until a name is free, held, led or at zero",
    .options = SET(options_wait, options_common, options_connection),
    .operands_min = 1, .operands_max = 1,
    .examples = { "dibs wait -w 30s nightly || echo 'still running'",
                  "dibs wait render           # until all jobs of the semaphore are done",
                  "dibs wait --zero release-42", "dibs wait -w 0 nightly   # only ask" },
    .run = command_wait },
  { .name = "ping", .operands = "", .summary = "measure round trips to the server",
    .options = SET(options_ping, options_common, options_connection),
    .examples = { "dibs ping", "dibs ping -c 3",
                  "dibs ping -i 200ms -u rediss://cache.example.org",
                  "dibs ping -q -c 1 && echo up" },
    .run = command_ping },
  { .name = "doctor", .operands = "",
    .summary = "check whether the servers are set up as locks need it",
    .options = SET(options_doctor, options_common, options_connection),
    .examples = { "dibs doctor", "dibs doctor --strict || exit   # before a deployment",
                  "dibs doctor --json | jq -r 'select(.grade == \"fail\") | .check'",
                  "dibs doctor -u redis+sentinel://s1,s2,s3/main" },
    .notes = "Exit: 0 nothing failed, 1 something did (with --strict: or was warned of), 2 nothing "
             "could\nbe checked.",
    .run = command_doctor },
  { .name = "acl", .operands = "[USER]",
    .summary = "print the ACL line of a user who may do this and no more",
    .options = SET(options_acl, options_common, options_connection), .operands_max = 1,
    .examples = { "dibs acl worker | redis-cli -u \"$ADMIN_URL\"   # put a password in first",
                  "dibs acl --askpass worker | redis-cli -u \"$ADMIN_URL\"",
                  "dibs acl --mode cluster,quarantine --prefix shop worker",
                  "dibs acl --functions | redis-cli -x FUNCTION LOAD REPLACE" },
    .notes = "Modes: lock, replicated, sentinel, cluster, quorum; functions (FCALL instead of\n"
             "EVAL), poll (no pub/sub), quarantine, replicas (min_replicas), fsync (WAITAOF),\n"
             "doctor (may read settings), 6.2 (a server before 7.0).",
    .run = command_acl },
  { .name = "local", .operands = "start | stop | status | url",
    .summary = "the private server of this machine",
    .options = SET(options_local, options_common), .operands_min = 1, .operands_max = 1,
    .operand_words = "start stop status url",
    .examples = { "dibs local start", "dibs local start --idle 10m",
                  "redis-cli -u \"$(dibs local url)\"", "dibs local stop" },
    .run = command_local },
  { .name = "sandbox", .operands = "[--] CMD [ARG...]",
    .summary = "run a command with a throw-away server",
    .options = SET(options_common), .operands_min = 1, .operands_max = -1,
    .examples = { "dibs sandbox -- make check", "dibs sandbox -- sh -c 'dibs run a -- true'",
                  "dibs sandbox -- bash", "dibs sandbox -- sh -c 'echo $DIBS_URL'" },
    .run = command_sandbox },
  { .name = "completion", .operands = "bash | zsh",
    .summary = "print completions for a shell", .options = SET(options_common),
    .operands_min = 1, .operands_max = 1, .operand_words = "bash zsh",
    .examples = { "eval \"$(dibs completion bash)\"",
                  "dibs completion bash >/etc/bash_completion.d/dibs",
                  "dibs completion zsh >\"${fpath[1]}/_dibs\"" },
    .run = command_completion },
  { .name = "help", .operands = "[COMMAND]", .summary = "show help",
    .options = SET(options_common), .operands_max = 1,
    .examples = { "dibs help", "dibs help run", "man dibs-run", "man dibs-guarantees" },
    .run = command_help },
  { .name = NULL },
};
