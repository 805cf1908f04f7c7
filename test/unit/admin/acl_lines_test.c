/* SPDX-License-Identifier: MIT */
/* Unit: admin/acl - the lines for all uses, patterns and dialects, byte for byte, as a digest of
 * each dialect. `acl_lines_test --print` prints them, to compare two builds with diff. After an
 * intended change, the digests that the failed test shows are the new ones. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <dibs/acl.h>

#include "base/base.h"
#include "base/dialects.h"
#include "base/hash.h"

enum { USES = 0x400, PATTERN_SETS = 0x20 };
enum { LATCHES = 1, GUARDED = 2, LIMITERS = 4, DATA = 8, LOCKS = 16 };

/* What the lines of one dialect have in common. */
typedef struct line_set {
  dibs_dialect dialect;
  bool is_printed;
  uint64_t digest;
} line_set;

static void line_add(line_set *s, const char *glob, const dibs_acl_options *o)
{
  char line[DIBS_ACL_LINE_SIZE];
  dibs_error error = DIBS_ERROR_INIT;
  dibs_status status = dibs_acl_line(NULL, o, line, sizeof(line), &error);
  const char *shown = status == DIBS_OK ? line : error.text;

  if (s->is_printed)
    printf("%d %x %s: %s\n", (int)s->dialect, (unsigned)o->uses, glob, shown);
  s->digest = fnv1a(s->digest, shown, strlen(shown) + 1);
}

static void set_add(line_set *s, const char *glob, const char *prefix, uint32_t uses, int set)
{
  dibs_acl_options o = DIBS_ACL_OPTIONS_INIT;

  o.uses = uses;
  o.prefix = prefix;
  o.dialect = s->dialect;
  o.registry = "regi[s]try";
  o.latches = (set & LATCHES) != 0 ? glob : NULL;
  o.guarded = (set & GUARDED) != 0 ? glob : NULL;
  o.limiters = (set & LIMITERS) != 0 ? glob : NULL;
  o.data = (set & DATA) != 0 ? glob : NULL;
  o.locks = (set & LOCKS) != 0 ? glob : NULL;
  line_add(s, glob, &o);
}

static line_set lines_of(dibs_dialect dialect, bool is_printed)
{
  line_set s = { dialect, is_printed, FNV1A_START };

  for (int set = 0; set < PATTERN_SETS; set++) {
    for (uint32_t uses = 0; uses < USES; uses++)
      set_add(&s, "job-*", NULL, uses, set);
    set_add(&s, "a{b}*", "a*b", 0, set);
    set_add(&s, "*", "a*b", 0, set);
  }
  for (int set = 1; set < PATTERN_SETS; set *= 2) {
    set_add(&s, "", NULL, 0, set);
    set_add(&s, "with blank", NULL, 0, set);
  }
  return s;
}

TEST(lines_change_only_on_purpose)
{
  static const struct {
    dibs_dialect dialect;
    uint64_t digest;
  } golden[] = {
    { DIBS_DIALECT_NATIVE, UINT64_C(0x9d9773912734ccf7) },
    { DIBS_DIALECT_REDISSON, UINT64_C(0xc3d8e9a2eb5b33b7) },
    { DIBS_DIALECT_SPRING, UINT64_C(0x2d064eff93c99398) },
    { DIBS_DIALECT_PLAIN, UINT64_C(0xaa2900bc562adae3) },
  };
  bool has_changed = false;

  _Static_assert(sizeof(golden) / sizeof(golden[0]) == DIALECT_COUNT, "a line of each dialect");
  for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
    line_set s = lines_of(golden[i].dialect, false);

    if (s.digest != golden[i].digest) {
      print_error("dialect %d: 0x%llx\n", (int)s.dialect, (unsigned long long)s.digest);
      has_changed = true;
    }
  }
  assert_false(has_changed);
}

TEST(a_doctor_may_read_the_state_of_a_cluster)
{
  dibs_acl_options o = DIBS_ACL_OPTIONS_INIT;
  char line[DIBS_ACL_LINE_SIZE];

  o.uses = DIBS_ACL_DOCTOR | DIBS_ACL_CLUSTER;
  assert_int_equal(dibs_acl_line(NULL, &o, line, sizeof(line), NULL), DIBS_OK);
  assert_non_null(strstr(line, " +cluster|info"));
}

TEST(options_that_end_inside_of_a_pointer_are_refused)
{
  dibs_acl_options o = DIBS_ACL_OPTIONS_INIT;
  char line[DIBS_ACL_LINE_SIZE];

  o.user = "worker";
  o.size = offsetof(dibs_acl_options, user) + 3;
  assert_int_equal(dibs_acl_line(NULL, &o, line, sizeof(line), NULL), DIBS_ERR_ARGUMENT);
}

int main(int argc, char **argv)
{
  if (argc > 1 && strcmp(argv[1], "--print") == 0) {
    for (int dialect = DIBS_DIALECT_DEFAULT; dialect <= DIALECT_COUNT; dialect++)
      (void)lines_of((dibs_dialect)dialect, true);
    return 0;
  }
  return tests_run(NULL, NULL, NULL, NULL);
}
