#include "model/name_pattern.h"

#include <cstddef>

namespace mixstack {

bool name_matches(std::string_view pattern, std::string_view name) {
  if (pattern.find_first_of("*?") == std::string_view::npos) return name.find(pattern) != std::string_view::npos;
  std::size_t p = 0, n = 0;
  // Where the last star was, and up to where it reaches so far: all that must be taken back.
  std::size_t star = std::string_view::npos, reach = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      reach = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      p++, n++;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++reach;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') p++;
  return p == pattern.size();
}

}  // namespace mixstack
