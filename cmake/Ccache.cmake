# Compile through ccache where it is installed, unless the caller named a launcher. -D MMAUDIT_CCACHE=OFF leaves it out:
# with an empty cache sources that are compiled together (Together.cmake) serve better.
find_program(MMAUDIT_CCACHE ccache)
mark_as_advanced(MMAUDIT_CCACHE)
if(MMAUDIT_CCACHE)
  foreach(lang IN ITEMS CXX CUDA)
    if(NOT DEFINED CMAKE_${lang}_COMPILER_LAUNCHER)
      set(CMAKE_${lang}_COMPILER_LAUNCHER ${MMAUDIT_CCACHE})
    endif()
  endforeach()
endif()
