# The third-party libraries, one imported target each: wheelvet::<library>. Which one .cpp uses it and why it
# was chosen: docs/dependencies.md. All are archives or headers only, and their headers are SYSTEM headers.

# `pip install .` is complete by itself too. (A developer runs tools/setup, or tools/test, which does.)
if(SKBUILD)
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/setup RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "tools/setup did not succeed")
  endif()
endif()

# Where tools/setup puts what it builds; the script is the only place that knows.
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/setup --where
  OUTPUT_VARIABLE built OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(failed OR NOT built MATCHES "lief=([^\n]+)\nisal=([^\n]+)")
  message(FATAL_ERROR "tools/setup --where does not answer: ${built}")
endif()
set(WHEELVET_LIEF_DIR "${CMAKE_MATCH_1}" CACHE PATH "Where LIEF 0.12.3 is installed")
set(WHEELVET_ISAL_DIR "${CMAKE_MATCH_2}" CACHE PATH "Where isa-l's igzip and crc are installed")
set(WHEELVET_LLVM_DIR "/usr/lib/llvm-19" CACHE PATH "Where LLVM's demangler (llvm-19-dev) is installed")

# The headers' paths enter the debug information: there, without the name of the person who built.
target_compile_options(wheelvet_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:
  -ffile-prefix-map=${WHEELVET_LIEF_DIR}/=lief/ -ffile-prefix-map=${WHEELVET_ISAL_DIR}/=isal/>)

function(require_file path what package)
  if(NOT EXISTS "${path}")
    if(package)
      set(package " (Debian package ${package})")
    endif()
    message(FATAL_ERROR "${what} is missing: ${path}${package}\n"
      "Run  tools/setup  once: it installs the packages and builds LIEF and isa-l.")
  endif()
endfunction()

# add_archive(<library> <archive> <header> <include dir> <package>)
function(add_archive library archive header include_dir package)
  require_file("${archive}" "${library}'s archive" "${package}")
  require_file("${include_dir}/${header}" "${library}'s header" "${package}")
  add_library(wheelvet::${library} STATIC IMPORTED GLOBAL)
  set_target_properties(wheelvet::${library} PROPERTIES IMPORTED_LOCATION "${archive}")
  # The compiler's own path must not come as an option: libstdc++'s headers rely on its place in the order.
  if(NOT include_dir STREQUAL "/usr/include")
    target_include_directories(wheelvet::${library} SYSTEM INTERFACE "${include_dir}")
  endif()
endfunction()

# add_headers(<library> <header> <package>)
function(add_headers library header package)
  find_path(WHEELVET_${library}_INCLUDE ${header} NO_CACHE)
  if(NOT WHEELVET_${library}_INCLUDE)
    require_file("${header}" "${library}'s header" "${package}")
  endif()
  add_library(wheelvet::${library} INTERFACE IMPORTED GLOBAL)
  if(NOT WHEELVET_${library}_INCLUDE STREQUAL "/usr/include")
    target_include_directories(wheelvet::${library} SYSTEM INTERFACE "${WHEELVET_${library}_INCLUDE}")
  endif()
endfunction()

function(add_system_archive library archive header package)
  find_library(WHEELVET_${library}_ARCHIVE ${archive} NO_CACHE)
  find_path(WHEELVET_${library}_INCLUDE ${header} NO_CACHE)
  if(NOT WHEELVET_${library}_ARCHIVE OR NOT WHEELVET_${library}_INCLUDE)
    require_file("${archive}" "${library}'s archive or header" "${package}")
  endif()
  add_archive(${library} "${WHEELVET_${library}_ARCHIVE}" ${header} "${WHEELVET_${library}_INCLUDE}" ${package})
endfunction()

add_archive(lief "${WHEELVET_LIEF_DIR}/lib/libLIEF.a" LIEF/ELF.hpp "${WHEELVET_LIEF_DIR}/include" "")
add_archive(isal "${WHEELVET_ISAL_DIR}/lib/libisal.a" isa-l/igzip_lib.h "${WHEELVET_ISAL_DIR}/include" "")
add_archive(demangle "${WHEELVET_LLVM_DIR}/lib/libLLVMDemangle.a" llvm/Demangle/Demangle.h
  "${WHEELVET_LLVM_DIR}/include" llvm-19-dev)
add_system_archive(zlib libz.a zlib.h zlib1g-dev)
add_system_archive(lz4 liblz4.a lz4.h liblz4-dev)
add_system_archive(zstd libzstd.a zstd.h libzstd-dev)
add_system_archive(crypto libcrypto.a openssl/sha.h libssl-dev)

add_headers(cli11 CLI/CLI.hpp libcli11-dev)
add_headers(fmt fmt/format.h libfmt-dev)
add_library(fmt_archive STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt_archive.cpp) # Debian has no libfmt.a
target_link_libraries(wheelvet::fmt INTERFACE fmt_archive)
add_headers(json nlohmann/json.hpp nlohmann-json3-dev)
add_headers(toml toml++/toml.h libtomlplusplus-dev)
target_compile_definitions(wheelvet::toml INTERFACE TOML_HEADER_ONLY=1)
if(WHEELVET_TESTS)
  add_headers(doctest doctest/doctest.h doctest-dev)
endif()
