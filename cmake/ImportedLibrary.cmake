# Body of a find module of one header and one library.
include(FindPackageHandleStandardArgs)

# <package>, <target> as it is linked, <header>, and <library> without prefix and suffix: its archive instead
# of the shared library where MMAUDIT_STATIC is set. Cache variables are <PACKAGE>_INCLUDE_DIR and _LIBRARY.
macro(mmaudit_find_library package target header library)
  string(TOUPPER ${package} mmaudit_prefix)
  set(mmaudit_names ${library})
  if(MMAUDIT_STATIC)
    set(mmaudit_names lib${library}.a)
  endif()
  find_path(${mmaudit_prefix}_INCLUDE_DIR ${header})
  find_library(${mmaudit_prefix}_LIBRARY NAMES ${mmaudit_names})
  mark_as_advanced(${mmaudit_prefix}_INCLUDE_DIR ${mmaudit_prefix}_LIBRARY)
  find_package_handle_standard_args(${package}
    REQUIRED_VARS ${mmaudit_prefix}_LIBRARY ${mmaudit_prefix}_INCLUDE_DIR)

  if(${package}_FOUND AND NOT TARGET ${target})
    add_library(${target} UNKNOWN IMPORTED)
    set_target_properties(${target} PROPERTIES
      IMPORTED_LOCATION ${${mmaudit_prefix}_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${${mmaudit_prefix}_INCLUDE_DIR})
  endif()
endmacro()
