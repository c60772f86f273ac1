# Headers of the C++ library, {fmt} and GoogleTest, compiled once for all folders: a quarter of the time of a build goes
# into reading them again and again. What a file lacks of its own includes shows in `scripts/lint --includes`, which
# compiles without.
option(MIXSTACK_PRECOMPILED "Compile headers of the C++ library once" ${PROJECT_IS_TOP_LEVEL})
if(NOT MIXSTACK_PRECOMPILED)
  return()
endif()
# GCC 12 does not know any more that these come from the library itself (its bug 105651); the build without
# precompiled headers has these warnings.
target_compile_options(mixstack_warnings INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>)
set(MIXSTACK_STANDARD_HEADERS
    <algorithm> <array> <atomic> <bit> <cerrno> <charconv> <chrono> <compare> <csignal> <cstddef> <cstdint> <cstdio>
    <cstdlib> <cstring> <functional> <limits> <map> <memory> <mutex> <optional> <set> <span> <string> <string_view>
    <thread> <tuple> <type_traits> <unordered_map> <unordered_set> <utility> <variant> <vector> <tl/expected.hpp>)
set(MIXSTACK_TEST_HEADERS ${MIXSTACK_STANDARD_HEADERS} <gtest/gtest.h> <filesystem> <fstream> <random> <sstream>)

# Compiled with the options of what uses them: libraries are position independent, tests are not.
function(mixstack_precompiled name headers)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled/${name}.cc CONTENT "// Its headers are what matters.\n")
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/precompiled/${name}.cc)
  target_link_libraries(${name} PRIVATE mixstack_warnings tl::expected ${ARGN})
  target_precompile_headers(${name} PRIVATE ${headers})
endfunction()
mixstack_precompiled(mixstack_precompiled_library "${MIXSTACK_STANDARD_HEADERS}")
mixstack_precompiled(mixstack_precompiled_fmt "${MIXSTACK_STANDARD_HEADERS};<fmt/format.h>" mixstack_fmt)
target_compile_options(mixstack_precompiled_fmt PRIVATE ${MIXSTACK_TEXT_OPTIONS})
set_target_properties(mixstack_precompiled_library mixstack_precompiled_fmt PROPERTIES POSITION_INDEPENDENT_CODE ON)
if(MIXSTACK_TESTS)
  mixstack_precompiled(mixstack_precompiled_test "${MIXSTACK_TEST_HEADERS}" GTest::gtest)
  mixstack_test_code(mixstack_precompiled_test)
endif()
