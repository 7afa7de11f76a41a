# Tests of what leaves the build: an installation, a Debian package, the Python package. All of them use the programs of
# this build; none builds the model again.
include(PythonWithNumpy)
set(mmaudit_consumer ${PROJECT_SOURCE_DIR}/emulator/tests/consumer)
set(mmaudit_python ${PROJECT_SOURCE_DIR}/emulator/python)

# A library with a sanitizer can't be loaded by a program without one.
if(NOT MMAUDIT_SANITIZE)
  add_test(NAME install_test COMMAND ${mmaudit_consumer}/test.sh ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR})
  add_test(NAME package_test COMMAND ${mmaudit_consumer}/package.sh ${CMAKE_CPACK_COMMAND} ${PROJECT_BINARY_DIR})
  add_test(NAME python_test COMMAND ${mmaudit_python}/tests/run.sh "${MMAUDIT_PYTHON}")
  set_tests_properties(install_test package_test python_test PROPERTIES
    LABELS install SKIP_RETURN_CODE 77 TIMEOUT 600
    ENVIRONMENT "MMAUDIT_LIBRARY=$<TARGET_FILE:mmaudit_c>;MMAUDIT_TOOL=$<TARGET_FILE:mmaudit>")
endif()
