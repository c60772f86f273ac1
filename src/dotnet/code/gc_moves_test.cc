#include "dotnet/code/gc_moves.h"

#include <gtest/gtest.h>

#include <cstring>

#include "memory/buffer_memory.h"

namespace mixstack::dotnet {
namespace {

constexpr Address kTable = 0x1000, kGlobals = 0x3000, kVars = 0x5000, kCounts = 0x6000, kInvalid = 0x7000;

/// A process with the words that the collector keeps.
struct Process {
  std::vector<std::uint64_t> table = std::vector<std::uint64_t>(21);
  std::uint64_t suspends = 0;
  std::uint32_t invalid = 0;
  std::uint8_t version = 2;
  std::vector<std::uint64_t> counts{1, 2, 3, 4, 5, 6};
  Layouts layouts;

  Process() {
    auto& g = layouts.globals;
    g.thread_store = {kGlobals, true};
    g.finalizer_thread = {kGlobals + 8, true};
    g.gc_thread = {kGlobals + 16, true};
    g.app_domain = {kGlobals + 24, true};
    layouts.pointer_size = 8;
    table[15] = kGlobals;
    table[16] = kGlobals + 8;
    table[17] = kGlobals + 16;
    table[19] = kGlobals + 32;
    table[20] = kGlobals + 24;
  }
  [[nodiscard]] memory::BufferMemory memory() const {
    memory::BufferMemory m;
    const auto add = [&m](Address at, const std::vector<std::uint64_t>& words) {
      std::vector<std::byte> bytes(words.size() * 8);
      std::memcpy(bytes.data(), words.data(), bytes.size());
      m.add(at, bytes);
    };
    add(kTable, table);
    add(kGlobals, {0x11, 0x22, suspends, 0x44, kVars});
    std::vector<std::uint64_t> vars(3 + 22);
    vars[0] = version;
    vars[3 + 2] = kCounts;
    vars[3 + 21] = kInvalid;
    add(kVars, vars);
    add(kCounts, counts);
    add(kInvalid, {invalid});
    return m;
  }
  [[nodiscard]] std::optional<GcCounts> find() const {
    const auto m = memory();
    return find_gc_counts({m, layouts}, kTable);
  }
  [[nodiscard]] std::optional<GcCounts::Values> read() const {
    const auto m = memory();
    return read_gc_counts({m, layouts}, {kCounts, kInvalid});
  }
};

TEST(GcMoves, CountsAreFoundThroughTheTable) {
  const auto found = Process().find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->counts, kCounts);
  EXPECT_EQ(found->invalid, kInvalid);
  EXPECT_EQ(Process().read(), (GcCounts::Values{1, 2, 3, 4, 5, 6}));
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
  EXPECT_FALSE(find_gc_counts({m, Process().layouts}, 0));
  EXPECT_FALSE(find_gc_counts({m, Process().layouts}, 0x9000));
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
