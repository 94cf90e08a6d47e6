# Scenes: one folder per rule of the loader, as it would lie in site-packages. The unit tests plan their loads,
# and the loader oracle asks the real loader the same question (tests/oracle/loader.py).
# Libraries in link_time/ are there to be linked with only; what a scene holds under that soname is older.


add_elf_fixture(link_time/libversioned.so SONAME libversioned.so CODE "int one(void){return 1;} int two(void){return 2;}"
  VERSION_SCRIPT "V1 { global: one; local: *; }; V2 { global: two; } V1;")
add_elf_fixture(link_time/libdup.so SONAME libdup.so CODE "int late(void){return 1;}")
add_elf_fixture(link_time/libleaf.so SONAME libleaf.so CODE "int leaf(void){return 1;}")
add_elf_fixture(link_time/libgone.so SONAME libgone.so CODE "int gone(void){return 1;}")

# DT_RPATH serves the needs of what it brought in, RUNPATH only its own.
foreach(kind IN ITEMS RPATH RUNPATH)
  string(TOLOWER ${kind} name)
  add_elf_fixture(scenes/${name}_grandchild/lib/libleaf.so SONAME libleaf.so CODE "int leaf(void){return 1;}")
  add_elf_fixture(scenes/${name}_grandchild/lib/libmid.so SONAME libmid.so NEEDED scenes/${name}_grandchild/lib/libleaf.so
    CODE "int leaf(void); int mid(void){return leaf();}")
  add_elf_fixture(scenes/${name}_grandchild/libroot.so SONAME libroot.so ${kind} "$ORIGIN/lib"
    NEEDED scenes/${name}_grandchild/lib/libmid.so CODE "int mid(void); int root(void){return mid();}"
    FLAGS -Wl,--allow-shlib-undefined)
endforeach()

# A RUNPATH of the requester switches the inherited RPATH off.
add_elf_fixture(scenes/runpath_switches_off/lib/libleaf.so SONAME libleaf.so CODE "int leaf(void){return 1;}")
add_elf_fixture(scenes/runpath_switches_off/lib/libmid.so SONAME libmid.so RUNPATH "$ORIGIN/nowhere"
  NEEDED scenes/runpath_switches_off/lib/libleaf.so CODE "int leaf(void); int mid(void){return leaf();}")
add_elf_fixture(scenes/runpath_switches_off/libroot.so SONAME libroot.so RPATH "$ORIGIN/lib"
  NEEDED scenes/runpath_switches_off/lib/libmid.so CODE "int mid(void); int root(void){return mid();}")

# A RUNPATH higher up does not stop the RPATH chain of somebody below it.
add_elf_fixture(scenes/runpath_in_between/lib/libleaf.so SONAME libleaf.so CODE "int leaf(void){return 1;}")
add_elf_fixture(scenes/runpath_in_between/lib/liblow.so SONAME liblow.so NEEDED scenes/runpath_in_between/lib/libleaf.so
  CODE "int leaf(void); int low(void){return leaf();}")
add_elf_fixture(scenes/runpath_in_between/lib/libmid.so SONAME libmid.so RUNPATH "$ORIGIN"
  NEEDED scenes/runpath_in_between/lib/liblow.so CODE "int low(void); int mid(void){return low();}")
add_elf_fixture(scenes/runpath_in_between/libroot.so SONAME libroot.so RPATH "$ORIGIN/lib"
  NEEDED scenes/runpath_in_between/lib/libmid.so CODE "int mid(void); int root(void){return mid();}")

# Breadth first: the needs of the root before those of its first need; the first folder of a path wins.
add_elf_fixture(scenes/breadth_first/lib/libc1.so SONAME libc1.so CODE "int c1(void){return 1;}")
add_elf_fixture(scenes/breadth_first/lib/libb1.so SONAME libb1.so NEEDED scenes/breadth_first/lib/libc1.so CODE "int b1;")
add_elf_fixture(scenes/breadth_first/lib/libb2.so SONAME libb2.so CODE "int b2;")
add_elf_fixture(scenes/breadth_first/other/libb2.so SONAME libb2.so CODE "int b2, other;")
add_elf_fixture(scenes/breadth_first/libroot.so SONAME libroot.so RPATH "$ORIGIN/none:$ORIGIN/lib:$ORIGIN/other"
  NEEDED scenes/breadth_first/lib/libb1.so scenes/breadth_first/lib/libb2.so CODE "int root;")

# An object of the wanted soname that is in the process wins over what a search would find.
add_elf_fixture(scenes/loaded_soname_wins/one/libdup.so SONAME libdup.so CODE "int early(void){return 1;}")
add_elf_fixture(scenes/loaded_soname_wins/two/libdup.so SONAME libdup.so CODE "int early(void){return 1;} int late(void){return 1;}")
add_elf_fixture(scenes/loaded_soname_wins/two/libuser.so SONAME libuser.so RUNPATH "$ORIGIN" NEEDED link_time/libdup.so
  CODE "int late(void); int user(void){return late();}")
