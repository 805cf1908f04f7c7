/* SPDX-License-Identifier: MIT */
/* Unit: resp/resp_fault.c - error replies of real servers, and what they mean. */
#include "tests.h"
#include "resp/resp.h"

#include <stdint.h>
#include <string.h>

#define SHA "2067d915024a3e1657c4169c84f809f8ebdcff79"

typedef struct known { const char *words; resp_fault fault; } known;

static void check(const known *all, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    resp_fault fault = resp_fault_of(all[i].words, strlen(all[i].words));
    if (fault != all[i].fault)
      fail_msg("%d instead of %d: %s", (int)fault, (int)all[i].fault, all[i].words);
  }
}

TEST(the_first_word_says_what_it_is)
{
  static const known all[] = {
    { "NOSCRIPT No matching script. Please use EVAL.", RESP_FAULT_NO_SCRIPT },
    { "LOADING Redis is loading the dataset in memory", RESP_FAULT_LATER },
    { "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
      RESP_FAULT_LATER },
    { "TRYAGAIN Multiple keys request during rehashing of slot", RESP_FAULT_LATER },
    { "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
      RESP_FAULT_NO_PRIMARY },
    { "CLUSTERDOWN The cluster is down", RESP_FAULT_NO_SLOT },
    { "MOVED 3999 127.0.0.1:6381", RESP_FAULT_MOVED },
    { "ASK 3999 127.0.0.1:6381", RESP_FAULT_ASK },
    { "READONLY You can't write against a read only replica.", RESP_FAULT_READ_ONLY },
    { "MISCONF Redis is configured to save RDB snapshots", RESP_FAULT_REFUSED },
    { "OOM command not allowed when used memory > 'maxmemory'.", RESP_FAULT_REFUSED },
    { "NOREPLICAS Not enough good replicas to write.", RESP_FAULT_NO_REPLICAS },
    { "NOAUTH Authentication required.", RESP_FAULT_AUTH },
    { "WRONGPASS invalid username-password pair or user is disabled.", RESP_FAULT_AUTH },
    { "NOPERM this user has no permissions to run the 'eval' command", RESP_FAULT_DENIED },
    { "DENIED Redis is running in protected mode", RESP_FAULT_DENIED },
    { "WRONGTYPE Operation against a key holding the wrong kind of value",
      RESP_FAULT_WRONG_TYPE },
    { "ERR unknown command 'EVALSHA'", RESP_FAULT_NO_COMMAND },
    { "ERR invalid password", RESP_FAULT_AUTH },
    { "ERR Function not found", RESP_FAULT_NO_FUNCTION },
    { "ERR max number of clients reached", RESP_FAULT_LATER },
    { "ERR max number of clients + cluster connections reached", RESP_FAULT_LATER },
    { "BUSYKEY Target key name already exists.", RESP_FAULT_OTHER },
    { "ERR no key 'ERR unknown command'", RESP_FAULT_OTHER },
    { "LOADINGS", RESP_FAULT_OTHER },
    { "", RESP_FAULT_OTHER },
    { "-", RESP_FAULT_OTHER },
    { "OOM", RESP_FAULT_REFUSED },
  };

  check(all, sizeof(all) / sizeof(all[0]));
}

TEST(errors_inside_scripts_are_seen_through)
{
  static const known all[] = {
    { "WRONGTYPE Operation against a key holding the wrong kind of value script: " SHA
      ", on @user_script:12.", RESP_FAULT_WRONG_TYPE },
    { "ERR Error running script (call to f_" SHA "): @user_script:12: WRONGTYPE Operation "
      "against a key holding the wrong kind of value", RESP_FAULT_WRONG_TYPE },
    { "ERR Error running script (call to f_" SHA "): @user_script:1: -OOM command not "
      "allowed when used memory > 'maxmemory'.", RESP_FAULT_REFUSED },
    { "ERR Error running script (call to f_" SHA "): @user_script:1: @user_script: 1: "
      "-READONLY You can't write against a read only replica.", RESP_FAULT_READ_ONLY },
    { "ERR user_script:12: -MISCONF Errors writing to the AOF file: No space script: " SHA
      ", on @user_script:12.", RESP_FAULT_REFUSED },
    { "ERR Error running script (call to f_" SHA "): @user_script:1: The user executing "
      "the script can't run this command or subcommand", RESP_FAULT_DENIED },
    { "ERR The user executing the script can't run this command or subcommand script: " SHA
      ", on @user_script:1.", RESP_FAULT_DENIED },
    { "ERR The user executing the script can't publish to the channel mentioned in the "
      "command script: " SHA ", on @user_script:1.", RESP_FAULT_DENIED },
    { "NOREPLICAS Not enough good replicas to write. script: " SHA ", on @user_script:1.",
      RESP_FAULT_NO_REPLICAS },
    { "ERR ACL failure in script: The user executing the script can't access at least one "
      "of the keys mentioned in the command arguments script: " SHA, RESP_FAULT_DENIED },
    { "NOPERM ACL failure in script: User alice has no permissions to run the 'set' command "
      "script: " SHA ", on @user_script:1.", RESP_FAULT_DENIED },
    { "ERR ACL failure in script: User alice has no permissions to run the 'hset' command "
      "script: " SHA ", on @user_script:1.", RESP_FAULT_DENIED },
    { "ERR ACL failure in script: User alice has no permissions to run the 'hset' command",
      RESP_FAULT_DENIED },
    { "ERR ACL failure in script: No permissions to access a key script: " SHA
      ", on @user_script:1.", RESP_FAULT_DENIED },
    { "ERR ACL failure in script: User BUSY has no permissions to run the 'hset' command "
      "script: " SHA ", on @user_script:1.", RESP_FAULT_DENIED },
    { "ERR Script attempted to execute a write command while the cluster is down and readonly "
      "script: " SHA ", on @user_script:1.", RESP_FAULT_NO_SLOT },
    { "ERR Error running script (call to f_" SHA "): @user_script:1: @user_script: 1: Lua script "
      "attempted to execute a write command while the cluster is down and readonly",
      RESP_FAULT_NO_SLOT },
    { "ERR user_script:3: attempt to index a nil value script: " SHA ", on @user_script:3.",
      RESP_FAULT_OTHER },
  };

  check(all, sizeof(all) / sizeof(all[0]));
}

