# Demanglers of other languages than C++ (Rust's v0 names, D) of libiberty.a, as single members: none of the rest of that
# archive is wanted (its own malloc, getopt, ...). Sets MIXSTACK_DEMANGLERS to all members, C++'s among them, and
# MIXSTACK_DEMANGLER_LIBRARIES to what programs link: only what is called, for it calls back (other_manglings.cc).
include(${CMAKE_CURRENT_LIST_DIR}/cxx_demangler.cmake)
if(MIXSTACK_MUSL)
  set(libiberty ${MIXSTACK_MUSL}/lib/libiberty.a)
else()
  find_library(MIXSTACK_LIBIBERTY libiberty.a REQUIRED) # of another CPU: in its sysroot
  set(libiberty ${MIXSTACK_LIBIBERTY})
endif()
set(MIXSTACK_DEMANGLERS ${MIXSTACK_CXX_DEMANGLER})
foreach(member rust-demangle d-demangle safe-ctype)
  set(object ${PROJECT_BINARY_DIR}/cxx_demangler/${member}.o)
  if(NOT EXISTS ${object})
    execute_process(COMMAND ${CMAKE_AR} x ${libiberty} ${member}.o
                    WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/cxx_demangler RESULT_VARIABLE result)
    if(NOT result EQUAL 0 OR NOT EXISTS ${object})
      message(FATAL_ERROR "no ${member}.o in ${libiberty}: is libiberty-dev installed?")
    endif()
  endif()
  list(APPEND MIXSTACK_DEMANGLERS ${object})
endforeach()
set(archive ${PROJECT_BINARY_DIR}/cxx_demangler/libdemanglers.a)
if(NOT EXISTS ${archive})
  execute_process(COMMAND ${CMAKE_AR} rcsD ${archive} rust-demangle.o d-demangle.o safe-ctype.o
                  WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/cxx_demangler COMMAND_ERROR_IS_FATAL ANY)
endif()
set(MIXSTACK_DEMANGLER_LIBRARIES ${MIXSTACK_CXX_DEMANGLER} ${archive})
