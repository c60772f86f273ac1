#include "process/live/root_reads.h"

#include <algorithm>
#include <cstring>

namespace mixstack::process {
namespace {

// A hostile list must not make us copy the whole process while it is stopped.
constexpr std::size_t kMaxRanges = 1 << 18;
constexpr std::uint64_t kMaxRangeBytes = 1 << 20;
constexpr std::uint64_t kMaxBytes = 64 << 20;

/// Notes what is read through it.
class NotingMemory final : public MemoryReader {
 public:
  NotingMemory(const MemoryReader& below, std::vector<AddressRange>& notes) : below_(below), notes_(notes) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    auto n = below_.read_some(address, out);
    if (n && notes_.size() < kMaxRanges) notes_.push_back({address, address + *n});
    return n;
  }

 private:
  const MemoryReader& below_;
  std::vector<AddressRange>& notes_;
};

/// For lists of objects that were made one after the other, whose links lie some kilobytes apart: what follows a link
/// is read with it, into room that is used again, once the way led from one to the next nearby.
class NearbyMemory final : public MemoryReader {
 public:
  explicit NearbyMemory(const MemoryReader& below) : below_(below) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    const bool is_near = address > last_ && address - last_ < kNear;
    last_ = address;
    if (!holds(address, out.size()) && is_near && out.size() < kNear) {
      window_.resize(kWindow);
      begin_ = address;
      size_ = below_.read_some(begin_, window_).value_or(0);
    }
    if (!holds(address, out.size())) return below_.read_some(address, out);
    std::memcpy(out.data(), window_.data() + (address - begin_), out.size());
    return out.size();
  }

 private:
  static constexpr std::size_t kWindow = 64 << 10, kNear = kWindow / 4;
  [[nodiscard]] bool holds(Address address, std::size_t size) const {
    return address >= begin_ && address - begin_ <= size_ && size <= size_ - (address - begin_);
  }

  const MemoryReader& below_;
  mutable std::vector<std::byte> window_;
  mutable Address begin_ = 0, last_ = 0;
  mutable std::size_t size_ = 0;
};

[[nodiscard]] bool is_acceptable(const AddressRange& r) { return !r.empty() && r.size() <= kMaxRangeBytes; }

[[nodiscard]] std::vector<AddressRange> merged(std::vector<AddressRange> ranges) {
  std::erase_if(ranges, [](const AddressRange& r) { return !is_acceptable(r); });
  if (ranges.size() > kMaxRanges) ranges.resize(kMaxRanges);
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::vector<AddressRange> out;
  for (const auto& r : ranges) {
    if (!out.empty() && r.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, r.end);
    } else {
      out.push_back(r);
    }
  }
  return out;
}

[[nodiscard]] MemorySlice slice_of(const memory::RangeRead& r) { return {r.address, r.out.first(r.done)}; }

}  // namespace

std::vector<memory::RangeRead> RootReads::make_reads(std::vector<AddressRange> ranges) {
  ranges = merged(std::move(ranges));
  std::uint64_t total = 0;
  std::size_t count = 0;
  while (count < ranges.size() && total + ranges[count].size() <= kMaxBytes) total += ranges[count++].size();
  ranges.resize(count);
  storage_.push_back(std::make_unique<std::byte[]>(std::max<std::size_t>(static_cast<std::size_t>(total), 1)));
  std::byte* at = storage_.back().get();
  std::vector<memory::RangeRead> reads;
  reads.reserve(ranges.size());
  for (const auto& r : ranges) {
    const auto size = static_cast<std::size_t>(r.size());
    reads.push_back({r.begin, {at, size}});
    at += size;
  }
  return reads;
}

void RootReads::rehearse(RootSource& source) {
  std::vector<AddressRange> ranges;
  // Some hundred reads of a few bytes; that they are a moment old does not matter here.
  const NearbyMemory nearby(running_);
  const NotingMemory noting(nearby, ranges);
  source.collect(noting, answer_);
  ranges.insert(ranges.end(), answer_.begin(), answer_.end());
  expected_ = make_reads(std::move(ranges));
}

RootReads RootReads::again() const {
  RootReads other(running_, in_stop_);
  other.expect(ranges());
  return other;
}

std::vector<AddressRange> RootReads::ranges() const {
  std::vector<AddressRange> ranges;
  ranges.reserve(expected_.size());
  for (const auto& r : expected_) ranges.push_back({r.address, r.address + r.out.size()});
  return ranges;
}

std::optional<MemorySlice> RootReads::find(AddressRange range) const {
  std::optional<MemorySlice> best;
  for (const auto* reads : {&expected_, &extra_}) {
    auto it = std::partition_point(reads->begin(), reads->end(),
                                   [&](const memory::RangeRead& r) { return r.address + r.out.size() <= range.begin; });
    if (it == reads->end() || it->address > range.begin || it->address + it->done <= range.begin) continue;
    const auto offset = static_cast<std::size_t>(range.begin - it->address);
    const auto size = static_cast<std::size_t>(std::min<Address>(range.size(), it->done - offset));
    if (!best || best->bytes.size() < size) best = MemorySlice{range.begin, it->out.subspan(offset, size)};
  }
  return best;
}

void RootReads::read(RootSource& source) {
  in_stop_.read_ranges(expected_);
  std::vector<MemorySlice> slices;
  slices.reserve(expected_.size());
  for (const auto& r : expected_) slices.push_back(slice_of(r));
  const memory::OverlayMemory overlay(slices, &in_stop_);
  answer_.clear();
  source.collect(overlay, answer_);
  std::vector<AddressRange> missing;
  for (const auto& r : answer_) {
    const auto held = is_acceptable(r) ? find(r) : std::nullopt;
    if (!held || held->bytes.size() < r.size()) missing.push_back(r);
  }
  if (missing.empty()) return;
  extra_ = make_reads(std::move(missing));
  in_stop_.read_ranges(extra_);
}

void RootReads::hand_over(Capture& capture) {
  for (const auto& r : answer_)
    if (auto slice = is_acceptable(r) ? find(r) : std::nullopt) capture.roots.push_back(*slice);
  for (auto& s : storage_) capture.storage.push_back(std::move(s));
}

}  // namespace mixstack::process
