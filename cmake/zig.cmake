# What runs on every Linux since glibc 2.17: compiled by zig (PyPI: ziglang), which has the headers and the symbols of
# each glibc, against the Debian packages' headers and archives alone, which ./run release puts into MMAUDIT_ZIG_ROOT.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})
set(CMAKE_CROSSCOMPILING_EMULATOR env)  # it runs here
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MMAUDIT_ZIG MMAUDIT_ZIG_ROOT)
set(CMAKE_LIBRARY_ARCHITECTURE ${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu)
set(CMAKE_CXX_COMPILER ${MMAUDIT_ZIG} c++)
set(CMAKE_CXX_COMPILER_TARGET ${CMAKE_LIBRARY_ARCHITECTURE}.2.17)
set(CMAKE_FIND_ROOT_PATH ${MMAUDIT_ZIG_ROOT})
foreach(kind IN ITEMS INCLUDE LIBRARY PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(include ${MMAUDIT_ZIG_ROOT}/usr/include)
# Boost 1.74 derives from std::unary_function, which libc++ has on request alone.
set(CMAKE_CXX_FLAGS_INIT "-g0 -fno-sanitize=undefined -D_LIBCPP_ENABLE_CXX17_REMOVED_UNARY_BINARY_FUNCTION -isystem ${include} -isystem ${include}/${CMAKE_LIBRARY_ARCHITECTURE}")
