/* SPDX-License-Identifier: MIT */
/* test/oracle/oracle.c - all checks in a row, their verdict and their report. */
#include "history_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 2, SHOWN_MAX = 64 };

struct entry { enum check check; const char *name, *promise; checker *run; };

static const struct entry entries[] = {
  { CHECK_WHOLE, "   whole", "-", check_whole },
  { CHECK_EXCLUSION, "C1 exclusion", "S1", check_exclusion },
  { CHECK_WITNESS, "C2 witness", "S1", check_witness },
  { CHECK_FENCE, "C3 fence order", "S2", check_fence },
  { CHECK_STORE, "C4 fenced store", "S2", check_store },
  { CHECK_PERMITS, "C5 permits", "S1'", check_permits },
  { CHECK_READERS, "C6 readers and writers", "S4", check_readers },
  { CHECK_ORDER, "C7 order of service", "L3", check_order },
  { CHECK_WAKE, "C8 wake-up", "L2", check_wake },
  { CHECK_LINEAR, "C9 linearizable", "S1", check_linear },
  { CHECK_LEAKS, "C10 leaks", "L8", check_leaks },
  { CHECK_SELF_FENCE, "C11 self-fence", "S7", check_self_fence },
  { CHECK_BOUNDED, "C12 bounded", "L7", check_bounded },
  { CHECK_VACUITY, "C13 vacuity", "-", check_vacuity },
};

enum { ENTRIES = sizeof(entries) / sizeof(entries[0]) };

const char *check_name(enum check check)
{
  for (size_t i = 0; i < ENTRIES; i++)
    if (entries[i].check == check)
      return entries[i].name + strspn(entries[i].name, " ");
  return "?";
}

void findings_add(struct findings *f, enum check check, const size_t *lines, size_t line_count,
                  const char *format, ...)
{
  struct finding *kept;
  va_list values;

  f->count++;
  /* Of each check the first few: one that finds thousands must not hide another. */
  if (++f->counts[check] > 4)
    return;
  for (size_t i = 0; i < FINDINGS_KEPT; i++) {
    kept = &f->kept[i];
    if (kept->text[0] != '\0')
      continue;
    kept->check = check;
    va_start(values, format);
    (void)vsnprintf(kept->text, sizeof(kept->text), format, values);
    va_end(values);
    for (size_t j = 0; j < line_count && kept->line_count < 8; j++)
      if (lines[j] != SIZE_MAX)
        kept->lines[kept->line_count++] = lines[j];
    return;
  }
}

const char *check_promise(enum check check)
{
  for (size_t i = 0; i < ENTRIES; i++)
    if (entries[i].check == check)
      return entries[i].promise;
  return "?";
}

const struct finding *findings_first(const struct findings *f, enum check check)
{
  for (size_t i = 0; i < FINDINGS_KEPT; i++)
    if (f->kept[i].text[0] != '\0' && f->kept[i].check == check)
      return &f->kept[i];
  return NULL;
}

int64_t finding_at_ns(const struct finding *one, const struct history *h)
{
  int64_t at = 0;

  for (size_t i = 0; i < one->line_count; i++) {
    const struct record *r = &h->records[one->lines[i]];

    if (r->op <= OP_TRY && r->at_ns > at)
      at = r->at_ns;
  }
  return at;
}

static bool is_overlap(enum check check)
{
  return check == CHECK_EXCLUSION || check == CHECK_WITNESS || check == CHECK_PERMITS ||
         check == CHECK_READERS || check == CHECK_LINEAR;
}

bool check_is_of_time(enum check check)
{
  return check == CHECK_WAKE || check == CHECK_BOUNDED || check == CHECK_VACUITY ||
         check == CHECK_WHOLE;
}

bool check_all(const struct history *h, const struct expectations *e, struct findings *f)
{
  bool is_good = true;

  for (size_t i = 0; i < ENTRIES; i++) {
    enum check check = entries[i].check;

    if ((e->without & CHECK_BIT(check)) != 0)
      continue;
    entries[i].run(h, e, f);
    if (f->counts[check] == 0)
      continue;
    if (is_overlap(check) && (e->expects_overlap || e->allows_overlap))
      continue;
    is_good = false;
    f->has_broken = f->has_broken || !check_is_of_time(check);
  }
  if (e->expects_overlap && f->counts[CHECK_EXCLUSION] + f->counts[CHECK_READERS] +
      f->counts[CHECK_PERMITS] == 0)
    is_good = false;
  return is_good;
}

/* ---- report ---- */

static int by_index(const void *one, const void *other)
{
  const size_t *a = one, *b = other;

  return *a < *b ? -1 : *a > *b;
}

/* The neighbours of record `at` in the file of its own process. */
static size_t add_context(const struct history *h, size_t at, size_t *shown, size_t count)
{
  const struct record *r = &h->records[at];

  for (int direction = -1; direction <= 1; direction += 2) {
    size_t i = at, found = 0;

    while (found < CONTEXT && count < SHOWN_MAX) {
      if ((direction < 0 && i == 0) || (direction > 0 && i + 1 >= h->count))
        break;
      i = direction < 0 ? i - 1 : i + 1;
      if (h->records[i].worker != r->worker || h->records[i].life != r->life)
        continue;
      shown[count++] = i;
      found++;
    }
  }
  return count;
}

static bool is_witness(const struct finding *one, size_t line)
{
  for (size_t i = 0; i < one->line_count; i++)
    if (one->lines[i] == line)
      return true;
  return false;
}

static void print_finding(const struct finding *one, const struct history *h,
                          const char *prefix)
{
  size_t shown[SHOWN_MAX], count = 0;
  char line[400];

  (void)printf("%s%s: %s\n", prefix, check_name(one->check), one->text);
  for (size_t i = 0; i < one->line_count; i++)
    shown[count++] = one->lines[i];
  for (size_t i = 0; i < one->line_count; i++)
    count = add_context(h, one->lines[i], shown, count);
  qsort(shown, count, sizeof(shown[0]), by_index);
  for (size_t i = 0; i < count; i++)
    if (i == 0 || shown[i] != shown[i - 1])
      (void)printf("%s  %c %s\n", prefix, is_witness(one, shown[i]) ? '>' : ' ',
                   history_line(h, shown[i], line, sizeof(line)));
}

void findings_print(const struct findings *f, const struct history *h, const char *prefix)
{
  for (size_t i = 0; i < FINDINGS_KEPT && f->kept[i].text[0] != '\0'; i++)
    print_finding(&f->kept[i], h, prefix);
}

void findings_table(const struct findings *f, const struct history *h, const char *prefix)
{
  (void)printf("%s%zu records, %zu asks, %zu grants, %zu faults\n", prefix, h->count,
               h->ask_count, h->grant_count, h->fault_count);
  for (size_t i = 0; i < ENTRIES; i++)
    (void)printf("%s%-22s looked at %8zu, found %zu%s%s\n", prefix, entries[i].name,
                 f->examined[entries[i].check], f->counts[entries[i].check],
                 f->notes[entries[i].check][0] == '\0' ? "" : "; ",
                 f->notes[entries[i].check]);
}
