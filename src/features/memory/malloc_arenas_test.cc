#include "features/memory/malloc_arenas.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/sparse_memory.h"

namespace mixstack::memory_use {
namespace {

Region region(Address begin, Address end, std::string path = {}) {
  Region r;
  r.range = {begin, end};
  r.path = std::move(path);
  r.readable = r.writable = true;
  return r;
}

/// A main arena in the writable pages of libc, a heap of brk, and one large block.
class MallocArenasTest : public ::testing::Test {
 protected:
  static constexpr Address kLibc = 0x7f0000000000, kArena = kLibc + 0x100, kHeap = 0x550000000000,
                           kLarge = 0x7f1000000000;
  MallocArenasTest() {
    memory_.map(kLibc, 0x2000);
    memory_.map(kHeap, 0x21000);
    memory_.map(kLarge, 0x40000);
    for (unsigned i = 0; i < 127; i++) {
      memory_.put_u64(kArena + 112 + 16 * i, kArena + 96 + 16 * i);
      memory_.put_u64(kArena + 112 + 16 * i + 8, kArena + 96 + 16 * i);
    }
    memory_.put_u64(kArena + 2160, kArena);
    memory_.put_u64(kArena + 2184, 0x21000);
    memory_.put_u64(kArena + 2192, 0x21000);
    chunk(0, 0x290, true);
    chunk(0x290, 0x40, true);
    chunk(0x2d0, 0x100, true);
    chunk(0x3d0, 0x50, false);  // its bit says: the one before is free
    top(0x420);
    memory_.put_u64(kLarge + 8, 0x30000 | 2);
  }
  void chunk(Address offset, std::uint64_t size, bool is_previous_used) {
    memory_.put_u64(kHeap + offset + 8, size | (is_previous_used ? 1 : 0));
  }
  void top(Address offset) {
    memory_.put_u64(kArena + 96, kHeap + offset);
    memory_.put_u64(kHeap + offset + 8, (0x21000 - offset) | 1);
  }
  MallocUse use(std::uint64_t page_bytes = 4096) { return malloc_use(memory_, regions_, page_bytes); }
  static std::uint64_t bytes(const MallocUse& use, MemoryKind kind) {
    std::uint64_t sum = 0;
    for (const MallocRange& r : use.ranges)
      if (r.kind == kind) sum += r.range.size();
    return sum;
  }

