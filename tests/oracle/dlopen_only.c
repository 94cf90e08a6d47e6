// dlopen_only PATH...  opens each with RTLD_NOW | RTLD_LOCAL, for LD_DEBUG to tell of, and leaves without running
// anything that was registered for the end.
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (!dlopen(argv[i], RTLD_NOW | RTLD_LOCAL)) {
      printf("error %s\n", dlerror());
      fflush(stdout);
      _exit(1);
    }
  }
  _exit(0);
}
