# mmaudit_add_test(NAME <name> SOURCES <file>... [LIBS <target>...] [LABELS <label>...] [ARGS <arg>...] [TIMEOUT <seconds>])
#
# One GoogleTest executable, registered as one ctest test. Don't write a main(): tests/test_main.cpp has one. It fails
# when no case ran, and exits with 77 (ctest: skipped) when every case was skipped.
# Labels: unit (the default), property, cli, mpi (starts mpirun), gpu (needs a GPU), slow (left out of ./run test).

# Built by ./run test under the sanitizers.
add_custom_target(mmaudit_unit_tests)

add_library(mmaudit_test_main STATIC ${CMAKE_CURRENT_LIST_DIR}/tests/test_main.cpp)
target_link_libraries(mmaudit_test_main PUBLIC GTest::gtest)
mmaudit_target_defaults(mmaudit_test_main)

add_test(NAME together_test COMMAND ${CMAKE_CTEST_COMMAND} --build-and-test ${CMAKE_CURRENT_LIST_DIR}/tests/together
  ${PROJECT_BINARY_DIR}/together --build-generator ${CMAKE_GENERATOR} --test-command together)
set_tests_properties(together_test PROPERTIES LABELS install)

function(mmaudit_compile_tests target level)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O${level}>)
endfunction()

# GoogleTest's headers are read once for all tests of an optimization level, under the rules of mmaudit_precompile().
# An executable has them, since its code is position independent in the way of a test's.
if(NOT MMAUDIT_CCACHE)
  foreach(level IN ITEMS 0 1)
    set(headers mmaudit_test_headers_${level})
    add_executable(${headers} EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/tests/test_main.cpp)
    target_link_libraries(${headers} PRIVATE GTest::gtest)
    target_precompile_headers(${headers} PRIVATE <gtest/gtest.h> <algorithm> <array> <cmath> <cstdint> <cstring> <filesystem>
      <fstream> <functional> <map> <optional> <random> <set> <span> <sstream> <string> <string_view> <variant> <vector>)
    mmaudit_target_defaults(${headers})
    mmaudit_compile_tests(${headers} ${level})
  endforeach()
endif()

function(mmaudit_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TIMEOUT" "SOURCES;LIBS;LABELS;ARGS")
  if(NOT arg_NAME OR NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "mmaudit_add_test(NAME <name> SOURCES <file>... [LIBS ...] [LABELS ...] [ARGS ...] [TIMEOUT s]): "
      "NAME or SOURCES missing, or not understood: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  foreach(label IN LISTS arg_LABELS)
    if(NOT label MATCHES "^(unit|property|cli|mpi|gpu|slow)$")
      message(FATAL_ERROR "mmaudit_add_test: ${arg_NAME} has an unknown label: ${label}")
    endif()
  endforeach()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()

  add_executable(${arg_NAME} ${arg_SOURCES})
  set_target_properties(${arg_NAME} PROPERTIES UNITY_BUILD OFF)
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBS} mmaudit_test_main)
  # Tests of commands and reports compute nothing themselves: without optimization they compile in three fifths of the time.
  set(level 1)
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/reports(/|$)")
    set(level 0)
  endif()
  if(TARGET mmaudit_test_headers_${level})
    target_precompile_headers(${arg_NAME} REUSE_FROM mmaudit_test_headers_${level})
  endif()
  mmaudit_target_defaults(${arg_NAME})
  mmaudit_compile_tests(${arg_NAME} ${level})
  add_test(NAME ${arg_NAME} COMMAND ${arg_NAME} ${arg_ARGS})
  set_tests_properties(${arg_NAME} PROPERTIES LABELS "${arg_LABELS}" SKIP_RETURN_CODE 77 TIMEOUT ${arg_TIMEOUT})
  if("gpu" IN_LIST arg_LABELS)
    set_tests_properties(${arg_NAME} PROPERTIES RESOURCE_LOCK gpu)
  endif()
  if("unit" IN_LIST arg_LABELS)
    add_dependencies(mmaudit_unit_tests ${arg_NAME})
  endif()
endfunction()
