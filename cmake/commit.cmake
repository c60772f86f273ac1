# Sets MIXSTACK_COMMIT to the commit of the sources, "-dirty" behind it where files were changed; empty where it is not
# known (sources without git). -DMIXSTACK_COMMIT=... says it for them.
set(MIXSTACK_COMMIT "" CACHE STRING "Commit of the sources; empty: ask git")
if(NOT MIXSTACK_COMMIT AND PROJECT_IS_TOP_LEVEL AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(COMMAND git describe --always --dirty --exclude=* --abbrev=40 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                  OUTPUT_VARIABLE MIXSTACK_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
