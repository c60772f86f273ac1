#include "session/heap_copy.h"

#include <gtest/gtest.h>

#include <cstring>

#include "dotnet/code/code_manager.h"
#include "dotnet/names/method_names.h"
#include "support/fake_heap.h"

namespace mixstack::session {
namespace {

using dotnet::holders::RegionObjects;
using dotnet::objects::GcRegion;
using dotnet::objects::GcRegions;

constexpr auto kLate = std::chrono::steady_clock::time_point::max();

/// Memory that can be read in many places at once, and counts how; some of it may be said to be missing.
class CountedMemory final : public memory::BulkMemory {
 public:
  explicit CountedMemory(const MemoryReader& of) : of_(of) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    reads++;
    largest = std::max(largest, out.size());
    return read(address, out);
  }
  void read_ranges(std::span<memory::RangeRead> ranges) const override {
    calls++;
    for (memory::RangeRead& r : ranges) {
      ranges_read++;
      r.done = 0;
      while (r.done < r.out.size()) {
        const auto n = read(r.address + r.done, r.out.subspan(r.done));
        if (!n || *n == 0) break;
        r.done += *n;
      }
    }
  }

  AddressRange missing;
  mutable std::size_t reads = 0, largest = 0, calls = 0, ranges_read = 0;

 private:
  [[nodiscard]] Result<std::size_t> read(Address address, std::span<std::byte> out) const {
    if (missing.contains(address)) return fail(ErrorCode::unreadable_memory, address);
    const bool is_before = address < missing.begin && missing.begin - address < out.size();
    return of_.read_some(address, is_before ? out.first(static_cast<std::size_t>(missing.begin - address)) : out);
  }

  const MemoryReader& of_;
};

/// A collector that does nothing.
class QuietCollector final : public CollectorState {
 public:
  [[nodiscard]] dotnet::Diagnosed<GcRegions> regions(const MemoryReader& /*now*/) const override { return GcRegions{}; }
  [[nodiscard]] bool is_moving(const MemoryReader& /*now*/) const override { return false; }
  [[nodiscard]] std::optional<std::uint64_t> collections(const MemoryReader& /*now*/) const override { return 1; }
  [[nodiscard]] bool sweeps(const MemoryReader& /*now*/) const override { return false; }
};

class HeapCopyTest : public ::testing::Test {
 protected:
  static constexpr Address kBegin = test::FakeHeap::kRegion;

  HeapCopyTest() {
    for (Address a = kBegin; a < kBegin + test::FakeHeap::kRegionSize; a += 8) heap_.memory.put_u64(a, a);
    region_.generation = HeapGeneration::two;
    region_.objects = {kBegin, kBegin + test::FakeHeap::kRegionSize};
    region_.committed = region_.reserved = region_.objects.end;
    gc_.regions = {region_};
  }

  /// A walk of the region finds these pieces.
  void keep(const std::vector<AddressRange>& referring) {
    kept_.clear();
    HeapStops stops({heap_.memory, collector_, epoch_, {}});
    kept_.keep(stops, region_, [&](const GcRegion& region, const dotnet::objects::HeapBytes& /*bytes*/) {
      RegionObjects objects;
      objects.range = region.objects;
      objects.referring = referring;
      return objects;
    });
    ASSERT_NE(kept_.find(region_, kEpoch), nullptr);
  }
  bool copy(const std::vector<AddressRange>& referring) {
    keep(referring);
    const HeapCopy::Cost cost = copy_.cost_of(gc_, kEpoch);
    copy_.reserve(cost.kept, cost.pieces);
    memory_.reads = memory_.largest = memory_.calls = memory_.ranges_read = 0;
    const bool is_copied = copy_.copy(gc_, kEpoch, kLate);
    reader_.image().sort();
    return is_copied;
  }
  /// Whether each piece is copied as it was, whatever memory is by now, and how many bytes that are.
  std::uint64_t copied(const std::vector<AddressRange>& pieces) {
    std::uint64_t sum = 0;
    for (const AddressRange& r : pieces) {
      const auto bytes = reader_.image().bytes_at(r.begin, r.size());
      EXPECT_EQ(bytes.size(), r.size()) << std::hex << r.begin;
      for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + i, 8);
        EXPECT_EQ(word, r.begin + i);
      }
      sum += bytes.size();
    }
    return sum;
  }
  static AddressRange piece(std::uint64_t offset, std::uint64_t size) {
    return {kBegin + offset, kBegin + offset + size};
  }

  static constexpr std::uint64_t kEpoch = 4;
  test::FakeHeap heap_;
  CountedMemory memory_{heap_.memory};
  dotnet::names::MethodNames names_{heap_.runtime(), {}};
  dotnet::CodeManager code_{heap_.runtime(), heap_.contracts};
  dotnet::holders::HolderReader reader_{heap_.runtime(), test::FakeHeap::kDacTable, names_, code_};
  QuietCollector collector_;
  const std::function<std::optional<std::uint64_t>()> epoch_ = [] { return std::optional<std::uint64_t>(kEpoch); };
  HeapCopy::Kept kept_;
  HeapCopy copy_{reader_, memory_, kept_};
  GcRegion region_;
  GcRegions gc_;
};