  test::SparseMemory memory_;
  std::vector<Region> regions_{region(kHeap, kHeap + 0x21000, "[heap]"),
                               region(kLibc, kLibc + 0x1000, "/lib/x86_64-linux-gnu/libc.so.6"),
                               region(kLibc + 0x1000, kLibc + 0x2000), region(kLarge, kLarge + 0x40000)};
};

TEST_F(MallocArenasTest, ChunksByUse) {
  const MallocUse found = use();
  ASSERT_EQ(found.arenas.size(), 1U);
  EXPECT_TRUE(found.arenas[0].is_main);
  EXPECT_TRUE(found.arenas[0].is_whole);
  EXPECT_EQ(found.arenas[0].address, kArena);
  EXPECT_EQ(found.arenas[0].used_chunks, 3U);
  EXPECT_EQ(found.arenas[0].used, 0x290U + 0x40 + 0x50);
  EXPECT_EQ(found.arenas[0].free, 0x100U + 0x21000 - 0x420);
  EXPECT_EQ(bytes(found, MemoryKind::malloc_used), 0x320U);
  EXPECT_EQ(bytes(found, MemoryKind::malloc_free), 0x21000U - 0x320);
  EXPECT_EQ(bytes(found, MemoryKind::malloc_large), 0x30000U);
}

TEST_F(MallocArenasTest, OtherArenasAreInTheRing) {
  constexpr Address kOther = 0x7f2000000000;  // 64 MB aligned
  memory_.map(kOther, 0x2000);
  memory_.put_u64(kOther, kOther + 0x30);
  memory_.put_u64(kOther + 16, 0x2000);
  memory_.put_u64(kOther + 24, 0x2000);
  memory_.put_u64(kArena + 2160, kOther + 0x30);
  memory_.put_u64(kOther + 0x30 + 2160, kArena);
  const Address first = kOther + 0x30 + 2208;
  memory_.put_u64(first + 8, 0x100 | 1);
  memory_.put_u64(first + 0x108, (kOther + 0x2000 - first - 0x100) | 1);
  memory_.put_u64(kOther + 0x30 + 96, first + 0x100);
  const MallocUse found = use();
  ASSERT_EQ(found.arenas.size(), 2U);
  EXPECT_TRUE(found.arenas[1].is_whole);
  EXPECT_EQ(found.arenas[1].used, 0x100U);
  EXPECT_EQ(found.arenas[1].free, kOther + 0x2000 - first - 0x100);
}

TEST_F(MallocArenasTest, AHeapThatIsNotWholeIsNotWalked) {
  chunk(0x290, 0x48, true);  // no size of a chunk
  const MallocUse found = use();
  ASSERT_EQ(found.arenas.size(), 1U);
  EXPECT_FALSE(found.arenas[0].is_whole);
  EXPECT_EQ(bytes(found, MemoryKind::malloc_unwalked), 0x21000U);
  EXPECT_EQ(bytes(found, MemoryKind::malloc_used), 0U);
}

TEST_F(MallocArenasTest, WithoutItsShapeThereIsNone) {
  memory_.put_u64(kArena + 2184, 0x21001);
  EXPECT_TRUE(use().arenas.empty());
  memory_.put_u64(kArena + 2184, 0x21000);
  for (unsigned i = 0; i < 110; i++) memory_.put_u64(kArena + 112 + 16 * i, 0);
  EXPECT_TRUE(use().arenas.empty());
}

TEST_F(MallocArenasTest, PagesAreThoseOfTheTarget) {
  EXPECT_TRUE(use(65536).arenas.empty());  // neither its size nor the end of its top chunk is of such pages
  memory_.map(kHeap, 0x30000);
  regions_[0].range.end = kHeap + 0x30000;
  memory_.put_u64(kArena + 2184, 0x30000);
  memory_.put_u64(kArena + 2192, 0x30000);
  memory_.put_u64(kHeap + 0x420 + 8, (0x30000 - 0x420) | 1);
  const MallocUse found = use(65536);
  ASSERT_EQ(found.arenas.size(), 1U);
  EXPECT_EQ(found.arenas[0].free, 0x100U + 0x30000 - 0x420);
  EXPECT_EQ(bytes(found, MemoryKind::malloc_large), 0x30000U);
  memory_.put_u64(kLarge + 8, 0x31000 | 2);  // no whole pages of 64 KiB: no block
  EXPECT_EQ(bytes(use(65536), MemoryKind::malloc_large), 0U);
}

TEST_F(MallocArenasTest, TheRingMayNotEnd) {
  memory_.put_u64(kArena + 2160, kArena + 8);
  EXPECT_LE(use().arenas.size(), 2U);
}

TEST_F(MallocArenasTest, LargeBlocksLieAnywhereInAMapping) {
  constexpr Address kAt = 0x7f3000000000;
  memory_.map(kAt, 0x100000);
  memory_.put_u64(kAt + 0x5008, 0x20000 | 2);    // a block between a stranger's pages
  memory_.put_u64(kAt + 0x10008, 0x40000 | 2);   // what the block holds is none
  memory_.put_u64(kAt + 0x30008, 0x1000 | 2);    // malloc makes no mapping for so little
  memory_.put_u64(kAt + 0x40008, 0x200000 | 2);  // more than the mapping has
  memory_.put_u64(kAt + 0x50000, 1);
  memory_.put_u64(kAt + 0x50008, 0x20000 | 2);  // its first word is not 0
  const Region mapping = region(kAt, kAt + 0x100000);
  EXPECT_TRUE(LargeBlocks::may_be_in(mapping));
  std::vector<AddressRange> found;
  LargeBlocks blocks(memory_, 4096);
  for (Address at = kAt; at < kAt + 0x100000; at += 0x8000)
    blocks.find(mapping, {at, at + 0x8000}, [&](AddressRange r) { found.push_back(r); });
  EXPECT_EQ(found, (std::vector<AddressRange>{{kAt + 0x5000, kAt + 0x25000}}));
}

/// An allocation came between the reading of the arena and that of its top chunk.
TEST_F(MallocArenasTest, AnArenaThatChangesIsLookedAtAgain) {
  class ChangedOnce final : public MemoryReader {
   public:
    explicit ChangedOnce(const MemoryReader& memory) : memory_(memory) {}
    [[nodiscard]] Result<std::size_t> read_some(Address at, std::span<std::byte> out) const override {
      const auto size = memory_.read_some(at, out);
      if (at != kHeap + 0x428 || looks_++ != 0) return size;
      const std::uint64_t chunk = 0x3f0 | 1;
      std::memcpy(out.data(), &chunk, sizeof chunk);
      return size;
    }

   private:
    const MemoryReader& memory_;
    mutable int looks_ = 0;
  };
  const ChangedOnce memory(memory_);
  EXPECT_EQ(malloc_use(memory, regions_, 4096).arenas.size(), 1U);
}

TEST_F(MallocArenasTest, OnlySoManyPagesAreLookedAt) {
  LargeBlocks blocks(memory_, 4096);
  const AddressRange all{0x10000, 0x10000 + 4096 * (LargeBlocks::kMostPages + 100)};
  blocks.find(region(all.begin, all.end), all, [](AddressRange) {});
  memory_.map(all.end - 0x40000, 0x40000);
  memory_.put_u64(all.end - 0x20000 + 8, 0x20000 | 2);
  std::size_t found = 0;
  blocks.find(region(all.begin, all.end), {all.end - 0x20000, all.end}, [&](AddressRange) { found++; });
  EXPECT_EQ(found, 0U);
}

TEST(AllocatorOf, ByItsFile) {
  const auto of = [](const char* path) { return allocator_of(std::vector<Region>{region(0x1000, 0x2000, path)}); };
  EXPECT_EQ(of("/usr/lib/libc.so.6"), "glibc");
  EXPECT_EQ(of("/usr/lib/libjemalloc.so.2"), "jemalloc");
  EXPECT_EQ(of("/lib/ld-musl-x86_64.so.1"), "musl");
  EXPECT_EQ(of("/usr/lib/x86_64-linux-musl/libc.so"), "musl");
  EXPECT_EQ(of("/app/libc.sorted"), "");
  EXPECT_EQ(of("/app/a"), "");
}

}  // namespace
}  // namespace mixstack::memory_use
