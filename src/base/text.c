/* SPDX-License-Identifier: MIT */
/* base/text.c - writes and strictly reads short texts, without stdio. */
#include "base/base.h"

#include <assert.h>
#include <string.h>

#define QUOTED_BYTES_MAX 64

text text_over(char *bytes, size_t size)
{
  assert(size >= 1);
  bytes[0] = 0;
  return (text){ .at = bytes, .size = size };
}

void text_add_bytes(text *t, const void *bytes, size_t size)
{
  size_t room = t->size - 1 - t->used;

  if (size > room) {
    size = room;
    t->is_cut = true;
  }
  if (size > 0)
    memcpy(t->at + t->used, bytes, size);
  t->used += size;
  t->at[t->used] = 0;
}

void text_add_int(text *t, int64_t value)
{
  if (value >= 0) {
    text_add_uint(t, (uint64_t)value);
    return;
  }
  text_add(t, "-");
  text_add_uint(t, (uint64_t)0 - (uint64_t)value);
}

static size_t digit_count(uint64_t value)
{
  static const uint64_t powers[] = {
    0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000,
    100000000000, 1000000000000, 10000000000000, 100000000000000, 1000000000000000,
    10000000000000000, 100000000000000000, 1000000000000000000, 10000000000000000000u,
  };
  /* 1233 / 4096 is the logarithm of 2, closely enough for 64 bits. */
  unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1), least = bits * 1233 >> 12;

  return least + (value >= powers[least]);
}

/* Most numbers in requests have many digits: two of them for each division. */
size_t uint_digits(char ret_digits[UINT_DIGITS], uint64_t value)
{
  static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                              "25262728293031323334353637383940414243444546474849"
                              "50515253545556575859606162636465666768697071727374"
                              "75767778798081828384858687888990919293949596979899";
  size_t count = digit_count(value), left = count;

  for (; left > 2; value /= 100) {
    left -= 2;
    memcpy(ret_digits + left, pairs + 2 * (value % 100), 2);
  }
  if (left == 2)
    memcpy(ret_digits, pairs + 2 * value, 2);
  else
    ret_digits[0] = (char)('0' + value);
  return count;
}

void text_add_uint(text *t, uint64_t value)
{
  char digits[UINT_DIGITS];

  if (t->size - t->used > UINT_DIGITS) {
    t->used += uint_digits(t->at + t->used, value);
    t->at[t->used] = 0;
  } else {
    text_add_bytes(t, digits, uint_digits(digits, value));
  }
}

/* One conversion; `size`: the letters before `kind`, such as "l". */
static void value_add(text *t, char kind, size_t size, bool is_size, va_list *values)
{
  if (kind == 's')
    text_add(t, va_arg(*values, const char *));
  else if (is_size)
    text_add_uint(t, va_arg(*values, size_t));
  else if (kind == 'u')
    text_add_uint(t, size == 0   ? va_arg(*values, unsigned)
                     : size == 1 ? va_arg(*values, unsigned long)
                                 : va_arg(*values, unsigned long long));
  else if (kind == 'd')
    text_add_int(t, size == 0   ? va_arg(*values, int)
                    : size == 1 ? va_arg(*values, long) : va_arg(*values, long long));
  else
    assert(false && "a conversion that text_format() does not know");
}

void text_format_list(text *t, const char *format, va_list values)
{
  va_list rest;

  va_copy(rest, values);
  for (const char *at = format; *at != 0;) {
    size_t plain = strcspn(at, "%"), size;

    text_add_bytes(t, at, plain);
    at += plain;
    if (*at == 0)
      break;
    size = strspn(at + 1, "lz");
    value_add(t, at[1 + size], size, at[1] == 'z', &rest);
    at += size + 2;
  }
  va_end(rest);
}

void text_format(text *t, const char *format, ...)
{
  va_list values;

  va_start(values, format);
  text_format_list(t, format, values);
  va_end(values);
}

/* Returns the size. */
static size_t escape(unsigned char c, char ret_escaped[4])
{
  static const char hex[] = "0123456789abcdef";
  const char coded[4] = { '\\', 'x', hex[c >> 4], hex[c & 15] };

  memcpy(ret_escaped, coded, sizeof(coded));
  if (c < 0x20 || c >= 0x7f)
    return 4;
  ret_escaped[c == '"' || c == '\\' ? 1 : 0] = (char)c;
  return c == '"' || c == '\\' ? 2 : 1;
}

void text_add_escaped(text *t, const void *bytes, size_t size)
{
  const unsigned char *in = bytes;
  char escaped[4];

  for (size_t i = 0; i < size && !t->is_cut; i++) {
    size_t used = escape(in[i], escaped);

    if (used > t->size - 1 - t->used)
      t->is_cut = true;
    else
      text_add_bytes(t, escaped, used);
  }
}

void text_add_quoted(text *t, const void *bytes, size_t size)
{
  size_t shown = size < QUOTED_BYTES_MAX ? size : QUOTED_BYTES_MAX;

  text_add(t, "\"");
  text_add_escaped(t, bytes, shown);
  text_add(t, shown < size ? "\"..." : "\"");
}

