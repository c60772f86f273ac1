#include "dotnet/code/gc_moves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/memory/buffer_memory.h"

namespace mixstack::dotnet {
namespace {

constexpr Address kTable = 0x1000, kGlobals = 0x3000, kVars = 0x5000, kCounts = 0x6000, kInvalid = 0x7000,
                  kHeaps = 0x8000, kHeap = 0x9000;

/// A process with the words that the collector keeps.
struct Process {
  std::vector<std::uint64_t> table = std::vector<std::uint64_t>(43);
  std::uint64_t suspends = 0;
  std::uint32_t invalid = 0;
  std::uint8_t version = 2;
  bool is_server = false;
  std::uint64_t first_count = 0x60;
  std::vector<std::uint64_t> counts{1, 2, 3, 4, 5, 6};
  Layouts layouts;

  Process() {
    auto& g = layouts.globals;
    g.thread_store = {kGlobals, true};
    g.finalizer_thread = {kGlobals + 8, true};
    g.gc_thread = {kGlobals + 16, true};
    g.app_domain = {kGlobals + 24, true};
    g.object_method_table = {kGlobals + 40, true};
    layouts.pointer_size = 8;
    table[15] = kGlobals;
    table[16] = kGlobals + 8;
    table[17] = kGlobals + 16;
    table[18] = kGlobals + 48;
    table[19] = kGlobals + 32;
    table[20] = kGlobals + 24;
    table[42] = kGlobals + 40;
  }
  [[nodiscard]] memory::BufferMemory memory() const {
    memory::BufferMemory m;
    const auto add = [&m](Address at, const std::vector<std::uint64_t>& words) {
      std::vector<std::byte> bytes(words.size() * 8);
      std::memcpy(bytes.data(), words.data(), bytes.size());
      m.add(at, bytes);
    };
    add(kTable, table);
    add(kGlobals, {0x11, 0x22, suspends, 0x44, kVars, 0x55, is_server ? 2u : 1u});
    std::vector<std::uint64_t> vars(3 + 28);
    vars[0] = version | 4u << 8;
    vars[1] = 256;
    vars[2] = 5;
    vars[3 + 2] = is_server ? 0 : kCounts;
    vars[3 + 20] = is_server ? kHeaps : 0;
    vars[3 + 21] = kInvalid;
    vars[3 + 27] = is_server ? kHeaps + 16 : 0;
    add(kHeaps,
        {kHeaps + 8, kHeap, 0, 0, first_count, 0, 0x150});  // offsets are of 32 bits: the 5th and the 9th of them
    add(kVars, vars);
    add(kCounts, counts);
    add(kInvalid, {invalid});
    return m;
  }
  [[nodiscard]] std::optional<GcCounts> find() const {
    const auto m = memory();
    return find_gc_counts({m, layouts}, kTable);
  }
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> read() const {
    const auto m = memory();
    return read_gc_counts({m, layouts}, {{kCounts, kCounts + 48}, kInvalid});
  }
};

TEST(GcMoves, CountsAreFoundThroughTheTable) {
  const auto found = Process().find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->counts.begin, kCounts);
  EXPECT_EQ(found->counts.size(), 48u);
  EXPECT_EQ(found->invalid, kInvalid);
  EXPECT_EQ(Process().read(), (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6}));
}

TEST(GcMoves, AServersFirstHeapCounts) {
  Process server;
  server.is_server = true;
  const auto found = server.find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->counts.begin, kHeap + 0x60);
  EXPECT_EQ(found->counts.end, kHeap + 0x150);
  for (const std::uint64_t wrong : {std::uint64_t{0}, std::uint64_t{0x150}, std::uint64_t{0xffffffff}}) {
    server.first_count = wrong;
    EXPECT_FALSE(server.find()) << wrong;
  }
}

TEST(GcMoves, CountsAreFoundThroughTheCollectorsDescriptor) {
  Process of_11;
  auto& g = of_11.layouts.collector.globals;
  const auto known = [](std::uint64_t value) { return Global{value, true}; };
  of_11.layouts.algorithms.collector = CollectorPlaces::descriptor;
  of_11.layouts.collector.generation = {256, {56}};
  of_11.layouts.collector.segment = {{0}, {16}, {32}, {40}, {48}};
  of_11.layouts.collector.finalize_queue = {{0}};
  g.generation_count = known(5);
  g.fill_pointers_length = known(7);
  g.mechanisms_length = known(6);
  g.lowest_address = g.highest_address = g.heap_count = g.heaps = known(kHeaps);
  g.structure_invalid_count = known(kInvalid);
  g.global_mechanisms = known(kCounts);
  g.is_server = true;
  const auto found = of_11.find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->counts, (AddressRange{kCounts, kCounts + 48}));
  EXPECT_EQ(found->invalid, kInvalid);
  g.mechanisms_length = known(1u << 30);
  EXPECT_FALSE(of_11.find());
  g.mechanisms_length = known(6);
  g.is_server = false;  // its own variables are not told
  EXPECT_FALSE(of_11.find());
  for (const auto places : {CollectorPlaces::not_started, CollectorPlaces::not_known}) {
    g.is_server = true;
    of_11.layouts.algorithms.collector = places;
    EXPECT_FALSE(of_11.find());
  }
}

TEST(GcMoves, ATableThatIsAnotherIsNone) {
  Process shifted;
  std::rotate(shifted.table.begin(), shifted.table.end() - 1, shifted.table.end());
  EXPECT_FALSE(shifted.find());
  Process newer;
  newer.version = 3;
  EXPECT_FALSE(newer.find());
  Process without;
  without.layouts.globals.app_domain = {};
  EXPECT_FALSE(without.find());
  const auto m = Process().memory();
  const Process as_it_is;
  EXPECT_FALSE(find_gc_counts({m, as_it_is.layouts}, 0));
  EXPECT_FALSE(find_gc_counts({m, as_it_is.layouts}, 0xa000));
}

TEST(GcMoves, NothingIsCountedWhileACollectionWorks) {
  Process suspended;
  suspended.suspends = 0x1234;
  EXPECT_FALSE(suspended.read());
  Process at_work;
  at_work.invalid = 1;
  EXPECT_FALSE(at_work.read());
}

}  // namespace
}  // namespace mixstack::dotnet
