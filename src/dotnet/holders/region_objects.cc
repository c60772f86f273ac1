#include "dotnet/holders/region_objects.h"

#include <algorithm>

namespace mixstack::dotnet::holders {
namespace {

constexpr std::uint64_t kBridged = 256;  // a read of its own costs more than such a gap

}  // namespace

std::uint32_t ObjectShapes::find(std::uint32_t type, std::uint64_t size) {
  if (last_ < shapes_.size() && shapes_[last_].type == type && shapes_[last_].size == size) return last_;
  auto& same = by_key_[size * 0x9e3779b97f4a7c15u + type];
  for (const std::uint32_t number : same)
    if (shapes_[number].type == type && shapes_[number].size == size) return last_ = number;
  if (shapes_.size() == kMostShapes) {
    is_full_ = true;
    return last_;
  }
  last_ = static_cast<std::uint32_t>(shapes_.size());
  shapes_.push_back({size, type});
  same.push_back(last_);
  return last_;
}

const GcDesc* TypeReferences::of(std::uint32_t type) {
  if (type >= known_.size()) known_.resize(sizes_.size());
  auto& known = known_[type];
  if (!known) {
    known = std::make_unique<Known>();
    auto desc = sizes_[type].is_free ? GcDesc{} : GcDesc::read(memory_, sizes_[type].method_table);
    known->state = desc ? State::read : State::torn;
    if (desc) known->desc = std::move(*desc);
  }
  return known->state == State::read ? &known->desc : nullptr;
}

std::uint64_t RegionObjects::referring_bytes() const {
  std::uint64_t sum = 0;
  for (const AddressRange& r : referring) sum += r.size();
  return sum;
}

std::uint64_t RegionObjects::reading_bytes() const {
  std::uint64_t sum = 0;
  Address end = 0;
  for (const AddressRange& r : referring) {
    sum += r.size() + std::min(r.begin - end, kGapRead);
    end = r.end;
  }
  return sum;
}

RegionWalk::RegionWalk(ObjectSizes& sizes, TypeReferences& references, ObjectShapes& shapes)
    : references_(references), shapes_(shapes), walk_(sizes) {
  walk_.tell([this](Address object, std::uint32_t type, std::uint64_t size) { add(object, type, size); });
}

void RegionWalk::add(Address object, std::uint32_t type, std::uint64_t size) {
  if (now_.bits.empty()) {
    now_.begins.push_back(object);
  } else {
    const std::uint64_t word = (object - now_.range.begin) / 8;
    now_.bits[word / 64] |= std::uint64_t{1} << word % 64;
  }
  now_shapes_.push_back(shapes_.find(type, size));
  if (!references_.may_refer(type)) return;
  if (!now_.referring.empty() && object - now_.referring.back().end <= kBridged) {
    now_.referring.back().end = object + size;
  } else {
    now_.referring.push_back({object, object + size});
  }
}

RegionObjects RegionWalk::walk(const objects::GcRegion& region, std::span<const objects::AllocationContext> contexts,
                               const objects::HeapBytes& bytes) {
  now_ = {};
  now_shapes_.clear();
  now_.range = region.objects;
  const std::uint64_t words = region.objects.size() / 8;
  constexpr std::uint64_t kBlock = RegionObjects::kBlock;
  if (!RegionObjects::is_list(region.generation)) now_.bits.assign((words + kBlock - 1) / kBlock * (kBlock / 64), 0);
  const objects::RegionCount count = walk_.count(region, contexts, bytes);
  now_.shapes.assign(now_shapes_.begin(), now_shapes_.end());  // kept for long, so no longer than they are
  now_.referring.shrink_to_fit();
  now_.end = count.end;
  now_.at = count.at;
  return std::move(now_);
}

}  // namespace mixstack::dotnet::holders
