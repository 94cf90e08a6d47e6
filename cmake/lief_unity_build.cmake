# Included by LIEF's own project() when tools/setup builds it (CMAKE_PROJECT_INCLUDE): most of LIEF's build is the
# same headers parsed and the same logging templates compiled once per file; in few big files it takes a third of
# the time.
function(build_lief_in_few_files)
  get_target_property(sources LIB_LIEF SOURCES)
  # What cannot share a file: Convert.cpp specialises a template that others use before, Object.tcc has no include
  # guard, mbedTLS's C files reuse the names of static functions.
  list(FILTER sources INCLUDE REGEX "\\.c$|/Convert\\.cpp$|/ELF/(Binary|Builder|Parser)\\.cpp$")
  set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(LIB_LIEF PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 14)
endfunction()
cmake_language(DEFER CALL build_lief_in_few_files)
