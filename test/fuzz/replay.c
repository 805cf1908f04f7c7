/* SPDX-License-Identifier: MIT */
/* replay.c - runs a fuzz target over files and folders of files, without libFuzzer, so
 * that every input that was ever worth keeping is a test with any compiler. */
#include "fuzz.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES_MAX 4096
#define INPUT_BYTES_MAX ((size_t)4 << 20)

static size_t replayed;

static void replay_file(const char *path)
{
  FILE *file = fopen(path, "rb");
  char *room = malloc(INPUT_BYTES_MAX);
  uint8_t *exact;
  size_t size;

  FUZZ_CHECK(file != NULL && room != NULL);
  size = fread(room, 1, INPUT_BYTES_MAX, file);
  fclose(file);
  /* Of exactly this size, so that the sanitizer sees a read beyond it. */
  exact = malloc(size > 0 ? size : 1);
  FUZZ_CHECK(exact != NULL);
  memcpy(exact, room, size);
  free(room);
  fprintf(stderr, "%s\n", path);
  LLVMFuzzerTestOneInput(exact, size);
  free(exact);
  replayed++;
}

static void replay_folder(const char *path)
{
  DIR *folder = opendir(path);
  struct dirent *entry;

  FUZZ_CHECK(folder != NULL);
  while ((entry = readdir(folder)) != NULL) {
    char inner[PATH_BYTES_MAX];
    if (entry->d_name[0] == '.')
      continue;
    snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
    replay_file(inner);
  }
  closedir(folder);
}

int main(int count, char **words)
{
  for (int i = 1; i < count; i++) {
    struct stat info;
    FUZZ_CHECK(stat(words[i], &info) == 0);
    if (S_ISDIR(info.st_mode))
      replay_folder(words[i]);
    else
      replay_file(words[i]);
  }
  printf("%zu inputs replayed\n", replayed);
  return replayed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
