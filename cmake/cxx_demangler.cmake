# The C++ library's demangler in the form that can be stopped (__gcclibcxx_demangle_callback). libstdc++.so does not
# export it, libstdc++.a has it in a member of its own that needs only libc. Sets MIXSTACK_CXX_DEMANGLER to that member.
if(MIXSTACK_MUSL)
  set(libstdcxx ${MIXSTACK_MUSL}/lib/libstdc++.a) # Debian's: the member does not know which libc it runs on
else()
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.a
                  OUTPUT_VARIABLE libstdcxx OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
set(MIXSTACK_CXX_DEMANGLER ${PROJECT_BINARY_DIR}/cxx_demangler/cp-demangle.o)
if(NOT EXISTS ${MIXSTACK_CXX_DEMANGLER})
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/cxx_demangler)
  execute_process(COMMAND ${CMAKE_AR} x ${libstdcxx} cp-demangle.o
                  WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/cxx_demangler RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "no cp-demangle.o in ${libstdcxx}: is the static libstdc++ (libstdc++-12-dev) installed?")
  endif()
endif()
