# add_elf_fixture(<name> SOURCE <file>... | CODE <C text>
#                 [SONAME <soname>] [NEEDED <fixture or soname>...] [RPATH <path>] [RUNPATH <path>]
#                 [VERSION_SCRIPT <file or text>] [FLAGS <flag>...])
#
# Builds a small shared library with `cc -shared -nostdlib` when the tests are built, as
# ${WHEELVET_ELF_FIXTURES}/<name>; the name may hold folders ("near_miss/libc10_cuda.so").
# NEEDED takes the name of a fixture declared before, which is linked with its symbols and versions, or any
# soname: then an empty library of that soname stands in, so that the entry is there and the file is not.
# A cycle is made that way: the first of the two names the other's soname.
# FLAGS go to the compiler driver last ("-Wl,--hash-style=sysv", "-Wl,-z,nodelete").
set(WHEELVET_ELF_FIXTURES ${CMAKE_BINARY_DIR}/elf_fixtures)
find_program(WHEELVET_CC cc REQUIRED)
if(NOT TARGET elf_fixtures)
  add_custom_target(elf_fixtures)
endif()

function(add_elf_fixture name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CODE;SONAME;RPATH;RUNPATH;VERSION_SCRIPT" "SOURCE;NEEDED;FLAGS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "fixture ${name}: not understood: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(output ${WHEELVET_ELF_FIXTURES}/${name})
  set(made_of ${CMAKE_BINARY_DIR}/elf_fixture_sources/${name})
  set(inputs "")
  set(options "")

  foreach(source IN LISTS arg_SOURCE)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND inputs ${source})
  endforeach()
  if(DEFINED arg_CODE)
    file(CONFIGURE OUTPUT ${made_of}.c CONTENT "@arg_CODE@\n" @ONLY)
    list(APPEND inputs ${made_of}.c)
  endif()
  if(NOT inputs)
    message(FATAL_ERROR "fixture ${name}: SOURCE or CODE is missing")
  endif()
  set(compiled ${inputs})

  if(arg_SONAME)
    list(APPEND options -Wl,-soname,${arg_SONAME})
  endif()
  if(arg_RPATH AND arg_RUNPATH)
    message(FATAL_ERROR "fixture ${name}: RPATH and RUNPATH: one of the two")
  elseif(arg_RPATH)
    list(APPEND options -Wl,--disable-new-dtags -Wl,-rpath,${arg_RPATH})
  elseif(arg_RUNPATH)
    list(APPEND options -Wl,--enable-new-dtags -Wl,-rpath,${arg_RUNPATH})
  endif()
  if(arg_VERSION_SCRIPT)
    if(arg_VERSION_SCRIPT MATCHES "{")
      file(CONFIGURE OUTPUT ${made_of}.map CONTENT "@arg_VERSION_SCRIPT@\n" @ONLY)
      set(arg_VERSION_SCRIPT ${made_of}.map)
    endif()
    cmake_path(ABSOLUTE_PATH arg_VERSION_SCRIPT BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND inputs ${arg_VERSION_SCRIPT})
    list(APPEND options -Wl,--version-script=${arg_VERSION_SCRIPT})
  endif()
  if(arg_NEEDED)
    # The entries are wanted whether or not a symbol is used, in the order given.
    list(APPEND options -Wl,--no-as-needed)
  endif()
  foreach(needed IN LISTS arg_NEEDED)
    get_property(library GLOBAL PROPERTY wheelvet_elf_fixture_${needed})
    get_property(has_soname GLOBAL PROPERTY wheelvet_elf_fixture_soname_${needed})
    if(NOT library)
      set(library ${CMAKE_BINARY_DIR}/elf_fixture_stand_ins/${needed})
      set(has_soname TRUE)
      _elf_stand_in(${needed} ${library})
    endif()
    list(APPEND inputs ${library})
    if(has_soname)
      list(APPEND options ${library})
    else()
      # The linker notes the name it was given: the file's alone, not its path.
      cmake_path(GET library PARENT_PATH folder)
      cmake_path(GET library FILENAME file)
      list(APPEND options -L${folder} -l:${file})
    endif()
  endforeach()

  cmake_path(GET output PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${output}
    COMMAND ${WHEELVET_CC} -shared -nostdlib -fPIC -O1 -o ${output} ${compiled} ${options} ${arg_FLAGS}
    DEPENDS ${inputs} COMMENT "ELF fixture ${name}" VERBATIM)
  set_property(GLOBAL PROPERTY wheelvet_elf_fixture_${name} ${output})
  set_property(GLOBAL PROPERTY wheelvet_elf_fixture_soname_${name} "${arg_SONAME}")
  string(MAKE_C_IDENTIFIER "elf_fixture_${name}" target)
  add_custom_target(${target} DEPENDS ${output})
  add_dependencies(elf_fixtures ${target})
endfunction()

function(_elf_stand_in soname library)
  get_property(known GLOBAL PROPERTY wheelvet_elf_stand_in_${soname})
  if(known)
    return()
  endif()
  set_property(GLOBAL PROPERTY wheelvet_elf_stand_in_${soname} TRUE)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/elf_fixture_sources/empty.c CONTENT "" @ONLY)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/elf_fixture_stand_ins)
  add_custom_command(OUTPUT ${library}
    COMMAND ${WHEELVET_CC} -shared -nostdlib -o ${library} -Wl,-soname,${soname}
            ${CMAKE_BINARY_DIR}/elf_fixture_sources/empty.c
    COMMENT "ELF stand-in ${soname}" VERBATIM)
endfunction()