add_elf_fixture(scenes/loaded_soname_wins/libroot.so SONAME libroot.so RPATH "$ORIGIN/one:$ORIGIN/two"
  NEEDED link_time/libdup.so scenes/loaded_soname_wins/two/libuser.so CODE "int root;" FLAGS -Wl,--allow-shlib-undefined)

# The soname inside a file counts, not the file's own name.
add_elf_fixture(scenes/soname_of_another_file/lib/libfile.so SONAME libleaf.so CODE "int leaf(void){return 1;}")
add_elf_fixture(scenes/soname_of_another_file/lib/libuser.so SONAME libuser.so NEEDED link_time/libleaf.so
  CODE "int leaf(void); int user(void){return leaf();}")
add_elf_fixture(scenes/soname_of_another_file/libroot.so SONAME libroot.so RPATH "$ORIGIN/lib"
  NEEDED libfile.so scenes/soname_of_another_file/lib/libuser.so CODE "int root;")

# What is missing, and what only looks so.
add_elf_fixture(scenes/missing_symbol/lib/libdeep.so SONAME libdeep.so CODE "int absent_deep(void); int deep(void){return absent_deep();}")
add_elf_fixture(scenes/missing_symbol/libroot.so SONAME libroot.so RPATH "$ORIGIN/lib" NEEDED scenes/missing_symbol/lib/libdeep.so
  CODE "int absent_root(void); int deep(void); int root(void){return absent_root() + deep();}" FLAGS -Wl,--allow-shlib-undefined)
add_elf_fixture(scenes/missing_data/libroot.so SONAME libroot.so CODE "extern int absent_data; int *root(void){return &absent_data;}")
add_elf_fixture(scenes/weak_undefined/libroot.so SONAME libroot.so
  CODE "__attribute__((weak)) int absent(void); int root(void){return absent ? absent() : 0;}")
add_elf_fixture(scenes/unused_undefined/libroot.so SONAME libroot.so
  CODE "__asm__(\".globl absent_but_unused\"); int root(void){return 0;}")
add_elf_fixture(scenes/missing_library/lib/libpresent.so SONAME libpresent.so CODE "int present(void){return 1;}")
add_elf_fixture(scenes/missing_library/libroot.so SONAME libroot.so RPATH "$ORIGIN/lib"
  NEEDED link_time/libgone.so scenes/missing_library/lib/libpresent.so
  CODE "int gone(void); int present(void); int root(void){return gone() + present();}")
add_elf_fixture(scenes/missing_library_unused/libroot.so SONAME libroot.so NEEDED libgone_too.so CODE "int root;")

# Loads that find what they need.
add_elf_fixture(scenes/sysv_hash_only/lib/libleaf.so SONAME libleaf.so CODE "int leaf(void){return 1;}" FLAGS -Wl,--hash-style=sysv)
add_elf_fixture(scenes/sysv_hash_only/libroot.so SONAME libroot.so RPATH "$ORIGIN/lib" NEEDED scenes/sysv_hash_only/lib/libleaf.so
  CODE "int leaf(void); int root(void){return leaf();}" FLAGS -Wl,--hash-style=sysv)
add_elf_fixture(scenes/cycle/liba.so SONAME liba.so RPATH "$ORIGIN" NEEDED libb.so CODE "int b(void); int a(void){return b();}")
add_elf_fixture(scenes/cycle/libb.so SONAME libb.so NEEDED scenes/cycle/liba.so CODE "int a(void); int b(void){return a();}")
add_elf_fixture(scenes/cycle/libroot.so SONAME libroot.so RPATH "$ORIGIN" NEEDED scenes/cycle/libb.so
  CODE "int b(void); int root(void){return b();}")
add_elf_fixture(scenes/found_in_sibling_closure/lib/libp.so SONAME libp.so CODE "int p(void){return 1;}")
add_elf_fixture(scenes/found_in_sibling_closure/lib/libu.so SONAME libu.so CODE "int p(void); int u(void){return p();}")
add_elf_fixture(scenes/found_in_sibling_closure/libroot.so SONAME libroot.so RPATH "$ORIGIN/lib"
  NEEDED scenes/found_in_sibling_closure/lib/libu.so scenes/found_in_sibling_closure/lib/libp.so CODE "int root;")
add_elf_fixture(scenes/thread_local/lib/libt.so SONAME libt.so CODE "__thread int t = 1;")
add_elf_fixture(scenes/thread_local/libroot.so SONAME libroot.so RPATH "$ORIGIN/lib" NEEDED scenes/thread_local/lib/libt.so
  CODE "extern __thread int t; int *root(void){return &t;}" FLAGS -ftls-model=initial-exec)

