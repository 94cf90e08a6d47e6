/* What all fake libraries share: misbehaviour on request. FAKE_FAULT names functions and what each
 * does when it is called: "cuInit:segv" or, for one rank only, "ncclAllReduce@1:kill", several
 * separated by commas. */
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAKE __attribute__((visibility("default")))

/* The rank that the probe gave this process; 0 when it gave none. */
static inline int fake_rank(void) {
  char line[8192];
  int file = open("/proc/self/cmdline", O_RDONLY);
  ssize_t length = read(file, line, sizeof line - 1);
  close(file);
  line[length > 0 ? length : 0] = '\0';
  for (char* at = line; at < line + length; at += strlen(at) + 1) {
    if (strcmp(at, "--rank") == 0) return atoi(at + strlen(at) + 1);
  }
  return 0;
}

static inline void fake_forge(void) {
  /* A frame as the probe's own look, without the key. */
  static const char forged[] =
      "wvp1\1\0\0\0\x12\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0{\"outcome\":\"pass\"}";
  for (int descriptor = 3; descriptor < 64; ++descriptor) {
    (void)!write(descriptor, forged, sizeof forged - 1);
  }
}

/* Leaves a process behind in a session of its own, which ignores what can be ignored. */
static inline void fake_daemon(void) {
  if (fork() != 0) return;
  setsid();
  if (fork() != 0) _exit(0);
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  sleep(1000);
  _exit(0);
}

static inline void fake_flood(void) {
  static char block[1 << 20];
  memset(block, 'x', sizeof block);
  for (int i = 0; i < 1024; ++i) (void)!write(i % 2 + 1, block, sizeof block);
}

static inline int fake_act(const char* what) {
  if (strncmp(what, "code=", 5) == 0) return atoi(what + 5);
  if (strncmp(what, "exit", 4) == 0) exit(atoi(what + 4));
  if (strncmp(what, "abort", 5) == 0) abort();
  if (strncmp(what, "segv", 4) == 0) *(volatile int*)8 = 1;
  if (strncmp(what, "kill", 4) == 0) kill(getpid(), SIGKILL);
  if (strncmp(what, "daemon", 6) == 0) fake_daemon();
  if (strncmp(what, "flood", 5) == 0) fake_flood();
  if (strncmp(what, "forge", 5) == 0) {
    fake_forge();
    _exit(0);
  }
  if (strncmp(what, "stray", 5) == 0) fake_forge();
  if (strncmp(what, "hang", 4) == 0) {
    for (int number = 1; number < 32; ++number) signal(number, SIG_IGN);
    while (1) sleep(1000);
  }
  return 0;
}

/* The code that the function is to return; 0 when nothing was asked of it. */
static inline int fake_fault(const char* function) {
  const char* wanted = getenv("FAKE_FAULT");
  size_t length = strlen(function);
  while (wanted && *wanted) {
    const char* colon = strchr(wanted, ':');
    if (!colon) return 0;
    int here =
        strncmp(wanted, function, length) == 0 && (wanted[length] == ':' || wanted[length] == '@');
    if (here && wanted[length] == '@') here = atoi(wanted + length + 1) == fake_rank();
    if (here) return fake_act(colon + 1);
    wanted = strchr(wanted, ',');
    if (wanted) ++wanted;
  }
  return 0;
}

static inline int fake_number(const char* variable, int otherwise) {
  const char* text = getenv(variable);
  return text ? atoi(text) : otherwise;
}
