#include "dotnet/heap/new_objects.h"

#include <algorithm>
#include <limits>

namespace mixstack::dotnet::objects {
namespace {

constexpr std::size_t kBefore = 2048;            // words: more than a gap at the end of a thread's room
constexpr std::uint64_t kMostRoom = 4 << 20;     // bytes; rooms are of 8 KiB, larger ones for large objects
constexpr std::uint64_t kLeastLarge = 80 << 10;  // GCgen0 size limits leave it at 85,000
constexpr std::uint64_t kSmallest = 24;          // bytes of the smallest object, and of a gap
constexpr Address kLowBits = 7;                  // of an object's first word: the collector's

}  // namespace

NewObjects::NewObjects(RuntimeMemory memory, Address dac_table, names::MethodNames& names)
    : memory_(memory), regions_(memory, dac_table), sizes_(memory), types_(memory, names) {
  if (const auto collector = find_collector(memory_, dac_table))
    heap_ = {memory_.pointer_at(collector->lowest).value_or(0), memory_.pointer_at(collector->highest).value_or(0)};
  free_ = memory_.through(memory_.layouts().globals.free_object_method_table).value_or(0);
}

std::vector<Address> NewObjects::in_heap(std::span<const std::uint64_t> words) const {
  std::vector<Address> places;
  for (const std::uint64_t word : words)
    if (word % 8 == 0 && heap_.contains(word)) places.push_back(word);
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

/// Nothing: no object begins there.
std::optional<std::uint64_t> NewObjects::size_at(Address object) {
  const auto first = memory_.reader().read<std::uint64_t>(object);
  const auto length = memory_.reader().read<std::uint32_t>(object + 8);
  if (!first || !length) return std::nullopt;
  const auto number = sizes_.find(*first);
  if (!number || sizes_[*number].is_free) return std::nullopt;
  return sizes_[*number].size(*length);
}

/// The object that begins behind a gap before `room`, or at it, and reaches into it; 0: there is none.
Address NewObjects::reaching_into(Address room) {
  before_.resize(kBefore);
  const Address from = std::max(room - std::min<Address>(room, kBefore * 8), heap_.begin);
  before_.resize(static_cast<std::size_t>((room - from) / 8));
  if (before_.size() < 3 || !memory_.reader().read_exact(from, std::as_writable_bytes(std::span(before_)))) return 0;
  for (std::size_t i = before_.size() - 2; i-- > 0;) {
    const bool is_gap = (before_[i] & ~kLowBits) == free_ && static_cast<std::uint32_t>(before_[i + 1]) == 0;
    if (!is_gap) continue;
    const Address object = from + i * 8 + kSmallest;
    const auto size = size_at(object);
    return size && object + *size > room ? object : 0;
  }
  return 0;
}

/// Where rooms begin, as far as the registers say: one of them is the room's limit, and another one its size, which is
/// that of the smallest object more. Without such ones all places before the last.
std::vector<Address> NewObjects::rooms(std::span<const std::uint64_t> words, std::span<const Address> places) {
  std::vector<Address> proved, possible;
  for (const Address place : places) {
    const auto is_size_to = [&](Address limit) {
      const std::uint64_t size = limit - place + kSmallest;
      return limit > place && size <= kMostRoom && std::find(words.begin(), words.end(), size) != words.end();
    };
    if (std::any_of(places.begin(), places.end(), is_size_to)) proved.push_back(place);
    if (place + kSmallest <= places.back() && places.back() - place <= kMostRoom) possible.push_back(place);
  }
  return proved.empty() ? possible : proved;
}

/// All rooms must prove the same object. One that begins with an object is not looked at further: before it may lie
/// what was there before the last collection.
Address NewObjects::small(std::span<const Address> rooms, Address limit) {
  Address found = 0;
  for (const Address room : rooms) {
    const auto size = size_at(room);
    const bool begins = size && room + *size <= limit + kSmallest;
    const Address object = begins ? room : reaching_into(room);
    if (object != 0 && found != 0 && object != found) return 0;
    if (object != 0) found = object;
  }
  return found;
}

Address NewObjects::large(std::span<const Address> places) {
  Address found = 0;
  for (const Address place : places) {
    const auto size = size_at(place);
    if (!size || *size < kLeastLarge) continue;
    if (found != 0) return 0;
    found = place;
  }
  return found;
}

Address NewObjects::type_of(std::span<const std::uint64_t> words, bool is_large) {
  const std::vector<Address> places = in_heap(words);
  if (places.empty() || free_ == 0) return 0;
  const Address object = is_large ? large(places) : small(rooms(words, places), places.back());
  return object == 0 ? 0 : memory_.pointer_at(object).value_or(0) & ~kLowBits;
}

std::string NewObjects::name(Address method_table) { return types_.csharp_name(method_table); }

}  // namespace mixstack::dotnet::objects
