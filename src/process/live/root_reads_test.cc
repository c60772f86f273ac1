#include "process/live/root_reads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "support/sparse_memory.h"

namespace mixstack::process {
namespace {

constexpr Address kHead = 0x1000;

/// Counts how often it is read.
class Counted final : public memory::BulkMemory {
 public:
  explicit Counted(const test::SparseMemory& memory) : memory_(memory) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    reads++;
    std::size_t done = 0;
    while (done < out.size()) {
      const auto n = memory_.read_some(address + done, out.subspan(done));
      if (!n) break;
      done += *n;
    }
    return done != 0 ? Result<std::size_t>(done) : fail(ErrorCode::unreadable_memory, address);
  }
  void read_ranges(std::span<memory::RangeRead> ranges) const override {
    for (auto& r : ranges) r.done = memory_.read_some(r.address, r.out).value_or(0);
  }
  mutable std::size_t reads = 0;

 private:
  const test::SparseMemory& memory_;
};

/// A list whose elements are a word, which is where the next one is.
class List final : public RootSource {
 public:
  void collect(const MemoryReader& memory, std::vector<AddressRange>& out) override {
    found.clear();
    for (auto at = memory.read<std::uint64_t>(kHead); at && *at != 0 && found.size() < 1000;
         at = memory.read<std::uint64_t>(*at)) {
      found.push_back(*at);
      out.push_back({*at, *at + 8});
    }
  }
  std::vector<Address> found;
};

struct Lists : testing::Test {
  void chain(const std::vector<Address>& places) {
    memory.map(kHead, 8);
    Address from = kHead;
    for (const Address place : places) {
      memory.put_u64(from, place);
      from = place;
    }
    memory.put_u64(from, 0);
  }
  /// Answers how many reads it took before the stop; in it there is to be none.
  std::size_t rehearse(const std::vector<Address>& places) {
    chain(places);
    const Counted running(memory), stopped(memory);
    RootReads roots(running, stopped);
    List list;
    roots.rehearse(list);
    EXPECT_EQ(list.found, places);
    roots.read(list);
    EXPECT_EQ(list.found, places);
    EXPECT_EQ(stopped.reads, 0u);
    EXPECT_TRUE(roots.was_expected());
    return running.reads;
  }
  test::SparseMemory memory;
};

TEST_F(Lists, NeighboursAreReadTogether) {
  constexpr std::size_t kCount = 200, kApart = 6480;
  memory.map(0x100000, kCount * kApart + 8);
  std::vector<Address> places;
  for (std::size_t i = 0; i < kCount; i++) places.push_back(0x100000 + i * kApart);
  EXPECT_LT(rehearse(places), kCount / 4) << "and the last window ends where the memory does";
}

TEST_F(Lists, InAnyOrder) {
  memory.map(0x100000, 1 << 20);
  std::vector<Address> places;
  for (Address i = 0; i < 100; i++) places.push_back(0x100000 + (i * 61) % 100 * 0x2000 + i % 7 * 8);
  EXPECT_LE(rehearse(places), places.size() + 1);
  std::sort(places.begin(), places.end(), std::greater());
  EXPECT_LE(rehearse(places), places.size() + 1);
}

TEST_F(Lists, OnPagesThatLieAlone) {
  std::vector<Address> places;
  for (Address i = 0; i < 50; i++) {
    places.push_back(0x200000 + i * 0x3000);
    memory.map(places.back(), 8);
  }
  EXPECT_LE(rehearse(places), 2 * places.size() + 1);
}

}  // namespace
}  // namespace mixstack::process
