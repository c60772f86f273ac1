# Builds for ARM64 Linux on another CPU: Debian's cross compiler over the tree that scripts/arm64_sysroot makes
# (MIXSTACK_SYSROOT). With qemu-aarch64-static there too, ctest runs what needs no ptrace.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_ASM_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(MIXSTACK_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../build/arm64-sysroot" CACHE PATH "ARM64 headers and libraries")
# CMake reads this file again for its probes, which do not see the cache.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MIXSTACK_SYSROOT)
get_filename_component(CMAKE_SYSROOT "${MIXSTACK_SYSROOT}" ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} "${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig")
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${CMAKE_SYSROOT}")
find_program(MIXSTACK_QEMU qemu-aarch64-static)
if(MIXSTACK_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${MIXSTACK_QEMU};-L;${CMAKE_SYSROOT}")
endif()
