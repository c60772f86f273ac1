#include "dotnet/heap/heap_walk.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace mixstack::dotnet::objects {
namespace {

constexpr std::uint64_t kLeastObject = 24;      // behind a context lies room for one, which it may not use
constexpr std::uint64_t kMostUnmade = 1 << 17;  // an object of generation 0 is smaller

}  // namespace

void HeapWalk::begin(const GcRegion& region, std::span<const AllocationContext> contexts) {
  range_ = region.objects;
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
  constexpr std::size_t kHeader = 16;
  if (at_ - window_ >= seen_.size() || seen_.size() - (at_ - window_) < kHeader) {
    seen_ = bytes(at_, range_.end - at_);
    window_ = at_;
    if (seen_.size() < kHeader) return std::nullopt;
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

RegionCount::End HeapWalk::walk(const HeapBytes& bytes) {
  using End = RegionCount::End;
  while (at_ < range_.end) {
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
    const std::uint64_t size = sizes_[type_].size(object->length);
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
