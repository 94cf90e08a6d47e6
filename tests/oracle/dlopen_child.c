// dlopen_child MODE:PATH...  opens each in order, MODE being g (RTLD_GLOBAL), l (RTLD_LOCAL) or z (RTLD_LOCAL
// and RTLD_LAZY; the others have RTLD_NOW). Prints what came into the process, in the order of the link map, or the loader's error.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

static int print(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size, (void)data;
  printf("loaded %s\n", info->dlpi_name);
  return 0;
}

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    int mode = (argv[i][0] == 'z' ? RTLD_LAZY : RTLD_NOW) | (argv[i][0] == 'g' ? RTLD_GLOBAL : RTLD_LOCAL);
    if (!dlopen(argv[i] + 2, mode)) {
      printf("error %s\n", dlerror());
      return 1;
    }
  }
  dl_iterate_phdr(print, NULL);
  return 0;
}
