# mmaudit_add_benchmark(NAME <name> SOURCES <file>... [LIBS <target>...])
# One Google Benchmark executable in <build>/bench, run by ./run bench. It needs no main() of its own.
function(mmaudit_add_benchmark)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;LIBS")
  if(NOT arg_NAME OR NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "mmaudit_add_benchmark(NAME <name> SOURCES <file>... [LIBS ...]): "
      "NAME or SOURCES missing, or not understood: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBS} benchmark::benchmark_main)
  set_target_properties(${arg_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
  mmaudit_target_defaults(${arg_NAME})
endfunction()
