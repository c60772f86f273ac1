#include "process/debugger/library_watch.h"

#include <unordered_map>
#include <utility>

namespace mixstack::process {
namespace {

/// Those of `list` that `others` does not hold.
[[nodiscard]] std::vector<LoadedLibrary> without(const std::vector<LoadedLibrary>& list,
                                                 const std::vector<LoadedLibrary>& others) {
  std::unordered_map<Address, const LoadedLibrary*> by_place;
  for (const auto& library : others) by_place[library.link_map] = &library;
  std::vector<LoadedLibrary> out;
  for (const auto& library : list) {
    const auto same_place = by_place.find(library.link_map);
    if (same_place == by_place.end() || *same_place->second != library) out.push_back(library);
  }
  return out;
}

}  // namespace

LibraryWatch::Changes LibraryWatch::look(Program& program) {
  if (program.links.is_unchanged(program.memory)) return {};
  auto state = program.links.read(program.memory, program.info.executable);
  if (!state || !state->consistent) return {};
  const auto before = std::exchange(libraries_, std::move(state->libraries));
  if (!std::exchange(known_, true)) return {};
  return {without(libraries_, before), without(before, libraries_)};
}

void LibraryWatch::begin(std::vector<LoadedLibrary> libraries) {
  libraries_ = std::move(libraries);
  known_ = true;
}

Result<std::vector<LoadedLibrary>> LibraryWatch::list(Program& program) const {
  if (!libraries_.empty()) return libraries_;
  const auto state = program.links.read(program.memory, program.info.executable);
  const bool at_work = state ? !state->consistent : state.error().code == ErrorCode::process_changed;
  if (at_work) return fail(ErrorCode::process_changed, program.info.pid);
  return libraries_;
}

}  // namespace mixstack::process
