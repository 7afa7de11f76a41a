# mmaudit_target_defaults(target): the flags that every target of this project is built with.

if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")  # lines for stack traces; all of -g takes half as long again
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # An eighth of the compiler's time would go to finding memory to use again, of which there is enough (kB).
    string(APPEND CMAKE_CXX_FLAGS " --param ggc-min-heapsize=1000000")
  endif()
endif()

if(MMAUDIT_STATIC AND MMAUDIT_ZIG)
  # This machine's objects and its compiler's archives, with the start files and the symbols of glibc 2.17, which zig has.
  foreach(name IN ITEMS libstdc++.a libgcc_eh.a libgcc.a)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${name} OUTPUT_VARIABLE file OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(APPEND mmaudit_runtime " ${file}")
  endforeach()
  set(mmaudit_zig "${MMAUDIT_ZIG} cc -target ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu.2.17 -O2 <LINK_FLAGS> -o <TARGET> <OBJECTS>")
  string(APPEND mmaudit_zig " <LINK_LIBRARIES> ${CMAKE_CURRENT_LIST_DIR}/old_glibc.c ${mmaudit_runtime} -lm -ldl -lpthread")
  set(CMAKE_CXX_LINK_EXECUTABLE "${mmaudit_zig} -pie")
  set(CMAKE_CXX_CREATE_SHARED_LIBRARY "${mmaudit_zig} -shared <SONAME_FLAG><TARGET_SONAME>")
  set(folders ${CMAKE_CUDA_HOST_IMPLICIT_LINK_DIRECTORIES})
  list(FILTER folders EXCLUDE REGEX "/stubs$")
  list(TRANSFORM folders PREPEND -L)
  list(JOIN folders " " folders)
  set(CMAKE_CUDA_CREATE_SHARED_LIBRARY "${CMAKE_CXX_CREATE_SHARED_LIBRARY} ${folders}")
elseif(MMAUDIT_STATIC AND NOT APPLE)
  add_link_options(-static-libstdc++ -static-libgcc)
endif()

if(MMAUDIT_SANITIZE)
  # Null pointers trap by themselves; the two checks left out are a tenth of the compile time.
  set(mmaudit_sanitize_flags -fsanitize=${MMAUDIT_SANITIZE} -fno-sanitize=null,vptr -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
endif()

if(MMAUDIT_FUZZ)
  # libFuzzer steers by the code that an input reached.
  list(APPEND mmaudit_sanitize_flags -fsanitize=fuzzer-no-link)
endif()

# Reading fmt takes longer than compiling many of our sources, so a library that links it reads it once. ccache already keeps the objects, and a precompiled header would make it miss. CLI11 stays out: its inline
# classes are compiled again in every source that sees them.
#   mmaudit_precompile(<target> [<header>...])   by itself where the headers are others; before mmaudit_target_defaults
function(mmaudit_precompile target)
  get_target_property(own ${target} PRECOMPILE_HEADERS)
  get_target_property(reused ${target} PRECOMPILE_HEADERS_REUSE_FROM)
  if(own OR reused OR MMAUDIT_CCACHE)
    return()
  endif()
  if(ARGN)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
  if(ARGN OR MMAUDIT_TOGETHER)
    return()  # sources that are compiled together read fmt once
  endif()
  get_target_property(libraries ${target} LINK_LIBRARIES)
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  if("fmt::fmt" IN_LIST libraries AND count GREATER 4)
    target_precompile_headers(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:<fmt/format.h>>)
  endif()
endfunction()

# Sources of a target that are compiled at -O<level> of their own, in a release: a property of a source would keep it from
# being compiled together with others.
#   mmaudit_compile_at(<level> <target> <source of the target>...)   after mmaudit_target_defaults
function(mmaudit_compile_at level target)
  set(part ${target}_O${level})
  add_library(${part} OBJECT ${ARGN})
  foreach(property IN ITEMS INCLUDE_DIRECTORIES COMPILE_DEFINITIONS)
    set_property(TARGET ${part} PROPERTY ${property} $<TARGET_PROPERTY:${target},${property}>)
  endforeach()
  mmaudit_target_defaults(${part})
  target_compile_options(${part} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O${level}>)
  get_target_property(sources ${target} SOURCES)
  list(REMOVE_ITEM sources ${ARGN})
  set_property(TARGET ${target} PROPERTY SOURCES ${sources} $<TARGET_OBJECTS:${part}>)
endfunction()

# Code that parses, checks or draws: -O3 takes half as long again to compile. Sources behind it compute, and get -O3.
#   mmaudit_compile_quickly(<target> [<source of the target>...])
function(mmaudit_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
  if(ARGN)
    mmaudit_compile_at(3 ${target} ${ARGN})
  endif()
endfunction()

function(mmaudit_target_defaults target)
  get_target_property(type ${target} TYPE)

  # Contracting a*b+c into one rounding would change the bits of every host reference.
  set(exact_host $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off> $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffp-contract=off>)

  if(type STREQUAL "INTERFACE_LIBRARY")
    target_compile_features(${target} INTERFACE cxx_std_20)
    target_compile_options(${target} INTERFACE ${exact_host})
    return()
  endif()

  target_compile_features(${target} PUBLIC cxx_std_20)
  if(MMAUDIT_TOGETHER)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL mmaudit_compile_together ${target})")
  endif()
  mmaudit_precompile(${target})
  set(cxx_warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
  set(cuda_warnings -Xcompiler=-Wall,-Wextra,-Wshadow)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 sees overlaps and overflows in "literal" + std::string and in fmt::join (GCC PR 105651).
    list(APPEND cxx_warnings -Wno-restrict -Wno-stringop-overflow)
    if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
      # GCC 13 suspects every function that takes a name and returns a reference into a table.
      list(APPEND cxx_warnings -Wno-dangling-reference)
    endif()
  endif()
  if(MMAUDIT_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND cxx_warnings -Wno-maybe-uninitialized)  # false beside sanitizers, as GCC's manual says; in std::regex for one
  endif()
  if(MMAUDIT_WERROR)
    list(APPEND cxx_warnings -Werror)
    list(APPEND cuda_warnings -Werror=all-warnings -Xcompiler=-Werror)
  endif()
  target_compile_options(${target} PRIVATE
    ${exact_host}
    "$<$<COMPILE_LANGUAGE:CXX>:${cxx_warnings}>"
    "$<$<COMPILE_LANGUAGE:CUDA>:${cuda_warnings}>")

  if(mmaudit_sanitize_flags)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${mmaudit_sanitize_flags}>")
    target_link_options(${target} PUBLIC ${mmaudit_sanitize_flags})
  endif()
endfunction()
