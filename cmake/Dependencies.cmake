# Finds every library once, for all folders:
#   MPFR::MPFR  Boost::headers  nlohmann_json::nlohmann_json  fmt::fmt  xxHash::xxhash  zstd::zstd  CLI11::CLI11  Threads::Threads
#   GTest::gtest  rapidcheck (tests)   benchmark::benchmark (benchmarks)
# All are system packages; nothing is downloaded while configuring. The libraries alone (MMAUDIT_TOOL=OFF) need Threads, and
# to draw reports the headers of fmt and nlohmann_json: without them they say so (mmaudit_render_report).
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.10 QUIET)
find_path(FMT_INCLUDE_DIR fmt/format-inl.h)
mark_as_advanced(FMT_INCLUDE_DIR)
set(MMAUDIT_RENDER OFF)
if(nlohmann_json_FOUND AND FMT_INCLUDE_DIR)
  set(MMAUDIT_RENDER ON)
  # Debian has no archive of fmt, but its headers hold everything.
  add_library(mmaudit_fmt INTERFACE)
  target_include_directories(mmaudit_fmt SYSTEM INTERFACE ${FMT_INCLUDE_DIR})
  target_compile_definitions(mmaudit_fmt INTERFACE FMT_HEADER_ONLY=1)
endif()
if(NOT MMAUDIT_TOOL)
  return()
endif()
find_package(MPFR 4.0 REQUIRED)
find_package(xxHash REQUIRED)
find_package(Zstd REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_path(FMT_INCLUDE_DIR fmt/format-inl.h REQUIRED)
find_package(CLI11 2.1 REQUIRED)

if(MMAUDIT_STATIC)
  # An archive of what the headers declare, so that objects are the same as of a build against libfmt.so: that build's
  # folder makes the portable programs by linking alone (./run release).
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/generated/fmt.cpp CONTENT "#include <fmt/format-inl.h>
template auto fmt::detail::decimal_point_impl<char>(fmt::detail::locale_ref) -> char;
template auto fmt::detail::thousands_sep_impl<char>(fmt::detail::locale_ref) -> fmt::detail::thousands_sep_result<char>;
")
  add_library(mmaudit_fmt_archive STATIC ${PROJECT_BINARY_DIR}/generated/fmt.cpp)
  target_include_directories(mmaudit_fmt_archive SYSTEM PUBLIC ${FMT_INCLUDE_DIR})
  target_compile_definitions(mmaudit_fmt_archive PUBLIC FMT_SHARED)  # as the package's own target says
  add_library(fmt::fmt ALIAS mmaudit_fmt_archive)
else()
  find_package(fmt 8 REQUIRED)
endif()

# A binary that is carried to another machine, and one with a sanitizer, must not need libmpi.
set(MMAUDIT_HAS_MPI OFF)
if(NOT MMAUDIT_MPI STREQUAL "OFF" AND NOT (MMAUDIT_MPI STREQUAL "AUTO" AND (MMAUDIT_STATIC OR MMAUDIT_SANITIZE)))
  enable_language(C)  # FindMPI looks for the C interface with a C compiler
  find_package(MPI QUIET COMPONENTS C)
  if(MPI_C_FOUND)
    set(MMAUDIT_HAS_MPI ON)
  elseif(MMAUDIT_MPI STREQUAL "ON")
    message(FATAL_ERROR "MMAUDIT_MPI: found ON without an MPI for C, allowed: with one (Debian: libopenmpi-dev), AUTO, OFF")
  endif()
endif()
message(STATUS "several hosts: ${MMAUDIT_HAS_MPI} (MMAUDIT_MPI is ${MMAUDIT_MPI})")

if(MMAUDIT_TESTS)
  find_package(GTest 1.12 REQUIRED)
  find_package(rapidcheck REQUIRED)
endif()
if(MMAUDIT_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
