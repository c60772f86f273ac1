#include "features/memory/site_names.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/words/recording_view.h"

namespace mixstack::memory_use {
namespace {

bool is_of_libc(const Recording& recording, const RecordedFunction& function) {
  if (function.module == kNoIndex) return false;
  const std::string_view name = recording.modules()[function.module].name;
  return name.starts_with("libc.so") || name.starts_with("libc-") || name.starts_with("ld-linux") ||
         name.starts_with("ld-musl") || name.starts_with("libpthread");
}

}  // namespace

SiteName site_name(const Recording& recording, std::uint32_t stack) {
  std::vector<const RecordedFunction*> calls;  // innermost first
  for (std::uint32_t at = stack; at != 0 && calls.size() < Recording::kMostBelow; at = recording.nodes()[at].parent)
    calls.push_back(&recording.functions()[recording.frames()[recording.nodes()[at].frame].function]);
  const auto first = [&](std::size_t from, auto&& is_it) -> std::optional<std::size_t> {
    for (std::size_t i = from; i < calls.size(); i++)
      if (!calls[i]->name.empty() && is_it(*calls[i])) return i;
    return std::nullopt;
  };
  const auto is_managed = [](const RecordedFunction& f) { return f.kind == CodeKind::managed; };
  auto place = first(0, [](const RecordedFunction& f) { return f.is_user; });
  if (!place) place = first(0, is_managed);
  if (!place) place = first(0, [&](const RecordedFunction& f) { return !is_of_libc(recording, f); });
  if (!place) place = first(0, [](const RecordedFunction&) { return true; });
  SiteName name;
  if (!place) return name;
  name.place = calls[*place]->name;
  for (std::size_t i = *place; i-- > 0 && name.via.empty();)
    if (calls[i]->kind != CodeKind::stub) name.via = calls[i]->name;
  if (is_managed(*calls[*place])) return name;
  auto caller = first(*place, [&](const RecordedFunction& f) { return is_managed(f) && f.is_user; });
  if (!caller) caller = first(*place, is_managed);
  if (caller) name.caller = calls[*caller]->name;
  return name;
}

}  // namespace mixstack::memory_use
