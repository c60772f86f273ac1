#include "process/debugger/link_map_list.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <map>

namespace mixstack::process {
namespace {

/// Words at addresses; everything else cannot be read.
class Words final : public MemoryReader {
 public:
  void put(Address at, std::initializer_list<std::uint64_t> words) {
    for (const std::uint64_t w : words) {
      words_[at] = w;
      at += 8;
    }
  }
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    std::size_t done = 0;
    for (; done < out.size(); done++) {
      const auto word = words_.find((address + done) & ~Address{7});
      if (word == words_.end()) break;
      out[done] = static_cast<std::byte>(word->second >> ((address + done) % 8 * 8));
    }
    if (done == 0) return fail(ErrorCode::unreadable_memory, address);
    return done;
  }

 private:
  std::map<Address, std::uint64_t> words_;
};

constexpr Address kHeaders = 0x400040, kDynamic = 0x401000, kDebug = 0x7000, kBias = 0x400000;

/// A program with a list of one entry at 0x8000.
Words program() {
  Words w;
  const auto header = [](std::uint32_t type) { return std::uint64_t{type}; };
  w.put(kHeaders, {header(PT_PHDR), 0, 0x40, 0, 0, 0, 0});
  w.put(kHeaders + 56, {header(PT_DYNAMIC), 0, 0x1000, 0, 0, 0, 0});
  w.put(kDynamic, {DT_NEEDED, 1, DT_DEBUG, kDebug, DT_NULL, 0});
  w.put(kDebug, {1, 0x8000, 0x1234, 0, 0x5000});
  w.put(0x8000, {kBias, 0x9000, kDynamic, 0, 0});
  w.put(0x9000, {0});
  return w;
}

LinkMapList list() { return {kHeaders, 2}; }

TEST(LinkMapList, FollowsTheChain) {
  Words w = program();
  w.put(0x8000, {kBias, 0x9000, kDynamic, 0x8100, 0});
  w.put(0x8100, {0x10000, 0x9100, 0x10100, 0, 0x8000});
  w.put(0x9100, {0x006f732e'7862696c});  // "libx.so"
  auto l = list();
  const auto state = l.read(w, "/bin/program");
  ASSERT_TRUE(state.has_value());
  EXPECT_TRUE(state->consistent);
  ASSERT_EQ(state->libraries.size(), 2u);
  EXPECT_EQ(state->libraries[0], (LoadedLibrary{"/bin/program", kBias, kDynamic, 0x8000, true}));
  EXPECT_EQ(state->libraries[1], (LoadedLibrary{"libx.so", 0x10000, 0x10100, 0x8100, false}));
  EXPECT_EQ(l.trap(w), Address{0x1234});
}

TEST(LinkMapList, OtherNamespacesBelongToIt) {
  Words w = program();
  w.put(kDebug, {2, 0x8000, 0x1234, 0, 0x5000, 0x7100});
  w.put(0x7100, {2, 0x8200, 0x1234, 1, 0x5000, 0});
  w.put(0x8200, {0x20000, 0x9000, 0x20100, 0, 0});
  auto l = list();
  const auto state = l.read(w, "");
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->libraries.size(), 2u);
  EXPECT_FALSE(state->consistent) << "the second is being added to";
}

TEST(LinkMapList, WhatIsNotThereYetIsNotFound) {
  Words w;
  auto l = list();
  EXPECT_EQ(l.read(w, "").error().code, ErrorCode::unreadable_memory);
  w = program();
  w.put(kDynamic, {DT_NEEDED, 1, DT_DEBUG, 0, DT_NULL, 0});
  EXPECT_EQ(l.read(w, "").error().code, ErrorCode::not_found);
  EXPECT_EQ(l.trap(w).error().code, ErrorCode::not_found);
  w.put(kDynamic, {DT_NEEDED, 1, DT_DEBUG, kDebug, DT_NULL, 0});
  w.put(kDebug, {0, 0, 0, 0, 0});
  EXPECT_EQ(l.read(w, "").error().code, ErrorCode::not_found);
  LinkMapList none;
  EXPECT_EQ(none.read(w, "").error().code, ErrorCode::not_found);
  LinkMapList absurd(kHeaders, ~0ULL);
  EXPECT_EQ(absurd.read(w, "").error().code, ErrorCode::not_found);
}

TEST(LinkMapList, HostileListsEnd) {
  Words w = program();
  w.put(0x8000, {kBias, 0x9000, kDynamic, 0x8000, 0});  // itself
  auto l = list();
  EXPECT_EQ(l.read(w, "").error().code, ErrorCode::process_changed);
  w.put(0x8000, {kBias, 0x9000, kDynamic, 0x8000, 0x8000});
  EXPECT_FALSE(l.read(w, "").has_value());
  // A ring whose back links are right, but for the entry it begins with.
  w.put(0x8000, {kBias, 0x9000, kDynamic, 0x8100, 0});
  w.put(0x8100, {0, 0x9000, 0, 0x8000, 0x8000});
  EXPECT_EQ(l.read(w, "").error().code, ErrorCode::process_changed);
  // Namespaces in a ring.
  w = program();
  w.put(kDebug, {2, 0x8000, 0x1234, 0, 0x5000, kDebug});
  EXPECT_EQ(l.read(w, "").error().code, ErrorCode::limit_exceeded);
  // A name that does not end, and one that cannot be read.
  w = program();
  for (Address at = 0x9000; at < 0x9000 + 8192; at += 8) w.put(at, {0x4141414141414141});
  EXPECT_EQ(l.read(w, "").error().code, ErrorCode::limit_exceeded);
  w.put(0x8000, {kBias, 0x123456789, kDynamic, 0, 0});
  EXPECT_FALSE(l.read(w, "").has_value());
  // A chain without an end.
  w = program();
  for (Address at = 0x100000; at < 0x100000 + 5000 * 40; at += 40) w.put(at, {0, 0, 0, at + 40, at - 40});
  w.put(0x100000, {0, 0, 0, 0x100028, 0});
  w.put(kDebug, {1, 0x100000, 0x1234, 0, 0x5000});
  EXPECT_EQ(l.read(w, "").error().code, ErrorCode::limit_exceeded);
}

}  // namespace
}  // namespace mixstack::process
