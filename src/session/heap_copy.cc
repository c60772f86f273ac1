#include "session/heap_copy.h"

#include <algorithm>
#include <cstring>

#include "base/memory/process_memory.h"

namespace mixstack::session {
namespace {

using dotnet::holders::RegionObjects;
using dotnet::objects::GcRegion;
using dotnet::objects::GcRegions;
using End = dotnet::objects::RegionCount::End;
using std::chrono::steady_clock;

constexpr std::size_t kPiece = 1 << 20, kHeader = 64, kBatch = 1024;

bool is_large(const GcRegion& r) {
  return r.generation == HeapGeneration::large || r.generation == HeapGeneration::pinned;
}

}  // namespace

std::uint64_t HeapCopy::bytes_of(const GcRegions& gc, std::optional<std::uint64_t> epoch) {
  std::uint64_t sum = 0;
  const auto headers = dotnet::objects::bytes_of(memory_, kHeader);
  for (const GcRegion& r : gc.regions) {
    if (r.objects.empty()) continue;
    if (const RegionObjects* k = Kept::is_old(r) ? kept_.find(r, epoch) : nullptr; k != nullptr) {
      sum += k->referring_bytes();
    } else if (is_large(r)) {
      const RegionObjects objects = reader_.walk(r, {}, headers);
      sum += objects.end == End::whole ? objects.referring_bytes() : r.objects.size();
    } else {
      sum += r.objects.size();
    }
  }
  return sum;
}

void HeapCopy::reserve(std::uint64_t bytes) {
  clear();
  reader_.image().reserve(static_cast<std::size_t>(bytes));
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

/// Many little pieces with few system calls, where the memory can.
bool HeapCopy::copy_ranges(std::span<const AddressRange> ranges, Time end) {
  const auto* bulk = dynamic_cast<const memory::BulkMemory*>(&memory_);
  if (bulk == nullptr)
    return std::all_of(ranges.begin(), ranges.end(), [&](const AddressRange& r) { return copy_range(r, end); });
  std::vector<memory::RangeRead> reads;
  for (std::size_t i = 0; i < ranges.size(); i++) {
    const std::span<std::byte> out = reader_.image().add(ranges[i]);
    if (out.size() != ranges[i].size()) return false;
    reads.push_back({ranges[i].begin, out});
    if (reads.size() < kBatch && i + 1 < ranges.size()) continue;
    bulk->read_ranges(reads);
    for (const memory::RangeRead& read : reads) {
      // Bulk reads leave out pages that were never touched (the end of a new array): single ones know their zeros.
      if (read.done != read.out.size() && !memory_.read_exact(read.address + read.done, read.out.subspan(read.done)))
        return false;
      copied_ += read.out.size();
    }
    reads.clear();
    if (steady_clock::now() > end) return false;
  }
  return true;
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
