// Boxes of a recording of allocations: the type of the object that was made is called by the code that made it.
#pragma once

#include <string>
#include <string_view>

namespace mixstack {

inline constexpr std::string_view kMadePrefix = "new ";
inline constexpr std::string_view kMadeNotKnown = "new (type not known)";
/// Bytes of a thread that no sample stands for.
inline constexpr std::string_view kUnplaced = "[allocated without a sample]";

/// `type` is a C# name; empty: not known.
[[nodiscard]] inline std::string made_name(std::string_view type) {
  return type.empty() ? std::string(kMadeNotKnown) : std::string(kMadePrefix) + std::string(type);
}
/// The type of such a box; empty: the name is not of one, or the type is not known.
[[nodiscard]] inline std::string_view made_type(std::string_view name) {
  if (!name.starts_with(kMadePrefix) || name == kMadeNotKnown) return {};
  return name.substr(kMadePrefix.size());
}

}  // namespace mixstack
