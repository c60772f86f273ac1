#include "session/holder_parts.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/system/small_file.h"
#include "process/live/kernel_counters.h"

namespace mixstack::session {

HeapHolders no_holders(std::string why) {
  HeapHolders out;
  out.why_not = std::move(why);
  return out;
}

std::uint64_t all_bytes(const dotnet::objects::GcRegions& gc) {
  std::uint64_t sum = 0;
  for (const std::uint64_t bytes : gc.bytes) sum += bytes;
  return sum;
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

std::uint64_t memory_to_take() {
  std::uint64_t left = std::uint64_t{1} << 30;  // where the kernel does not say
  constexpr std::size_t kMost = 64 << 10;
  constexpr std::string_view kKey = "MemAvailable:";
  const std::string text = base::text_at("/proc/meminfo", kMost);
  const std::size_t at = text.find(kKey);
  if (at != std::string::npos) left = std::strtoull(text.c_str() + at + kKey.size(), nullptr, 10) << 10;
  const KernelCounters own = process::kernel_counters(static_cast<std::uint32_t>(::getpid()));
  if (own.memory_limit && own.memory_used)
    left = std::min(left, *own.memory_limit - std::min(*own.memory_limit, *own.memory_used));
  return left / 2;
}

HeapHolders find_heap_holders(const HolderSearch& of) {
  const std::uint64_t most = of.options.most_memory != 0 ? of.options.most_memory : memory_to_take();
  return of.is_frozen ? find_holders_in_core(of, most) : find_holders_live(of, most);
}

}  // namespace mixstack::session
