# mmaudit::version gives <mmaudit/version.hpp>: kVersion and kGitRevision, looked up at every build.
set(mmaudit_version_include ${PROJECT_BINARY_DIR}/generated)

add_custom_target(mmaudit_version_header
  COMMAND ${CMAKE_COMMAND}
    -D source=${PROJECT_SOURCE_DIR}
    -D version=${PROJECT_VERSION}
    -D output=${mmaudit_version_include}/mmaudit/version.hpp
    -P ${CMAKE_CURRENT_LIST_DIR}/write_version.cmake
  BYPRODUCTS ${mmaudit_version_include}/mmaudit/version.hpp
  VERBATIM)

add_library(mmaudit_version INTERFACE)
add_library(mmaudit::version ALIAS mmaudit_version)
target_include_directories(mmaudit_version INTERFACE ${mmaudit_version_include})
add_dependencies(mmaudit_version mmaudit_version_header)