TEST(known_words_later_in_other_errors_mean_nothing)
{
  static const known all[] = {
    { "ERR unknown command `READONLY`, with args beginning with: ", RESP_FAULT_NO_COMMAND },
    { "ERR OOM LOADING", RESP_FAULT_OTHER },
  };

  check(all, sizeof(all) / sizeof(all[0]));
}

TEST(each_fault_has_its_status)
{
  assert_int_equal(resp_fault_status(RESP_FAULT_NO_SCRIPT), DIBS_ERR_SERVER);
  assert_int_equal(resp_fault_status(RESP_FAULT_LATER), DIBS_ERR_UNREACHABLE);
  assert_int_equal(resp_fault_status(RESP_FAULT_READ_ONLY), DIBS_ERR_READ_ONLY);
  assert_int_equal(resp_fault_status(RESP_FAULT_REFUSED), DIBS_ERR_REFUSED);
  assert_int_equal(resp_fault_status(RESP_FAULT_NO_COMMAND), DIBS_ERR_UNSUPPORTED);
  assert_int_equal(resp_fault_status(RESP_FAULT_NO_FUNCTION), DIBS_ERR_REFUSED);
  assert_int_equal(resp_fault_status(RESP_FAULT_AUTH), DIBS_ERR_AUTH);
  assert_int_equal(resp_fault_status(RESP_FAULT_DENIED), DIBS_ERR_DENIED);
  assert_int_equal(resp_fault_status(RESP_FAULT_WRONG_TYPE), DIBS_ERR_WRONG_TYPE);
  assert_int_equal(resp_fault_status(RESP_FAULT_OTHER), DIBS_ERR_SERVER);
}

static const char *advice_about(const char *error)
{
  return resp_fault_advice(error, strlen(error));
}

TEST(a_missing_function_names_the_command_that_prints_it)
{
  assert_non_null(strstr(advice_about("ERR Function not found"), "dibs acl --functions"));
  assert_null(advice_about("ERR no such key"));
}

TEST(only_a_missing_evalsha_is_replaced_by_functions)
{
  assert_non_null(strstr(advice_about("ERR unknown command 'EVALSHA', with args beginning with: "
                                      "'538c' '1' 'dibs:m:{x}' "), "functions=yes"));
  assert_non_null(strstr(advice_about("ERR unknown command `EVALSHA`, with args"),
                         "functions=yes"));
  assert_null(advice_about("ERR unknown command 'WAITAOF', with args beginning with: 'EVALSHA' "));
  assert_null(advice_about("ERR unknown command"));
}

static const char *shown(const char *error)
{
  static char words[256];
  text out = text_over(words, sizeof(words));

  resp_fault_add(error, strlen(error), &out);
  return words;
}

TEST(an_error_is_shown_with_what_to_do)
{
  assert_string_equal(shown("NOAUTH Authentication required."),
                      "NOAUTH Authentication required. (check user and password: in the URL, "
                      "DIBS_PASSWORD or the config file)");
  assert_non_null(strstr(shown("WRONGPASS invalid username-password pair or user is disabled."),
                         "disabled. (check user and password"));
  assert_string_equal(shown("NOPERM no"),
                      "NOPERM no (`dibs acl` prints the rights that a user needs; options add "
                      "those for latches, limiters, data)");
  assert_non_null(strstr(shown("ERR The user executing the script can't run this command or "
                               "subcommand script: " SHA ", on @user_script:1."), "`dibs acl`"));
  assert_non_null(strstr(shown("OOM command not allowed when used memory > 'maxmemory'. script: "
                               SHA ", on @user_script:1."), "1. (raise maxmemory, or remove"));
  assert_string_equal(shown("ERR Function not found"), advice_about("ERR Function not found"));
}

TEST(or_as_it_is_where_that_says_it)
{
  static const char *const plain[] = {
    "DENIED Redis is running in protected mode because", "MISCONF Please check the Redis logs",
    "NOREPLICAS Not enough good replicas to write.", "ERR value is not an integer",
  };

  for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
    assert_string_equal(shown(plain[i]), plain[i]);
  assert_string_equal(shown("ERR a\r\n\033b"), "ERR a???b");
}

RUN_TESTS(NULL, NULL)
