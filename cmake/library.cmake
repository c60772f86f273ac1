# The libraries that are shipped, from the libraries of the rooms (all position independent):
#   libmixstack.a, libmixstack.so.0                           the engine, the reports and the C interface
#   libstackwalker-mixstack.a, libstackwalker-mixstack.so.0   the StackwalkerAPI over it, where src/frontends/stackwalker is built
# Consumers see mixstack::mixstack, which is one of the two; MIXSTACK_SHARED decides within this build.
include(GNUInstallDirs)
include(${PROJECT_SOURCE_DIR}/cmake/demanglers.cmake)
if(MIXSTACK_SANITIZE)
  return() # programs of other compilers' runtimes are no consumers
endif()

set(rooms)
foreach(room fmt base_system helpers_fetch_protocol dotnet_bcl base_words base_arch base_memory engine_walk_core
             engine_images engine_unwind engine_walk engine_self_walk engine_symbols engine_dwarf engine_symbol_files process_kernel
             process_live process_peers process_core process_self process_debugger process_pack dotnet_gcinfo dotnet_contracts dotnet_code
             dotnet_counters dotnet_names dotnet_heap dotnet_async dotnet_waits dotnet_holders dotnet_dac dotnet_runtime session output_report
             output_files output_formats process_perf features_record features_top features_machine features_pack features_why features_memory frontends_c)
  if(TARGET mixstack_${room})
    get_target_property(type mixstack_${room} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
      list(APPEND rooms $<TARGET_OBJECTS:mixstack_${room}>)
    endif()
  endif()
endforeach()
list(APPEND rooms ${MIXSTACK_DEMANGLERS})
# BPF is the command's: the library needs no libbpf, and samples threads that wait by stops.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(other_cpu x86_64)
else()
  set(other_cpu aarch64)
endif()
file(GLOB_RECURSE without_bpf CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/process/bpf/*.cc)
list(FILTER without_bpf EXCLUDE REGEX "/libbpf/|/${other_cpu}/|_test\\.cc$")
add_library(mixstack_without_bpf OBJECT EXCLUDE_FROM_ALL ${without_bpf})
set_target_properties(mixstack_without_bpf PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories(mixstack_without_bpf PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(mixstack_without_bpf PRIVATE mixstack_warnings tl::expected)
list(APPEND rooms $<TARGET_OBJECTS:mixstack_without_bpf>)
# By their linkers' names, so that the exported targets hold no path of this machine.
set(MIXSTACK_SYSTEM_LIBRARIES dw elf lzma z zstd lz4)

# mixstack_shipped(NAME OUTPUT MAP OBJECTS...): targets NAME_static and NAME_shared.
function(mixstack_shipped name output map)
  add_library(${name}_static STATIC ${ARGN})
  add_library(${name}_shared SHARED ${ARGN})
  set_target_properties(${name}_static PROPERTIES EXPORT_NAME ${name}_static)
  set_target_properties(${name}_shared PROPERTIES
    EXPORT_NAME ${name}_shared SOVERSION 0 VERSION 0.${PROJECT_VERSION_MINOR}.${PROJECT_VERSION_PATCH}
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/${map})
  target_link_options(${name}_shared PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/${map})
  if(NOT MIXSTACK_FUZZ)
    target_link_options(${name}_shared PRIVATE LINKER:--no-undefined)
  endif()
  foreach(kind static shared)
    set_target_properties(${name}_${kind} PROPERTIES
      OUTPUT_NAME ${output} LINKER_LANGUAGE CXX
      ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
    target_include_directories(${name}_${kind} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                         $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_compile_features(${name}_${kind} INTERFACE cxx_std_20)
    target_link_libraries(${name}_${kind} INTERFACE tl::expected)
    target_link_libraries(${name}_${kind} PRIVATE ${MIXSTACK_SYSTEM_LIBRARIES})
    add_library(mixstack::${name}_${kind} ALIAS ${name}_${kind})
  endforeach()
  if(MIXSTACK_SHARED)
    add_library(mixstack::${name} ALIAS ${name}_shared)
  else()
    add_library(mixstack::${name} ALIAS ${name}_static)
  endif()
endfunction()

# The names of the targets inside: `mixstack` is the command.
mixstack_shipped(mixstack mixstack mixstack.map ${rooms})
set(MIXSTACK_SHIPPED mixstack_static mixstack_shared)
if(TARGET mixstack_frontends_stackwalker)
  # The shared one holds the engine, too, hidden: what it uses of it is no interface of libmixstack.so. Of two archives
  # the linker takes each object once.
  mixstack_shipped(stackwalker stackwalker-mixstack stackwalker.map $<TARGET_OBJECTS:mixstack_frontends_stackwalker> ${rooms})
  foreach(kind static shared)
    # Programs to the manual write #include "walker.h".
    target_include_directories(stackwalker_${kind} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include/stackwalker>
                                                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/stackwalker>)
  endforeach()
  list(APPEND MIXSTACK_SHIPPED stackwalker_static stackwalker_shared)
endif()
add_custom_target(libraries DEPENDS ${MIXSTACK_SHIPPED})

# For programs that bring their libraries along (the NuGet package): the C interface alone, and nothing needed of the
# system but glibc. Without libdw, whose archive is not position independent: native frames have no lines.
add_library(mixstack_no_lines OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/src/engine/dwarf/absent/line_child.cc
  ${PROJECT_SOURCE_DIR}/src/engine/dwarf/dwarf_symbols.cc)
set_target_properties(mixstack_no_lines PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories(mixstack_no_lines PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(mixstack_no_lines PRIVATE mixstack_warnings tl::expected)
set(standalone ${rooms})
list(REMOVE_ITEM standalone $<TARGET_OBJECTS:mixstack_engine_dwarf>)
add_library(mixstack_standalone SHARED EXCLUDE_FROM_ALL ${standalone} $<TARGET_OBJECTS:mixstack_no_lines>)
set_target_properties(mixstack_standalone PROPERTIES
  OUTPUT_NAME mixstack LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/standalone
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/mixstack_c.map)
target_link_options(mixstack_standalone PRIVATE
  LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/mixstack_c.map LINKER:--exclude-libs,ALL LINKER:--no-undefined
  -static-libstdc++ -static-libgcc)
set(archives ${MIXSTACK_SYSTEM_LIBRARIES})
list(REMOVE_ITEM archives dw elf)
list(TRANSFORM archives PREPEND -l:)
list(TRANSFORM archives APPEND .a)
list(TRANSFORM archives REPLACE "-l:" "-l:lib")
target_link_libraries(mixstack_standalone PRIVATE ${archives})