# Versions.
add_elf_fixture(scenes/version_found/lib/libversioned.so SONAME libversioned.so
  CODE "int one(void){return 1;} int two(void){return 2;}"
  VERSION_SCRIPT "V1 { global: one; local: *; }; V2 { global: two; } V1;")
add_elf_fixture(scenes/version_found/libroot.so SONAME libroot.so RPATH "$ORIGIN/lib" NEEDED link_time/libversioned.so
  CODE "int one(void); int two(void); int root(void){return one() + two();}")
add_elf_fixture(scenes/version_missing/lib/libversioned.so SONAME libversioned.so CODE "int one(void){return 1;}"
  VERSION_SCRIPT "V1 { global: one; local: *; };")
add_elf_fixture(scenes/version_missing/libroot.so SONAME libroot.so RPATH "$ORIGIN/lib" NEEDED link_time/libversioned.so
  CODE "int one(void); int two(void); int root(void){return one() + two();}")
add_elf_fixture(scenes/version_weak/lib/libversioned.so SONAME libversioned.so CODE "int one(void){return 1;}"
  VERSION_SCRIPT "V1 { global: one; local: *; };")
add_elf_fixture(scenes/version_weak/libroot.so SONAME libroot.so RPATH "$ORIGIN/lib" NEEDED link_time/libversioned.so
  CODE "int one(void); __attribute__((weak)) int two(void); int root(void){return one() + (two ? two() : 0);}")
add_elf_fixture(scenes/version_moved/lib/libversioned.so SONAME libversioned.so
  CODE "int one(void){return 1;} int two(void){return 2;}"
  VERSION_SCRIPT "V1 { local: *; }; V2 { global: one; two; } V1;")
add_elf_fixture(scenes/version_moved/libroot.so SONAME libroot.so RPATH "$ORIGIN/lib" NEEDED link_time/libversioned.so
  CODE "int one(void); int root(void){return one();}")
add_elf_fixture(scenes/version_old_form/lib/libversioned.so SONAME libversioned.so
  CODE "__asm__(\".symver one_old,one@V1\"); __asm__(\".symver one_new,one@@V2\"); int one_old(void){return 1;} int one_new(void){return 2;} int two(void){return 2;}"
  VERSION_SCRIPT "V1 { global: one; local: *; }; V2 { global: one; two; } V1;")
add_elf_fixture(scenes/version_old_form/libroot.so SONAME libroot.so RPATH "$ORIGIN/lib" NEEDED link_time/libversioned.so
  CODE "int one(void); int two(void); int root(void){return one() + two();}")

# Two roots that only RTLD_GLOBAL joins.
add_elf_fixture(scenes/global_or_local/libprovider.so SONAME libprovider.so NEEDED scenes/thread_local/lib/libt.so RPATH "$ORIGIN/../thread_local/lib"
  CODE "int provided(void){return 1;}")
add_elf_fixture(scenes/global_or_local/libuser.so SONAME libuser.so CODE "int provided(void); int user(void){return provided();}")

# Bigger tables than a screenful, for the malformed and the slice tests.
add_elf_fixture(small/libsmall.so SONAME libsmall.so.1 RUNPATH "$ORIGIN/lib:$ORIGIN/../lib" NEEDED link_time/libversioned.so libother.so
  CODE "int one(void); int two(void); extern int data; __thread int tls = 3; extern __thread int other_tls; __attribute__((weak)) int maybe(void); int *p = &data; int a(void){return one() + data + tls;} int b(void){return two() + other_tls + (maybe ? maybe() : 0);} int c; int d(void){return c;}"
  VERSION_SCRIPT "S1 { global: a; b; tls; local: *; }; S2 { global: c; d; p; } S1;" FLAGS -Wl,--hash-style=both -Wl,--build-id=sha1)
add_elf_fixture(stand_alone/libimports_only.so CODE "int absent_a(void); int absent_b(void); static void start(void){absent_a(); absent_b();} __attribute__((section(\".init_array\"), used)) static void (*const init)(void) = start;")

# ".." leads out of a folder that is there.
foreach(name IN ITEMS there missing)
  add_elf_fixture(scenes/parent_of_${name}/lib/libleaf.so SONAME libleaf.so CODE "int leaf(void){return 1;}")
  add_elf_fixture(scenes/parent_of_${name}/libroot.so SONAME libroot.so RPATH "$ORIGIN/${name}/../lib"
    NEEDED scenes/parent_of_${name}/lib/libleaf.so CODE "int leaf(void); int root(void){return leaf();}")
endforeach()
add_elf_fixture(scenes/parent_of_there/there/libother.so SONAME libother.so CODE "int other;")

# A library that the machine has to bring.
add_elf_fixture(scenes/soname_needed/libroot.so SONAME libroot.so NEEDED link_time/libleaf.so
  CODE "int leaf(void); int root(void){return leaf();}")
