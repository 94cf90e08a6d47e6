/* A module of an environment: misbehaves while it is opened. */
#include "fake.h"

__attribute__((constructor)) static void open_module(void) {
  if (fake_fault("open")) _exit(9);
}
