// Finding the FDE of an address: with and without .eh_frame_hdr, sound and broken.
#include "engine/unwind/fde_index.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "engine/unwind/unwind_table.h"
#include "support/cfi_builder.h"

namespace mixstack::unwind {
namespace {

using test::Bytes;
using test::CfiBuilder;

/// Functions at 0x1000, 0x1100, ... of 0x80 bytes; the CFA offset of the i-th is 16 + 8 i.
struct Image {
  CfiBuilder builder;
  std::vector<std::pair<std::uint64_t, std::size_t>> entries;
  Bytes header;

  explicit Image(unsigned functions = 5) {
    const auto cie = builder.cie();
    for (unsigned i = 0; i < functions; i++) {
      const std::uint64_t code = 0x1000 + 0x100 * i;
      entries.emplace_back(code, builder.fde(cie, code, 0x80, Bytes{0x0e}.uleb(16 + 8 * i)));
    }
    header = test::eh_frame_header(entries);
  }
  [[nodiscard]] std::shared_ptr<const UnwindTable> table() const {
    auto sections = builder.sections();
    sections.eh_frame_hdr.address = CfiBuilder::kHeaderAddress;
    sections.eh_frame_hdr.bytes = header.bytes();
    return UnwindTable::create(sections, UnwindTable::Options());
  }
};

void expect_all_found(const Image& image) {
  const auto table = image.table();
  EXPECT_EQ(table->statistics().functions, image.entries.size());
  for (unsigned i = 0; i < image.entries.size(); i++) {
    const std::uint64_t code = image.entries[i].first;
    for (const std::uint64_t pc : {code, code + 0x7f}) {
      ASSERT_TRUE(table->rule(pc)) << std::hex << pc;
      EXPECT_EQ(table->rule(pc)->cfa_offset, 16 + 8 * static_cast<int>(i));
    }
    EXPECT_FALSE(table->rule(code + 0x80)) << "between functions";
  }
  EXPECT_FALSE(table->rule(0xfff));
  EXPECT_FALSE(table->rule(0));
  EXPECT_FALSE(table->rule(~std::uint64_t{0}));
}

TEST(FdeIndex, WithHeader) { expect_all_found(Image()); }
TEST(FdeIndex, OneFunction) { expect_all_found(Image(1)); }
TEST(FdeIndex, ManyFunctions) { expect_all_found(Image(2000)); }

TEST(FdeIndex, WithoutHeader) {
  Image image;
  image.header = {};
  expect_all_found(image);
}

TEST(FdeIndex, HeaderThatCannotBeUsed) {
  const auto with = [](auto change) {
    Image image;
    change(image);
    expect_all_found(image);  // by reading the section
  };
  with([](Image& i) { i.header = Bytes{2}.add(i.header); });             // another version
  with([](Image& i) { i.header = Bytes{1, 0x1b, 0x03}; });               // cut short
  with([](Image& i) { i.header = Bytes{1, 0x1b, 0xff, 0xff}.u32(0); });  // no table
  with([](Image& i) { i.header.patch32(8, 6); });                        // more entries than bytes
  with([](Image& i) { i.header.patch32(8, 0xffffffff); });
  with([](Image& i) { i.header.patch32(8, 0); });       // empty
  with([](Image& i) { i.header.patch32(4, 0x1234); });  // of another .eh_frame
}

TEST(FdeIndex, OtherEncodingsOfTheTable) {
  Image image;
  image.header = Bytes{1, 0x1b, 0x03, 0x04};  // absolute, 8 bytes each
  image.header.u32(CfiBuilder::kAddress - (CfiBuilder::kHeaderAddress + 4)).u32(image.entries.size());
  for (const auto& [code, fde] : image.entries) image.header.u64(code).u64(CfiBuilder::kAddress + fde);
  expect_all_found(image);
}

TEST(FdeIndex, UnsortedTableIsSorted) {
  Image image;
  auto shuffled = image.entries;
  std::swap(shuffled[0], shuffled[4]);
  std::swap(shuffled[1], shuffled[2]);
  image.header = test::eh_frame_header(shuffled);
  expect_all_found(image);
}

TEST(FdeIndex, HeaderThatLies) {
  Image image;
  image.entries[1].first = 0x1180;  // code and FDE disagree
  image.entries[2].second += 1;     // not the start of an entry
  image.entries[3].second = 0x7ffffff0;
  image.header = test::eh_frame_header(image.entries);
  const auto table = image.table();
  EXPECT_TRUE(table->rule(0x1000));
  EXPECT_FALSE(table->rule(0x1180));
  EXPECT_FALSE(table->rule(0x1200));
  EXPECT_FALSE(table->rule(0x1300));
  EXPECT_TRUE(table->rule(0x1400));
}

TEST(FdeIndex, OverlappingFunctions) {
  for (const bool header : {true, false}) {
    Image image(0);
    const auto cie = image.builder.cie();
    image.entries = {{0x1000, image.builder.fde(cie, 0x1000, 0x1000, {0x0e, 16})},
                     {0x1400, image.builder.fde(cie, 0x1400, 0x10, {0x0e, 24})},
                     {0x1400, image.builder.fde(cie, 0x1400, 0x0, {0x0e, 32})},
                     {0x1404, image.builder.fde(cie, 0x1404, 0x4, {0x0e, 40})}};
    image.header = header ? test::eh_frame_header(image.entries) : Bytes{};
    const auto table = image.table();
    EXPECT_EQ(table->rule(0x1003)->cfa_offset, 16);
    EXPECT_EQ(table->rule(0x1403)->cfa_offset, 24);
    EXPECT_EQ(table->rule(0x1404)->cfa_offset, 40) << "the one that starts last";
    EXPECT_EQ(table->rule(0x1408)->cfa_offset, 24) << "the inner one has ended";
    EXPECT_EQ(table->rule(0x1410)->cfa_offset, 16);
    EXPECT_EQ(table->interpret(0x1410)->cfa_offset, 16);
    EXPECT_FALSE(table->rule(0x2000));
  }
}

/// lld lists each address once, and of an empty function and the one behind it the empty one.
TEST(FdeIndex, AnEmptyFunctionThatHidesAnother) {
  for (const bool is_far : {false, true}) {
    Image image(0);
    const auto cie = image.builder.cie();
    const auto add = [&](std::uint64_t code, std::uint64_t size, std::uint8_t offset, bool is_listed) {
      const auto fde = image.builder.fde(cie, code, size, {0x0e, offset});
      if (is_listed) image.entries.emplace_back(code, fde);
    };
    add(0x1000, 0x400, 16, true);
    add(0x1400, 0, 24, true);
    add(0x1400, 0, 32, false);
    if (!is_far) add(0x1400, 0x100, 40, false);
    for (unsigned i = 0; i < 100; i++) add(0x1500 + 0x10 * i, 0x10, 48, true);
    if (is_far) add(0x1400, 0x100, 40, false);
    add(0x3000, 0, 56, true);  // and one that hides nothing
    image.header = test::eh_frame_header(image.entries);
    const auto table = image.table();
    EXPECT_EQ(table->rule(0x13ff)->cfa_offset, 16);
    for (const std::uint64_t pc : {0x1400u, 0x14ffu}) {
      EXPECT_EQ(table->find(pc).cfa_offset, 40);
      EXPECT_EQ(table->interpret(pc)->cfa_offset, 40);
      EXPECT_EQ(table->function_at(pc), (AddressRange{0x1400, 0x1500}));
    }
    EXPECT_EQ(table->rule(0x1500)->cfa_offset, 48);
    EXPECT_EQ(table->rule(0x3000).error().code, ErrorCode::no_unwind_info);
    EXPECT_FALSE(table->function_at(0x3000));
  }
}

TEST(FdeIndex, DroppedFunctionsAreIgnored) {
  CfiBuilder builder(true);
  test::CieSpec spec;
  spec.augmentation = "";
  const auto cie = builder.cie(spec);
  builder.fde(cie, 0, 0x100000, {0x0e, 64});  // what linkers leave of discarded sections
  builder.fde(cie, 0x1000, 0x10, {0x0e, 16});
  const auto table = UnwindTable::create(builder.sections(), UnwindTable::Options());
  EXPECT_EQ(table->rule(0x1000)->cfa_offset, 16);
  EXPECT_FALSE(table->rule(0x500));
}

TEST(FdeIndex, DebugFrameWhereEhFrameHasNothing) {
  Image image(2);
  CfiBuilder debug(true);
  test::CieSpec spec;
  spec.augmentation = "";
  const auto cie = debug.cie(spec);
  debug.fde(cie, 0x1000, 0x1000, {0x0e, 0x80, 1});
  auto sections = image.builder.sections();
  sections.debug_frame = debug.sections().debug_frame;
  const auto table = UnwindTable::create(sections, UnwindTable::Options());
  EXPECT_EQ(table->rule(0x1000)->origin, StepperId::eh_frame);
  EXPECT_EQ(table->rule(0x1000)->cfa_offset, 16);
  EXPECT_EQ(table->rule(0x1f00)->origin, StepperId::debug_frame);
  EXPECT_EQ(table->rule(0x1f00)->cfa_offset, 128);
}

TEST(FdeIndex, TruncatedSections) {
  const Image whole;
  for (std::size_t size = 0; size <= whole.builder.sections().eh_frame.bytes.size(); size++) {
    auto sections = whole.builder.sections();
    sections.eh_frame.bytes = sections.eh_frame.bytes.first(size);
    for (const bool header : {true, false}) {
      sections.eh_frame_hdr.address = CfiBuilder::kHeaderAddress;
      if (header) sections.eh_frame_hdr.bytes = whole.header.bytes();
      const auto table = UnwindTable::create(sections, UnwindTable::Options());
      for (const auto& [code, fde] : whole.entries) EXPECT_TRUE(!table->rule(code) || fde < size);
    }
  }
}

/// Readers and the one who compiles meet in the same functions.
TEST(UnwindTable, ManyThreadsCompileTheSameTable) {
  const Image image(3000);
  const auto table = image.table();
  std::vector<std::thread> threads;
  std::atomic<unsigned> wrong = 0;
  for (unsigned t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int k = 0; k < 20000; k++) {
        const auto i = static_cast<unsigned>(random() % 3000);
        const CompactRule& rule = table->find(0x1000 + 0x100 * i + random() % 0x80);
        if (rule.kind != CompactKind::register_offset || rule.cfa_offset != 16 + 8 * static_cast<int>(i)) wrong++;
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0u);
}

TEST(UnwindTable, EmptyAndForeign) {
  EXPECT_TRUE(UnwindTable::create(images::UnwindSections{}, UnwindTable::Options())->empty());
  Image image;
  auto sections = image.builder.sections(Arch::arm);  // a CPU without compact rules: everything is interpreted
  sections.is_64_bit = false;
  const auto table = UnwindTable::create(sections, UnwindTable::Options());
  EXPECT_EQ(table->rule(0x1000)->cfa_offset, 16);
}

}  // namespace
}  // namespace mixstack::unwind
