#include <fmt/format.h>

#include "session/heap_stops.h"
#include "session/heap_types.h"

namespace mixstack::session {
namespace {

using dotnet::objects::GcRegion;
using dotnet::objects::RegionCount;

constexpr std::size_t kPiece = 1 << 20;

HeapTypes refused(std::string why) {
  HeapTypes out;
  out.why_not = std::move(why);
  return out;
}

}  // namespace

HeapTypes count_core_types(const TypeCounting& of) {
  if (of.counter.is_moving(of.memory))
    return refused("the core was taken during a garbage collection, in which objects are moved");
  const auto gc = of.counter.regions(of.memory);
  if (!gc) return refused(gc.error().text);
  const auto bytes = dotnet::objects::bytes_of(of.memory, kPiece);
  std::size_t torn = 0;
  std::string why;
  for (const GcRegion& r : gc->regions) {
    if (r.objects.empty()) continue;
    const RegionCount count = of.counter.count(r, gc->contexts, bytes);
    of.counter.add(r, count);
    if (count.end == RegionCount::End::whole) continue;
    if (torn++ == 0) why = words_of_end(count.end, count.at, r.generation);
  }
  HeapTypes out = of.counter.take(*gc);
  out.is_exact = torn == 0;
  if (torn != 0)
    out.why_not =
        fmt::format("{} of {} regions could not be followed to their ends: {}", torn, gc->regions.size(), why);
  return out;
}

}  // namespace mixstack::session
