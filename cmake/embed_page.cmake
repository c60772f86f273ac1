# cmake -DWEB=DIR -DPAGE=page.html -DSCRIPTS=a.js,b.js -DSTYLES=a.css -DFUNCTION=NAME -DOUTPUT=FILE -P embed_page.cmake: a
# page as a C++ file with a function of that name (output/report/page_template.h).
# Text in, text out: the same on every machine and for every CPU.
cmake_minimum_required(VERSION 3.25)

# Base 64 of SHA-256, as policies of pages name a script: three hexadecimal digits are two of base 64.
function(hash_of text result)
  set(digits "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(SHA256 hex "${text}")
  string(APPEND hex "00") # 64 digits and two bits short of the last group
  set(encoded "")
  foreach(at RANGE 0 63 3)
    string(SUBSTRING "${hex}" ${at} 3 group)
    math(EXPR high "0x${group} >> 6")
    math(EXPR low "0x${group} & 63")
    string(SUBSTRING "${digits}" ${high} 1 first)
    string(SUBSTRING "${digits}" ${low} 1 second)
    string(APPEND encoded "${first}${second}")
  endforeach()
  string(SUBSTRING "${encoded}" 0 43 encoded)
  set(${result} "${encoded}=" PARENT_SCOPE)
endfunction()

function(joined files result)
  set(whole "\n")
  string(REPLACE "," ";" files "${files}")
  foreach(file ${files})
    file(READ "${WEB}/${file}" text)
    string(APPEND whole "${text}")
  endforeach()
  set(${result} "${whole}" PARENT_SCOPE)
endfunction()

# Compilers promise literals of 64 KiB: pieces are put beside each other. Cut at bytes, which is why the page is ASCII.
function(literal text result)
  string(LENGTH "${text}" length)
  set(whole "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 15000 piece)
    string(APPEND whole "R\"mixstack(${piece})mixstack\"\n")
    math(EXPR at "${at} + 15000")
  endwhile()
  set(${result} "${whole}" PARENT_SCOPE)
endfunction()

joined("${STYLES}" style)
joined("${SCRIPTS}" script)
hash_of("${style}" style_hash)
hash_of("${script}" script_hash)
file(READ "${WEB}/${PAGE}" html)
foreach(part html style script)
  if("${${part}}" MATCHES "[^\t\n -~]")
    message(FATAL_ERROR "web/: characters beyond ASCII in the ${part}")
  endif()
  literal("${${part}}" ${part})
endforeach()
file(WRITE "${OUTPUT}" "// Made by cmake/embed_page.cmake from web/.
#include \"output/report/page_template.h\"

namespace mixstack::report {

PageTemplate ${FUNCTION}() {
  return {${html}, ${style}, ${script}, \"${style_hash}\", \"${script_hash}\"};
}

}  // namespace mixstack::report
")