bool text_to_uint(const char *bytes, size_t size, uint64_t *ret_value)
{
  uint64_t value = 0;

  if (size == 0)
    return false;
  for (size_t i = 0; i < size; i++) {
    uint64_t digit;
    if (bytes[i] < '0' || bytes[i] > '9')
      return false;
    digit = (uint64_t)(bytes[i] - '0');
    if (value > (UINT64_MAX - digit) / 10)
      return false;
    value = value * 10 + digit;
  }
  *ret_value = value;
  return true;
}

typedef struct unit { const char *name; uint64_t ms; } unit;

/* Largest first: a duration has its units in this order, each at most once. */
static const unit units[] = {
  { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 },
};
#define UNIT_COUNT (sizeof(units) / sizeof(units[0]))
#define UNIT_SECONDS 3

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Reads "12" or "1.5" at *at; the fraction as `*ret_part` of `*ret_scale`. */
static bool number_read(const char **at, uint64_t *ret_whole, uint64_t *ret_part,
                        uint64_t *ret_scale)
{
  const char *p = *at;
  uint64_t part = 0;
  uint64_t scale = 1;

  while (is_digit(*p))
    p++;
  if (!text_to_uint(*at, (size_t)(p - *at), ret_whole) || *ret_whole > INT32_MAX)
    return false;
  if (*p == '.') {
    p++;
    if (!is_digit(*p))
      return false;
    for (; is_digit(*p); p++) {
      if (scale >= 1000000000)
        return false;
      part = part * 10 + (uint64_t)(*p - '0');
      scale *= 10;
    }
  }
  *ret_part = part;
  *ret_scale = scale;
  *at = p;
  return true;
}

/* The unit at *at, from index `first` on; UNIT_COUNT: unknown. */
static size_t unit_read(const char **at, size_t first)
{
  size_t size = 0;

  while ((*at)[size] >= 'a' && (*at)[size] <= 'z')
    size++;
  for (size_t i = first; i < UNIT_COUNT; i++) {
    if (strlen(units[i].name) == size && memcmp(units[i].name, *at, size) == 0) {
      *at += size;
      return i;
    }
  }
  return UNIT_COUNT;
}

bool text_to_ms(const char *words, int32_t *ret_ms)
{
  const char *at = words;
  size_t first = 0;
  uint64_t total = 0;

  if (*at == 0)
    return false;
  while (*at != 0) {
    uint64_t whole, part, scale;
    size_t place;

    if (!number_read(&at, &whole, &part, &scale))
      return false;
    /* Seconds without a unit must be alone: "1h30" is probably a mistake. */
    if (*at == 0 && first == 0)
      place = UNIT_SECONDS;
    else
      place = unit_read(&at, first);
    if (place == UNIT_COUNT)
      return false;
    /* A fraction of a millisecond must not silently become 0. */
    if (part * units[place].ms % scale != 0)
      return false;
    total += whole * units[place].ms + part * units[place].ms / scale;
    if (total > INT32_MAX)
      return false;
    first = place + 1;
  }
  *ret_ms = (int32_t)total;
  return true;
}

static void base64_16(const char alphabet[65], const uint8_t bytes[16], char ret_text[23])
{
  unsigned int bits = 0;
  int count = 0;
  size_t used = 0;

  for (size_t i = 0; i < 16; i++) {
    bits = (bits << 8 | bytes[i]) & 0xffff;
    count += 8;
    while (count >= 6) {
      count -= 6;
      ret_text[used++] = alphabet[bits >> count & 63];
    }
  }
  ret_text[used++] = alphabet[bits << (6 - count) & 63];
  ret_text[used] = 0;
  assert(used == 22);
}

#define LETTERS_AND_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

void text_base64url_16(const uint8_t bytes[16], char ret_text[23])
{
  base64_16(LETTERS_AND_DIGITS "-_", bytes, ret_text);
}

static int base64url_value(char c)
{
  static const char base64url[] = LETTERS_AND_DIGITS "-_";
  const char *found = c != 0 ? strchr(base64url, c) : NULL;

  return found == NULL ? -1 : (int)(found - base64url);
}

bool text_base64url_16_read(const char words[22], uint8_t ret_bytes[16])
{
  unsigned int bits = 0;
  int count = 0;
  size_t used = 0;

  for (size_t i = 0; i < 22; i++) {
    int value = base64url_value(words[i]);

    if (value < 0)
      return false;
    bits = (bits << 6 | (unsigned int)value) & 0xffff;
    count += 6;
    if (count >= 8 && used < 16) {
      count -= 8;
      ret_bytes[used++] = (uint8_t)(bits >> count & 0xff);
    }
  }
  return true;
}

void text_base64_16(const uint8_t bytes[16], char ret_text[23])
{
  base64_16(LETTERS_AND_DIGITS "+/", bytes, ret_text);
}
