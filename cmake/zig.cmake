# What runs on every Linux since glibc 2.17: compiled by zig (PyPI: ziglang), which has the headers and the symbols of
# each glibc, against the Debian packages' headers and archives alone, which cmake/release.sh puts into MMAUDIT_ZIG_ROOT.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $ENV{MMAUDIT_ZIG_MACHINE})
set(CMAKE_CXX_COMPILER $ENV{MMAUDIT_ZIG} c++)
set(CMAKE_CXX_COMPILER_TARGET $ENV{MMAUDIT_ZIG_MACHINE}-linux-gnu.2.17)
set(CMAKE_CROSSCOMPILING_EMULATOR env)  # it runs here
set(root $ENV{MMAUDIT_ZIG_ROOT})
set(CMAKE_FIND_ROOT_PATH ${root})
foreach(kind IN ITEMS INCLUDE LIBRARY PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(CMAKE_LIBRARY_ARCHITECTURE $ENV{MMAUDIT_ZIG_MACHINE}-linux-gnu)
set(CMAKE_CXX_FLAGS_INIT "-fno-sanitize=undefined -isystem ${root}/usr/include -isystem ${root}/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}")
