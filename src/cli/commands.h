/* SPDX-License-Identifier: MIT */
/* cli/commands.h - what the subcommands do: each returns an exit code. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/cli.h"

int command_run(const arguments *a);      /* run.c */
int command_acquire(const arguments *a);  /* acquire.c */
int command_renew(const arguments *a);    /* token.c */
int command_release(const arguments *a);  /* token.c */
int command_sem(const arguments *a);      /* sem.c */
int command_rate(const arguments *a);     /* rate.c */
int command_latch(const arguments *a);    /* latch.c */
int latch_wait(const arguments *a);       /* latch.c: dibs wait --zero too */
int command_barrier(const arguments *a);  /* barrier.c */
int command_elect(const arguments *a);    /* elect.c */
int command_observe(const arguments *a);  /* observe.c: dibs elect --observe */
int command_status(const arguments *a);   /* status.c */
int command_who(const arguments *a);      /* who.c */
int command_wait(const arguments *a);     /* wait.c */
int command_ping(const arguments *a);     /* ping.c */
int command_acl(const arguments *a);      /* acl.c */
int command_doctor(const arguments *a);   /* doctor.c */
int command_local(const arguments *a);    /* local.c */
int command_sandbox(const arguments *a);  /* local.c */

#endif
