#include "dotnet/heap/heap_walk.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace mixstack::dotnet::objects {
namespace {

constexpr std::uint64_t kLeastObject = 24;      // behind a context lies room for one, which it may not use
constexpr std::uint64_t kHeaderBytes = 16;      // MethodTable and length
constexpr std::uint64_t kMostUnmade = 1 << 17;  // an object of generation 0 is smaller

}  // namespace

void HeapWalk::begin(const GcRegion& region, std::span<const AllocationContext> contexts) {
  range_ = region.objects;
  is_large_ = region.generation == HeapGeneration::large;
  contexts_ = {};
  if (region.generation == HeapGeneration::zero) {
    const auto first = std::lower_bound(contexts.begin(), contexts.end(), range_.begin,
                                        [](const AllocationContext& c, Address a) { return c.pointer < a; });
    contexts_ = contexts.subspan(static_cast<std::size_t>(first - contexts.begin()));
  }
  at_ = range_.begin;
  seen_ = {};
  last_word_ = 0;
}

std::optional<HeapWalk::Header> HeapWalk::header(const HeapBytes& bytes) {
  if (at_ - window_ >= seen_.size() || seen_.size() - (at_ - window_) < kHeaderBytes) {
    seen_ = bytes(at_, range_.end - at_);
    window_ = at_;
    if (seen_.size() < kHeaderBytes) return std::nullopt;
  }
  Header header;
  std::memcpy(&header.word, seen_.data() + (at_ - window_), sizeof header.word);
  std::memcpy(&header.length, seen_.data() + (at_ - window_) + 8, sizeof header.length);
  return header;
}

bool HeapWalk::is_known(std::uint64_t word) {
  if (word == last_word_ && word != 0) return true;
  const auto found = sizes_.find(word);
  if (!found) return false;
  type_ = *found;
  last_word_ = word;
  if (type_ >= sums_.size()) sums_.resize(sizes_.size());
  return true;
}

/// Several contexts overlap only where they are damaged: the walk goes forward in any case.
void HeapWalk::skip_context() {
  at_ = std::max(at_, contexts_.front().limit) + kLeastObject;
  while (next_context() < at_ && !contexts_.empty()) contexts_ = contexts_.subspan(1);
}

/// As much of the object as there is at hand, or can be had.
void HeapWalk::take_elements(const HeapBytes& bytes, std::uint32_t length, std::uint64_t size) {
  if (elements_->wants_all(type_, size) && seen_.size() - (at_ - window_) < size) {
    seen_ = bytes(at_, range_.end - at_);
    window_ = at_;
  }
  const auto rest = seen_.subspan(std::min(seen_.size(), static_cast<std::size_t>(at_ - window_)));
  elements_->take(type_, length, size,
                  rest.first(static_cast<std::size_t>(std::min<std::uint64_t>(rest.size(), size))));
}

/// The common case, without calls: objects of types that were met lately, one behind the other, within the bytes at
/// hand. Whatever else comes is left to `walk`.
void HeapWalk::walk_window(Recent& recent) {
  if (at_ < window_) return;
  const Address seen_end = window_ + seen_.size(), end = std::min(range_.end, next_context());
  Address at = at_;
  Recent::Type type;
  while (at < end && at < seen_end && seen_end - at >= kHeaderBytes) {
    const std::byte* const object = seen_.data() + (at - window_);
    std::uint64_t word = 0;
    std::uint32_t length = 0;
    std::memcpy(&word, object, sizeof word);
    std::memcpy(&length, object + sizeof word, sizeof length);
    // Most objects are of the type of the one before: then their sizes do not wait for the table.
    if (word != type.word) type = recent.at(word);
    if (word == 0 || word != type.word) break;
    const std::uint64_t size = type.size(length);
    if (size < kLeastObject || size > end - at) break;
    if (!type.is_plain) {
      if (size > seen_end - at) break;
      elements_->take(type.number, length, size, {object, static_cast<std::size_t>(size)});
    }
    TypeSum& sum = sums_[type.number];
    if (sum.count++ == 0) touched_.push_back(type.number);
    sum.bytes += size;
    if (observer_) observer_(at, type.number, size);
    at += size;
  }
  at_ = at;
}

RegionCount::End HeapWalk::walk(const HeapBytes& bytes) {
  using End = RegionCount::End;
  Recent recent;
  while (at_ < range_.end) {
    walk_window(recent);
    if (at_ >= range_.end) break;
    if (at_ == next_context()) {
      skip_context();
      continue;
    }
    const auto object = header(bytes);
    if (!object) return End::unreadable;
    if (!is_known(object->word)) {
      if (next_context() - at_ > kMostUnmade) return End::no_type;
      at_ = next_context();
      continue;
    }
    const ObjectSizes::Type& type = sizes_[type_];
    const bool is_plain = elements_ == nullptr || (!is_large_ && !elements_->wants_all(type_, 0));
    recent.at(object->word) = {object->word, type.base, type.component, type_, is_plain};
    const std::uint64_t size = type.size(object->length);
    if (size > next_context() - at_) {
      at_ = next_context();
      continue;
    }
    if (size < kLeastObject || size > range_.end - at_) return End::beyond;
    TypeSum& sum = sums_[type_];
    if (sum.count++ == 0) touched_.push_back(type_);
    sum.bytes += size;
    if (elements_ != nullptr) take_elements(bytes, object->length, size);
    if (observer_) observer_(at_, type_, size);
    at_ += size;
  }
  return at_ == range_.end ? End::whole : End::beyond;
}

RegionCount HeapWalk::count(const GcRegion& region, std::span<const AllocationContext> contexts,
                            const HeapBytes& bytes) {
  begin(region, contexts);
  if (elements_ != nullptr) elements_->begin(region.generation == HeapGeneration::large);
  RegionCount result;
  result.end = walk(bytes);
  result.at = at_;
  if (elements_ != nullptr) result.elements = elements_->end();
  for (const std::uint32_t type : touched_) {
    result.sums.push_back({type, sums_[type].count, sums_[type].bytes});
    sums_[type] = {};
  }
  touched_.clear();
  return result;
}

HeapBytes bytes_of(Address base, std::span<const std::byte> bytes) {
  return [base, bytes](Address at, std::uint64_t most) -> std::span<const std::byte> {
    if (at < base || at - base >= bytes.size()) return {};
    const auto rest = bytes.subspan(static_cast<std::size_t>(at - base));
    return rest.first(static_cast<std::size_t>(std::min<std::uint64_t>(rest.size(), most)));
  };
}

HeapBytes bytes_of(const MemoryReader& memory, std::size_t piece) {
  const auto buffer = std::make_shared<std::vector<std::byte>>(piece);
  return [&memory, buffer](Address at, std::uint64_t most) -> std::span<const std::byte> {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(buffer->size(), most));
    const auto got = memory.read_some(at, {buffer->data(), n});
    return {buffer->data(), got ? *got : 0};
  };
}

}  // namespace mixstack::dotnet::objects
