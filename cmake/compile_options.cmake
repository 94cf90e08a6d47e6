# How our own code is compiled. Third-party archives are plain builds in every preset.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Assertions stay on in a release: they guard against our own bugs in a reader of files that nobody trusts.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g -D_GLIBCXX_ASSERTIONS")

add_library(wheelvet_options INTERFACE)
add_library(wheelvet::options ALIAS wheelvet_options)
target_compile_options(wheelvet_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Wshadow -Werror -ffunction-sections -fdata-sections>
  # Debug information and __FILE__ name files relative to the repository, on every machine.
  $<$<COMPILE_LANGUAGE:CXX>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>)
target_link_options(wheelvet_options INTERFACE -Wl,--gc-sections)
find_package(Threads REQUIRED)
target_link_libraries(wheelvet_options INTERFACE Threads::Threads)

# The released program needs no library of the system it runs on (docs/dependencies.md). The probe opens the
# system's libraries and so has its glibc; it shares libgcc as well, since the archive needs glibc 2.35 and RHEL 9
# has 2.34. A sanitizer's runtime looks for libstdc++'s functions in a shared library: those builds keep it shared.
add_library(wheelvet_static_program INTERFACE)
add_library(wheelvet::static_program ALIAS wheelvet_static_program)
add_library(wheelvet_opening_program INTERFACE)
add_library(wheelvet::opening_program ALIAS wheelvet_opening_program)

if(WHEELVET_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "WHEELVET_FUZZ needs clang++: cmake --preset fuzz")
  endif()
  set(WHEELVET_SANITIZE "address,undefined")
  target_compile_options(wheelvet_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()

if(WHEELVET_SANITIZE)
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1 -D_GLIBCXX_ASSERTIONS")
  target_compile_options(wheelvet_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${WHEELVET_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer>)
  target_link_options(wheelvet_options INTERFACE -fsanitize=${WHEELVET_SANITIZE})
else()
  target_link_options(wheelvet_static_program INTERFACE -static-pie)
  target_link_options(wheelvet_opening_program INTERFACE -static-libstdc++)
endif()
