#include "session/holder_parts.h"

#include <fmt/format.h>

#include "session/own_memory.h"

namespace mixstack::session {

HeapHolders no_holders(std::string why) {
  HeapHolders out;
  out.why_not = std::move(why);
  return out;
}

std::uint64_t numbered_bytes(const dotnet::objects::GcRegions& gc) {
  std::uint64_t sum = 0;
  for (std::size_t g = 0; g < gc.bytes.size(); g++)
    if (!dotnet::holders::RegionObjects::is_list(static_cast<HeapGeneration>(g))) sum += gc.bytes[g];
  return sum;
}

std::uint64_t objects_not_walked(const dotnet::objects::GcRegions& gc) {
  // Few objects are smaller, most of those that may be large are, and gaps between them are objects, too.
  constexpr std::uint64_t kSmall = 96, kLarge = 32 << 10;
  const auto bytes = [&](HeapGeneration g) { return gc.bytes.at(static_cast<std::size_t>(g)); };
  return (bytes(HeapGeneration::zero) + bytes(HeapGeneration::one) + bytes(HeapGeneration::pinned)) / kSmall +
         bytes(HeapGeneration::large) / kLarge;
}

std::string too_much_memory(std::uint64_t wanted, std::uint64_t allowed) {
  return fmt::format("it would take {} MB of our own memory, and {} MB are allowed (half of what is left here)",
                     wanted >> 20, allowed >> 20);
}

std::vector<std::uint64_t> words_of_stack(const MemoryReader& memory, AddressRange used, const Registers& registers) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>(used.size() / 8));
  const auto n = memory.read_some(used.begin, std::as_writable_bytes(std::span(words)));
  words.resize(n ? *n / 8 : 0);
  for (unsigned i = 0; i < Registers::kMax; i++)
    if (const auto value = registers.get(i)) words.push_back(*value);
  return words;
}

HeapHolders find_heap_holders(const HolderSearch& of) {
  const std::uint64_t most = of.options.most_memory != 0 ? of.options.most_memory : memory_to_take();
  return of.is_frozen ? find_holders_in_core(of, most) : find_holders_live(of, most);
}

}  // namespace mixstack::session
