# Finds every library once, for all folders:
#   MPFR::MPFR  Boost::headers  nlohmann_json::nlohmann_json  fmt::fmt  xxHash::xxhash  zstd::zstd  CLI11::CLI11  Threads::Threads
#   GTest::gtest  rapidcheck (tests)   benchmark::benchmark (benchmarks)
# All are system packages; nothing is downloaded while configuring. The libraries alone (MMAUDIT_TOOL=OFF) need Threads.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
if(NOT MMAUDIT_TOOL)
  return()
endif()
find_package(MPFR 4.0 REQUIRED)
find_package(xxHash REQUIRED)
find_package(Zstd REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(CLI11 2.1 REQUIRED)

if(MMAUDIT_STATIC)
  # Debian has no archive of fmt, but its headers hold everything.
  find_path(FMT_INCLUDE_DIR fmt/format-inl.h REQUIRED)
  mark_as_advanced(FMT_INCLUDE_DIR)
  add_library(fmt::fmt INTERFACE IMPORTED)
  target_include_directories(fmt::fmt INTERFACE ${FMT_INCLUDE_DIR})
  target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)
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
