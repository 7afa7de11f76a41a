# cmake --install: both programs, libmmaudit.so and the static library with their headers, the files that find_package() and
# pkg-config read, the licence, the recordings, and (reports/cli) manual pages and completions. Packages: cpack -G DEB
# (below /usr) and -G TGZ (what docs/ci/mmaudit_ci.sh installs).
include(CMakePackageConfigHelpers)

install(TARGETS mmaudit_emulator mmaudit_c EXPORT mmauditTargets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY emulator/include/mmaudit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")

set(mmaudit_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mmaudit)
install(EXPORT mmauditTargets NAMESPACE mmaudit:: DESTINATION ${mmaudit_package_dir})
configure_package_config_file(cmake/mmauditConfig.cmake.in ${PROJECT_BINARY_DIR}/mmauditConfig.cmake
  INSTALL_DESTINATION ${mmaudit_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mmauditConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mmauditConfig.cmake ${PROJECT_BINARY_DIR}/mmauditConfigVersion.cmake
  DESTINATION ${mmaudit_package_dir})

# Relative to the file itself, so that the tree can be moved.
file(RELATIVE_PATH mmaudit_prefix_from_pc
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/mmaudit.pc.in ${PROJECT_BINARY_DIR}/mmaudit.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mmaudit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(TARGET mmaudit_cuda)
  install(TARGETS mmaudit_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
  install(FILES device/include/mmaudit/mmaudit_cuda.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mmaudit)
endif()
if(TARGET mmaudit)
  install(TARGETS mmaudit mmaudit-bench RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # Where the tool looks for recordings: share/mmaudit above it.
  install(DIRECTORY corpus/data corpus/decisions corpus/networks DESTINATION ${CMAKE_INSTALL_DATADIR}/mmaudit/corpus)
endif()

set(CPACK_PACKAGE_NAME mmaudit)
set(CPACK_PACKAGE_VENDOR mmaudit)
set(CPACK_PACKAGE_CONTACT "mmaudit <mmaudit@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_SYSTEM_NAME ${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-numpy")
include(CPack)
