// Holders of the objects of a core: all of one moment, as far as the core has it.
#include <fmt/format.h>

#include "session/holder_parts.h"

namespace mixstack::session {
namespace {

using dotnet::holders::HeapMoment;
using dotnet::holders::RegionObjects;
using dotnet::objects::GcRegion;
using End = dotnet::objects::RegionCount::End;

constexpr std::size_t kPiece = 1 << 20;

/// Words of stacks as the core has them.
void add_stacks(Target& target, const dotnet::RuntimeMemory& memory, HeapMoment& moment) {
  const auto managed = dotnet::holders::HolderReader::threads(memory);
  CaptureRequest request;
  request.initial_stack_bytes = kMostStack;
  const auto capture = target.capture(request);
  if (!capture) return;
  for (const ThreadCapture& t : capture->threads) {
    const Address sp = t.registers.sp();
    const auto at = std::find_if(managed.begin(), managed.end(), [&](const auto& m) { return m.stack.contains(sp); });
    if (!t.captured || at == managed.end()) continue;
    moment.roots.stacks.push_back({t.tid, t.comm, words_of_stack(memory.reader(), used_stack(*at, sp), t.registers),
                                   *at, t.registers, capture->pac_mask});
  }
}

}  // namespace

HeapHolders find_holders_in_core(const HolderSearch& of, std::uint64_t most_memory) {
  const MemoryReader& memory = of.target.memory();
  if (of.reader.is_moving(memory))
    return no_holders("the core was taken during a garbage collection, in which objects are moved");
  auto gc = of.reader.regions(memory);
  if (!gc) return no_holders(gc.error().text);
  HeapMoment moment;
  moment.gc = std::move(*gc);
  const auto bytes = dotnet::objects::bytes_of(memory, kPiece);
  std::uint64_t objects = 0, walked = 0, torn = 0;
  std::string why;
  for (const GcRegion& r : moment.gc.regions) {
    if (r.objects.empty()) continue;
    if (!RegionObjects::is_list(r.generation)) walked += r.objects.size();
    const std::uint64_t wanted = dotnet::holders::HolderReader::memory_for(objects, walked, !of.options.of.empty());
    if (wanted > most_memory) return no_holders(too_much_memory(wanted, most_memory));
    RegionObjects found = of.reader.walk(r, moment.gc.contexts, bytes);
    objects += found.shapes.size();
    if (found.end != End::whole && torn++ == 0) why = words_of_end(found.end, found.at, r.generation);
    moment.regions.push_back(std::move(found));
  }
  const std::uint64_t wanted = dotnet::holders::HolderReader::memory_for(objects, walked, !of.options.of.empty());
  if (wanted > most_memory) return no_holders(too_much_memory(wanted, most_memory));
  const std::size_t regions = moment.gc.regions.size();
  std::string missing;
  moment.roots = of.reader.roots(memory, missing);
  add_stacks(of.target, of.reader.memory(), moment);
  HeapHolders out = of.reader.find(std::move(moment), of.options);
  if (torn != 0) missing = fmt::format("{} of {} regions could not be followed to their ends: {}", torn, regions, why);
  if (!missing.empty()) {
    out.is_exact = false;
    out.why_not = missing;
  }
  return out;
}

}  // namespace mixstack::session