TEST_F(HeapCopyTest, PiecesNearEachOtherAreOneRead) {
  const std::vector<AddressRange> pieces{piece(0x100, 0x40), piece(0x200, 0x80),
                                         piece(0x280 + RegionObjects::kGapRead, 0x20)};
  ASSERT_TRUE(copy(pieces));
  EXPECT_EQ(copied(pieces), 0xe0U);
  EXPECT_EQ(copy_.copied(), 0xe0U);
  EXPECT_EQ(memory_.ranges_read, 0U);
  EXPECT_LE(memory_.largest, 0x1a0 + RegionObjects::kGapRead);
  // Bytes between them are not of the copy.
  EXPECT_TRUE(reader_.image().bytes_at(kBegin + 0x180, 8).empty());
}

TEST_F(HeapCopyTest, PiecesFarFromEachOtherAreReadEach) {
  std::vector<AddressRange> pieces;
  for (std::uint64_t i = 0; i < 40; i++) pieces.push_back(piece(i * (RegionObjects::kGapRead + 0x48), 0x40));
  ASSERT_TRUE(copy(pieces));
  EXPECT_EQ(copied(pieces), 40U * 0x40);
  EXPECT_EQ(memory_.ranges_read, 40U);
  EXPECT_EQ(memory_.calls, 1U);
}

TEST_F(HeapCopyTest, NearAndFarOnesInTurn) {
  std::vector<AddressRange> pieces;
  std::uint64_t at = 0, sum = 0;
  for (std::uint64_t i = 0; i < 200; i++) {
    pieces.push_back(piece(at, 8 * (1 + i % 5)));
    sum += pieces.back().size();
    at += pieces.back().size() + (i % 3 == 0 ? RegionObjects::kGapRead + 8 : 8 * (i % 7));
  }
  ASSERT_TRUE(copy(pieces));
  EXPECT_EQ(copied(pieces), sum);
  EXPECT_EQ(copy_.copied(), sum);
  EXPECT_TRUE(copy_.compare());
  EXPECT_EQ(copy_.changed(), 0U);
  heap_.memory.put_u64(pieces[77].begin, 5);
  heap_.memory.put_u64(pieces[77].end, 5);  // behind a piece, or the next one's first word
  EXPECT_TRUE(copy_.compare());
  EXPECT_EQ(copy_.changed(), pieces[78].begin == pieces[77].end ? 2U : 1U);
}

/// More than the buffer holds: several reads, none of which is larger.
TEST_F(HeapCopyTest, ManyNearOnesTakeSeveralReads) {
  constexpr std::uint64_t kStep = 0x800, kBuffer = 1 << 18;
  std::vector<AddressRange> pieces;
  for (std::uint64_t i = 0; i + 1 < test::FakeHeap::kRegionSize / kStep; i++) pieces.push_back(piece(i * kStep, 0x400));
  ASSERT_TRUE(copy(pieces));
  EXPECT_EQ(copied(pieces), pieces.size() * 0x400);
  EXPECT_LE(memory_.largest, kBuffer);
  EXPECT_EQ(memory_.ranges_read, 0U);
}

/// A gap may have no memory (pages that were given back): then pieces are read without it.
TEST_F(HeapCopyTest, AGapThatCannotBeRead) {
  const std::vector<AddressRange> pieces{piece(0x100, 0x40), piece(0x200, 0x80), piece(0x400, 0x40)};
  memory_.missing = piece(0x300, 0x80);
  ASSERT_TRUE(copy(pieces));
  EXPECT_EQ(copied(pieces), 0x100U);
  EXPECT_EQ(copy_.copied(), 0x100U);
  memory_.missing = piece(0x240, 8);
  EXPECT_FALSE(copy(pieces));
}

TEST_F(HeapCopyTest, ALateCopyIsNone) {
  keep({piece(0, 8), piece(16, 8)});
  copy_.reserve(64, 4);
  EXPECT_FALSE(copy_.copy(gc_, kEpoch, std::chrono::steady_clock::time_point::min()));
}

}  // namespace
}  // namespace mixstack::session
