#include "session/heap_copy.h"

#include <algorithm>
#include <cstring>

namespace mixstack::session {
namespace {

using dotnet::holders::RegionObjects;
using dotnet::objects::GcRegion;
using dotnet::objects::GcRegions;
using End = dotnet::objects::RegionCount::End;
using std::chrono::steady_clock;

constexpr std::size_t kPiece = 1 << 20, kHeader = 64, kBatch = 1024, kNear = 1 << 18;

bool is_large(const GcRegion& r) {
  return r.generation == HeapGeneration::large || r.generation == HeapGeneration::pinned;
}

}  // namespace

HeapCopy::Cost HeapCopy::cost_of(const GcRegions& gc, std::optional<std::uint64_t> epoch) {
  Cost sum;
  const auto add = [&](const RegionObjects& objects) {
    sum.kept += objects.referring_bytes();
    sum.read += objects.reading_bytes();
    sum.pieces += objects.referring.size();
  };
  const auto headers = dotnet::objects::bytes_of(memory_, kHeader);
  for (const GcRegion& r : gc.regions) {
    if (r.objects.empty()) continue;
    if (const RegionObjects* k = Kept::is_old(r) ? kept_.find(r, epoch) : nullptr; k != nullptr) {
      add(*k);
      continue;
    }
    if (is_large(r)) {
      const RegionObjects objects = reader_.walk(r, {}, headers);
      if (objects.end == End::whole) {
        add(objects);
        continue;
      }
    }
    sum.kept += r.objects.size();
    sum.read += r.objects.size();
    sum.pieces++;
  }
  return sum;
}

void HeapCopy::reserve(std::uint64_t bytes, std::uint64_t pieces) {
  clear();
  reader_.image().reserve(static_cast<std::size_t>(bytes), static_cast<std::size_t>(pieces));
  near_.assign(kNear, std::byte{1});
}

void HeapCopy::clear() {
  reader_.image().clear();
  parts_.clear();
  copied_ = changed_ = 0;
}

bool HeapCopy::keep(AddressRange range) {
  const auto out = reader_.image().add(range);
  return out.size() == range.size() && memory_.read_exact(range.begin, out);
}

bool HeapCopy::copy_range(AddressRange range, Time end) {
  const std::span<std::byte> out = reader_.image().add(range);
  if (out.size() != range.size()) return false;
  for (std::size_t done = 0; done < out.size(); done += std::min(kPiece, out.size() - done)) {
    if (!memory_.read_exact(range.begin + done, out.subspan(done, std::min(kPiece, out.size() - done)))) return false;
    if (steady_clock::now() > end) return false;
  }
  copied_ += out.size();
  return true;
}

/// Pieces from the first one on that lie near each other, by one read: a piece of its own costs as much as a little
/// gap. Answers how many; 0: they are to be read each.
std::size_t HeapCopy::copy_near(std::span<const AddressRange> ranges) {
  const Address begin = ranges[0].begin;
  std::size_t n = 1;
  while (n < ranges.size() && ranges[n].begin - ranges[n - 1].end <= RegionObjects::kGapRead &&
         ranges[n].end - begin <= near_.size())
    n++;
  if (n == 1) return 0;
  const std::span<std::byte> all(near_.data(), static_cast<std::size_t>(ranges[n - 1].end - begin));
  if (!memory_.read_exact(begin, all)) return 0;
  for (const AddressRange& r : ranges.first(n)) {
    const std::span<std::byte> out = reader_.image().add(r);
    if (out.size() != r.size()) return 0;
    std::memcpy(out.data(), all.data() + (r.begin - begin), out.size());
    copied_ += out.size();
  }
  return n;
}

/// Room for the copies has been taken.
bool HeapCopy::read_each(std::vector<memory::RangeRead>& reads) {
  dynamic_cast<const memory::BulkMemory&>(memory_).read_ranges(reads);
  for (const memory::RangeRead& read : reads) {
    // Bulk reads leave out pages that were never touched (the end of a new array): single ones know their zeros.
    if (read.done != read.out.size() && !memory_.read_exact(read.address + read.done, read.out.subspan(read.done)))
      return false;
    copied_ += read.out.size();
  }
  reads.clear();
  return true;
}

/// Many little pieces with few system calls, where the memory can.
bool HeapCopy::copy_ranges(std::span<const AddressRange> ranges, Time end) {
  if (dynamic_cast<const memory::BulkMemory*>(&memory_) == nullptr)
    return std::all_of(ranges.begin(), ranges.end(), [&](const AddressRange& r) { return copy_range(r, end); });
  std::vector<memory::RangeRead> reads;
  for (std::size_t i = 0; i < ranges.size();) {
    const std::size_t near = copy_near(ranges.subspan(i));
    i += near;
    if (near == 0) {
      const std::span<std::byte> out = reader_.image().add(ranges[i]);
      if (out.size() != ranges[i].size()) return false;
      reads.push_back({ranges[i++].begin, out});
    }
    if (reads.size() == kBatch && !read_each(reads)) return false;
    if ((near != 0 || reads.empty()) && steady_clock::now() > end) return false;
  }
  return read_each(reads);
}

bool HeapCopy::copy(const GcRegions& gc, std::optional<std::uint64_t> epoch, Time end) {
  const auto headers = dotnet::objects::bytes_of(memory_, kHeader);
  parts_.clear();
  for (const GcRegion& r : gc.regions) {
    if (r.objects.empty()) continue;
    Part part{r};
    bool is_copied = false;
    if (is_large(r)) {
      part.objects = reader_.walk(r, {}, headers);
      is_copied = copy_ranges(part.objects.referring, end);
    } else if (RegionObjects* k = Kept::is_old(r) ? kept_.find(r, epoch) : nullptr; k != nullptr) {
      part.kept = k;
      is_copied = copy_ranges(k->referring, end);
    } else {
      part.is_copied = true;
      is_copied = copy_range(r.objects, end);
    }
    if (!is_copied || steady_clock::now() > end) return false;
    parts_.push_back(std::move(part));
  }
  return true;
}

bool HeapCopy::walk(const GcRegions& gc, std::vector<RegionObjects>& regions, std::string& why) {
  reader_.image().sort();
  for (Part& part : parts_) {
    if (part.is_copied) {
      const auto bytes = reader_.image().bytes_at(part.region.objects.begin, part.region.objects.size());
      part.objects =
          reader_.walk(part.region, gc.contexts, dotnet::objects::bytes_of(part.region.objects.begin, bytes));
    }
    const RegionObjects& objects = part.kept != nullptr ? *part.kept : part.objects;
    if (objects.end == End::whole) continue;
    why = words_of_end(objects.end, objects.at, part.region.generation);
    return false;
  }
  for (Part& part : parts_) regions.push_back(std::move(part.kept != nullptr ? *part.kept : part.objects));
  parts_.clear();
  kept_.clear();
  return true;
}

bool HeapCopy::compare() {
  std::vector<std::byte> now(kPiece);
  bool is_read = true;
  reader_.image().each([&](Address at, std::span<std::byte> then) {
    for (std::size_t done = 0; is_read && done < then.size(); done += std::min(kPiece, then.size() - done)) {
      const auto old = then.subspan(done, std::min(kPiece, then.size() - done));
      const auto bytes = std::span(now).first(old.size());
      is_read = memory_.read_exact(at + done, bytes).has_value();
      if (!is_read || std::memcmp(old.data(), bytes.data(), old.size()) == 0) continue;
      for (std::size_t i = 0; i + 8 <= old.size(); i += 8) {
        if (std::memcmp(old.data() + i, bytes.data() + i, 8) == 0) continue;
        std::memset(old.data() + i, 0, 8);
        changed_++;
      }
    }
  });
  return is_read;
}

}  // namespace mixstack::session
