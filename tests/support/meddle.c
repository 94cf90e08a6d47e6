// meddle.so, preloaded: at the MEDDLE_AT-th read of the program something happens to MEDDLE_PATH, or to the process.
// MEDDLE_DO is one of truncate, empty, overwrite, replace, unlink, SIGINT, SIGTERM.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void overwrite(const char* path) {
  int file = open(path, O_WRONLY);
  struct stat status;
  fstat(file, &status);
  for (off_t at = 0; at < status.st_size; at += 7) (void)!pwrite(file, "x", 1, at);
  close(file);
}

static void replace(const char* path) {
  char other[4096];
  snprintf(other, sizeof other, "%s.other", path);
  int file = open(other, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  (void)!write(file, "something else\n", 15);
  close(file);
  rename(other, path);
}

static void meddle(void) {
  static atomic_int reads;
  const char *at = getenv("MEDDLE_AT"), *what = getenv("MEDDLE_DO"), *path = getenv("MEDDLE_PATH");
  if (!at || !what || atomic_fetch_add(&reads, 1) + 1 != atoi(at)) return;
  struct stat status;
  if (!strcmp(what, "truncate") && stat(path, &status) == 0) (void)!truncate(path, status.st_size / 2);
  if (!strcmp(what, "empty")) (void)!truncate(path, 0);
  if (!strcmp(what, "overwrite")) overwrite(path);
  if (!strcmp(what, "replace")) replace(path);
  if (!strcmp(what, "unlink")) unlink(path);
  if (!strcmp(what, "SIGINT")) raise(SIGINT);
  if (!strcmp(what, "SIGTERM")) raise(SIGTERM);
}

ssize_t pread64(int file, void* to, size_t size, off64_t at) {
  static ssize_t (*real)(int, void*, size_t, off64_t);
  if (!real) real = (ssize_t(*)(int, void*, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
  meddle();
  return real(file, to, size, at);
}

ssize_t pread(int file, void* to, size_t size, off_t at) { return pread64(file, to, size, at); }
