#include "output/formats/known_functions.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/words/recording_selection.h"
#include "output/formats/folded.h"

namespace mixstack::formats {
namespace {

using Known = std::unordered_map<std::string, std::uint32_t>;

bool is_known_by_name_alone(const RecordedFunction& function) {
  return function.kind == CodeKind::unknown && function.module == kNoIndex && !function.name.empty();
}

/// Functions by their names in folded stacks; the first of equal ones.
Known known_in(const Recording& recording) {
  Known known;
  for (std::uint32_t f = 0; f < recording.functions().size(); f++)
    if (!is_known_by_name_alone(recording.functions()[f])) known.try_emplace(folded_name(shown_name(recording, f)), f);
  return known;
}

/// "f" for "f+0x12" and "f:34".
std::string_view without_place(std::string_view name) {
  const std::size_t at = name.find_last_of(":+");
  if (at == std::string_view::npos || at == 0 || at + 1 == name.size()) return name;
  std::string_view number = name.substr(at + 1);
  if (number.starts_with("0x")) number.remove_prefix(2);
  const bool is_number = number.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return is_number ? name.substr(0, at) : name;
}

/// "f" for "f (libc.so.6)".
std::string_view without_remark(std::string_view name) {
  const std::size_t at = name.ends_with(')') ? name.rfind(" (") : std::string_view::npos;
  return at == std::string_view::npos || at == 0 ? name : name.substr(0, at);
}

std::string_view without_module(std::string_view name) {
  const std::size_t at = name.find_first_of("!`");
  return at == std::string_view::npos || at + 1 == name.size() ? name : name.substr(at + 1);
}

std::optional<std::uint32_t> found(const Known& known, std::string_view name) {
  for (const auto& shorter : {without_place, without_remark, without_module}) {
    if (const auto at = known.find(std::string(name)); at != known.end()) return at->second;
    name = shorter(name);
  }
  const auto at = known.find(std::string(name));
  return at == known.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace

std::optional<Recording> with_known_functions(const Recording& recording, const Recording& other) {
  const auto& functions = recording.functions();
  if (std::none_of(functions.begin(), functions.end(), is_known_by_name_alone)) return std::nullopt;
  const Known known = known_in(other);
  return with_functions(recording, [&](std::uint32_t f) -> std::optional<FunctionAndModule> {
    if (!is_known_by_name_alone(functions[f])) return std::nullopt;
    const auto at = found(known, folded_name(functions[f].name));
    if (!at) return std::nullopt;
    FunctionAndModule result{other.functions()[*at], {}};
    if (result.function.module != kNoIndex) result.module = other.modules()[result.function.module];
    return result;
  });
}

}  // namespace mixstack::formats
