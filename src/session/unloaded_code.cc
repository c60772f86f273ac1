#include "session/unloaded_code.h"

#include <algorithm>
#include <functional>
#include <map>

#include "process/kernel/memory_map.h"

namespace mixstack::session {
namespace {

bool is_image_code(const Region& r) { return r.executable && r.inode != 0 && !r.shared; }

bool is_same_mapping(const Region& a, const Region& b) {
  return a.range == b.range && a.file_offset == b.file_offset && a.inode == b.inode &&
         a.device_major == b.device_major && a.device_minor == b.device_minor;
}

/// A frame in such code and all that were found through it.
void doubt_frames(ThreadDump& thread, const std::function<bool(Address)>& is_doubtful) {
  bool is_behind = false;
  for (Frame& f : thread.trace.frames) {
    is_behind = is_behind || (f.kind == FrameKind::native && is_doubtful(f.pc.lookup()));
    if (is_behind) f.trust = std::max(f.trust, Trust::inferred);
  }
}

/// Whether any native frame is in an image that has no file to be opened. The mappings of an image are one file's.
bool is_any_without_file(const ProcessDump& dump, const Target& target, std::span<const Region> all) {
  std::vector<ModuleIndex> seen;
  for (const ThreadDump& t : dump.threads) {
    for (const Frame& f : t.trace.frames) {
      if (f.kind != FrameKind::native || std::find(seen.begin(), seen.end(), f.module) != seen.end()) continue;
      const Region* r = process::find_region(all, f.pc.lookup());
      if (r != nullptr && is_image_code(*r) && !target.open_file(*r)) return true;
      seen.push_back(f.module);
    }
  }
  return false;
}

/// The images that a native frame is in and that have no file to be opened: usually none.
std::vector<Region> images_without_file(const ProcessDump& dump, const Target& target, std::span<const Region> all) {
  if (!is_any_without_file(dump, target, all)) return {};
  std::map<Address, const Region*> seen;
  for (const ThreadDump& t : dump.threads)
    for (const Frame& f : t.trace.frames)
      if (const Region* r = f.kind == FrameKind::native ? process::find_region(all, f.pc.lookup()) : nullptr)
        seen.emplace(r->range.begin, r);
  std::vector<Region> without;
  for (const auto& [begin, region] : seen)
    if (is_image_code(*region) && !target.open_file(*region)) without.push_back(*region);
  return without;
}

}  // namespace

std::vector<Region> image_mappings(std::span<const Region> regions) {
  std::vector<Region> all;
  std::copy_if(regions.begin(), regions.end(), std::back_inserter(all), is_image_code);
  return all;
}

bool are_same_mappings(std::span<const Region> a, std::span<const Region> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), is_same_mapping);
}

void doubt_code_of_another_time(ThreadDump& thread, std::span<const Region> known, std::span<const Region> captured) {
  if (are_same_mappings(known, captured)) return;
  doubt_frames(thread, [&](Address pc) {
    const Region* then = process::find_region(captured, pc);
    const Region* now = process::find_region(known, pc);
    if (then == nullptr && now == nullptr) return false;
    return then == nullptr || now == nullptr || !is_same_mapping(*then, *now);
  });
}

void doubt_replaced_code(ProcessDump& dump, const Target& target, std::span<const Region> captured) {
  const auto without_file = images_without_file(dump, target, captured);
  if (without_file.empty()) return;
  const auto now = target.regions();
  if (!now) return;
  const auto is_replaced = [&](Address pc) {
    const Region* r = process::find_region(without_file, pc);
    if (r == nullptr) return false;
    const Region* other = process::find_region(*now, pc);
    return other == nullptr || !is_same_mapping(*r, *other);
  };
  for (ThreadDump& t : dump.threads) doubt_frames(t, is_replaced);
}

}  // namespace mixstack::session
