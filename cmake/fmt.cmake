# {fmt}, compiled once. Header-only it costs each file that formats something one to three seconds, and Debian 12 has no
# archive of it. The inline namespace is ours, so that a program that links another {fmt} beside our archive has two.
if(fmt_VERSION VERSION_GREATER_EQUAL 10)
  add_library(mixstack_fmt INTERFACE) # fmt.cc knows the templates of version 9
  target_link_libraries(mixstack_fmt INTERFACE fmt::fmt-header-only)
  return()
endif()
add_library(mixstack_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt.cc)
set_target_properties(mixstack_fmt PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_compile_definitions(mixstack_fmt PUBLIC
  "FMT_BEGIN_NAMESPACE=namespace fmt { inline namespace mixstack {" "FMT_END_NAMESPACE=}}")
if(TARGET fmt::fmt-header-only)
  target_include_directories(mixstack_fmt SYSTEM PUBLIC
    $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)
endif()
