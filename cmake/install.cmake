# What is installed, in two components, each a Debian package of its own (`cpack -G DEB`, `make package`):
#   runtime   the command, its helper, the shared libraries
#   dev       headers, archives, links of the shared libraries, the files of CMake and pkg-config
include(CMakePackageConfigHelpers)
if(NOT TARGET libraries)
  return()
endif()
add_dependencies(libraries mixstack_agent_library)
set(MIXSTACK_SHARE_FOLDER "" CACHE PATH "Completions and manual page of another build, where this one cannot run its command")
if(TARGET mixstack_share)
  add_dependencies(libraries mixstack_share)
  set(share ${PROJECT_BINARY_DIR}/share)
else()
  set(share ${MIXSTACK_SHARE_FOLDER})
endif()
if(share)
  install(FILES ${share}/mixstack.1.gz DESTINATION share/man/man1 COMPONENT runtime)
  install(FILES ${share}/mixstack.bash DESTINATION share/bash-completion/completions RENAME mixstack COMPONENT runtime)
  install(FILES ${share}/mixstack.fish DESTINATION share/fish/vendor_completions.d COMPONENT runtime)
  # Debian's zsh looks below /usr in another folder than zsh itself does.
  install(CODE "
    set(zsh \${CMAKE_INSTALL_PREFIX}/share/zsh/site-functions)
    if(CMAKE_INSTALL_PREFIX STREQUAL /usr)
      set(zsh /usr/share/zsh/vendor-completions)
    endif()
    file(INSTALL \"${share}/_mixstack\" DESTINATION \"\${zsh}\")" COMPONENT runtime)
endif()
set(doc share/doc/mixstack)
install(FILES README.md CHANGELOG.md DESTINATION ${doc} COMPONENT runtime)
install(DIRECTORY docs/ DESTINATION ${doc}/docs COMPONENT runtime
        FILES_MATCHING PATTERN "*.md" PATTERN "*.json" PATTERN "*.svg" PATTERN adr EXCLUDE PATTERN howto EXCLUDE)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/mixstack)

install(TARGETS ${MIXSTACK_SHIPPED} EXPORT mixstackTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(FILES include/mixstack.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
install(DIRECTORY include/mixstack DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN "*.h")
if(TARGET stackwalker_static)
  install(DIRECTORY include/stackwalker DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN "*.h")
endif()

install(EXPORT mixstackTargets NAMESPACE mixstack:: DESTINATION ${package_folder} COMPONENT dev)
configure_package_config_file(cmake/mixstackConfig.cmake.in package/mixstackConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/mixstackConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/mixstackConfig.cmake ${PROJECT_BINARY_DIR}/package/mixstackConfigVersion.cmake
        DESTINATION ${package_folder} COMPONENT dev)

list(TRANSFORM MIXSTACK_SYSTEM_LIBRARIES PREPEND -l OUTPUT_VARIABLE private)
string(JOIN " " MIXSTACK_LIBS_PRIVATE ${private} -lstdc++)
# The files of pkg-config tell their own place, so that an installation can be moved or unpacked anywhere.
file(RELATIVE_PATH MIXSTACK_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" MIXSTACK_PREFIX_FROM_PC "${MIXSTACK_PREFIX_FROM_PC}")
function(mixstack_pc file description cflags libs_private)
  set(MIXSTACK_PC_NAME ${file})
  set(MIXSTACK_PC_DESCRIPTION "${description}")
  set(MIXSTACK_PC_CFLAGS "${cflags}")
  set(MIXSTACK_PC_LIBS_PRIVATE "${libs_private}")
  configure_file(cmake/mixstack.pc.in package/${file}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/${file}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endfunction()
mixstack_pc(mixstack "stacks of .NET and native processes, from outside" "" "${MIXSTACK_LIBS_PRIVATE}")
if(TARGET stackwalker_static)
  mixstack_pc(stackwalker-mixstack "the StackwalkerAPI over mixstack" " -I\${includedir}/stackwalker"
              "${MIXSTACK_LIBS_PRIVATE}")
endif()

# What Debian wants to know of each package.
if(PROJECT_IS_TOP_LEVEL)
  execute_process(COMMAND git log -1 --format=%cD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE date
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT date)
  set(date "Thu, 1 Jan 1970 00:00:00 +0000")
endif()
set(CPACK_PACKAGE_CONTACT "mixstack maintainers <mixstack@localhost.invalid>")
foreach(component runtime dev)
  string(REPLACE runtime mixstack package ${component})
  string(REPLACE dev libmixstack-dev package ${package})
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/package/${package}/changelog CONTENT
"${package} (${PROJECT_VERSION}) unstable; urgency=medium

  * What changed: CHANGELOG.md in the package mixstack.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  execute_process(COMMAND gzip -9nkf changelog WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/package/${package})
  install(FILES ${PROJECT_BINARY_DIR}/package/${package}/changelog.gz DESTINATION share/doc/${package} COMPONENT ${component})
  install(FILES LICENSE DESTINATION share/doc/${package} RENAME copyright COMPONENT ${component})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR mixstack)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME mixstack)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION devel)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "stacks of .NET and native processes, from outside
The command mixstack, the agent that it has loaded into processes, and the
shared library libmixstack.so.0.")
file(WRITE ${PROJECT_BINARY_DIR}/package/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/package/triggers)
file(WRITE ${PROJECT_BINARY_DIR}/package/overrides "# One file that can be copied anywhere is what it is for.
mixstack: statically-linked-binary [usr/bin/mixstack]
mixstack: embedded-library zlib [usr/bin/mixstack]
")
install(FILES ${PROJECT_BINARY_DIR}/package/overrides DESTINATION share/lintian/overrides RENAME mixstack COMPONENT runtime)
find_program(SHLIBDEPS dpkg-shlibdeps)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
if(SHLIBDEPS AND NOT CMAKE_CROSSCOMPILING)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
else()
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "libc6, libgcc-s1, libstdc++6, liblzma5, zlib1g, libzstd1, liblz4-1, libdw1, libelf1, libbpf1")
endif()
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libmixstack-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "mixstack (= ${PROJECT_VERSION}), libexpected-dev, libdw-dev, libelf-dev, liblzma-dev, zlib1g-dev, libzstd-dev, liblz4-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION "stacks of .NET and native processes, from outside: development files
Headers, static library, files of CMake and pkg-config.")
include(CPack)
