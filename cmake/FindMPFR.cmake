# MPFR::MPFR, with GMP. Archives instead of shared libraries where MMAUDIT_STATIC is set.
if(MMAUDIT_STATIC)
  set(mpfr_names libmpfr.a)
  set(gmp_names libgmp.a)
else()
  set(mpfr_names mpfr)
  set(gmp_names gmp)
endif()
find_path(MPFR_INCLUDE_DIR mpfr.h)
find_library(MPFR_LIBRARY NAMES ${mpfr_names})
find_library(GMP_LIBRARY NAMES ${gmp_names})
mark_as_advanced(MPFR_INCLUDE_DIR MPFR_LIBRARY GMP_LIBRARY)

if(MPFR_INCLUDE_DIR)
  file(STRINGS ${MPFR_INCLUDE_DIR}/mpfr.h line REGEX "^#define MPFR_VERSION_STRING ")
  string(REGEX MATCH "[0-9]+\\.[0-9]+(\\.[0-9]+)?" MPFR_VERSION "${line}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MPFR
  REQUIRED_VARS MPFR_LIBRARY GMP_LIBRARY MPFR_INCLUDE_DIR
  VERSION_VAR MPFR_VERSION)

if(MPFR_FOUND AND NOT TARGET MPFR::MPFR)
  add_library(MPFR::MPFR UNKNOWN IMPORTED)
  set_target_properties(MPFR::MPFR PROPERTIES
    IMPORTED_LOCATION ${MPFR_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${MPFR_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES ${GMP_LIBRARY})
endif()
