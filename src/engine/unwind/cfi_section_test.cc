#include "engine/unwind/cfi_section.h"

#include <gtest/gtest.h>

#include "engine/unwind/unwind_table.h"
#include "support/cfi_builder.h"

namespace mixstack::unwind {
namespace {

using test::Bytes;
using test::CfiBuilder;
using test::CieSpec;

std::shared_ptr<const UnwindTable> table_of(const CfiBuilder& builder, Arch arch = Arch::x86_64) {
  return UnwindTable::create(builder.sections(arch), UnwindTable::Options());
}

/// One CIE, one FDE over [0x1000, 0x1100); whether its row is found.
bool is_readable(const CieSpec& spec, bool debug_frame = false, bool dwarf64 = false) {
  CfiBuilder builder(debug_frame, dwarf64);
  const auto cie = builder.cie(spec);
  builder.fde(cie, 0x1000, 0x100, {0x44, 0x0e, 16});  // advance 4, CFA offset 16
  const auto table = table_of(builder);
  const auto first = table->rule(0x1003), second = table->rule(0x1004);
  return first && second && first->cfa_offset == 8 && second->cfa_offset == 16 && !table->rule(0x1100) &&
         !table->rule(0xfff);
}

TEST(CfiSection, Augmentations) {
  EXPECT_TRUE(is_readable({}));
  CieSpec spec;
  spec.augmentation = "zPLR";  // personality indirect pcrel sdata4, LSDA pcrel sdata4
  spec.augmentation_data = Bytes{0x9b, 1, 2, 3, 4, 0x1b, 0x1b};
  EXPECT_TRUE(is_readable(spec));
  spec.augmentation = "zRSBG";
  spec.augmentation_data = Bytes{0x1b};
  EXPECT_TRUE(is_readable(spec));
  spec.augmentation = "zRX";  // unknown, but the size tells what to skip
  spec.augmentation_data = Bytes{0x1b, 9, 9, 9};
  EXPECT_TRUE(is_readable(spec));
  spec.augmentation = "zXR";  // how long is X?
  EXPECT_FALSE(is_readable(spec));
  spec.augmentation = "armcc+";
  EXPECT_FALSE(is_readable(spec));
  spec.augmentation = "zR";
  spec.augmentation_data = Bytes{};  // R missing
  EXPECT_FALSE(is_readable(spec));
}

TEST(CfiSection, GccTwoAugmentation) {
  CieSpec spec;
  spec.augmentation = "eh";
  CfiBuilder builder;
  const auto cie = builder.cie(spec);
  builder.raw_fde(cie, Bytes().u64(0x1000).u64(0x100).add({0x0e, 32}));  // absolute addresses, no augmentation
  const auto rule = table_of(builder)->rule(0x1080);
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->cfa_offset, 32);
}

TEST(CfiSection, VersionsAndWidthsOfDebugFrame) {
  for (const bool dwarf64 : {false, true}) {
    for (const unsigned version : {1u, 3u, 4u}) {
      CieSpec spec;
      spec.version = version;
      spec.augmentation = "";
      EXPECT_TRUE(is_readable(spec, true, dwarf64)) << version << dwarf64;
    }
  }
  for (const unsigned version : {0u, 2u, 5u, 255u}) {
    CieSpec spec;
    spec.version = version;
    EXPECT_FALSE(is_readable(spec)) << version;
  }
  EXPECT_TRUE(is_readable({}, false, true)) << "64-bit length in .eh_frame";
}

TEST(CfiSection, SegmentSelectorIsSkipped) {
  CieSpec spec;
  spec.version = 4;
  spec.augmentation = "";
  spec.segment_size = 2;
  CfiBuilder builder(true);
  const auto cie = builder.cie(spec);
  builder.raw_fde(cie, Bytes().u16(0xbeef).u64(0x1000).u64(0x10).add({0x0e, 24}));
  EXPECT_TRUE(table_of(builder)->rule(0x100f));
}

TEST(CfiSection, FourByteAddresses) {
  CieSpec spec;
  spec.version = 4;
  spec.augmentation = "";
  spec.address_size = 4;
  CfiBuilder builder(true);
  const auto cie = builder.cie(spec);
  builder.raw_fde(cie, Bytes().u32(0x1000).u32(0x10).add({0x0e, 24}));
  EXPECT_TRUE(table_of(builder)->rule(0x100f));
  spec.address_size = 3;
  CfiBuilder bad(true);
  const auto bad_cie = bad.cie(spec);
  bad.raw_fde(bad_cie, Bytes().u32(0x1000).u32(0x10));
  EXPECT_FALSE(table_of(bad)->rule(0x1001));
}

TEST(CfiSection, SignalFrame) {
  CieSpec spec;
  spec.augmentation = "zRS";
  CfiBuilder builder;
  const auto cie = builder.cie(spec);
  builder.fde(cie, 0x1000, 0x10, {});
  const auto rule = table_of(builder)->rule(0x1000);
  ASSERT_TRUE(rule);
  EXPECT_TRUE(rule->is_signal_frame);
}

/// As kernels before 5.8 describe the trampoline of AArch64.
TEST(CfiSection, ASignalFrameByItsFrameRecordIsTheKernels) {
  CieSpec spec;
  spec.augmentation = "zRS";
  spec.data_alignment = 8;
  spec.ra_register = 30;
  spec.instructions = {};
  CfiBuilder builder;
  // DW_CFA_def_cfa x29, 0; DW_CFA_offset x29, 0; DW_CFA_offset x30, 8
  builder.fde(builder.cie(spec), 0x1000, 0x10, {0x0c, 29, 0, 0x80 | 29, 0, 0x80 | 30, 1});
  const auto table = UnwindTable::create(builder.sections(Arch::aarch64), UnwindTable::Options());
  const auto rule = table->rule(0x1000);
  ASSERT_TRUE(rule);
  EXPECT_TRUE(rule->is_signal_frame);
  EXPECT_EQ(rule->cfa_kind, CfaKind::deref_register_offset);
  EXPECT_EQ(rule->cfa_register, aarch64_reg::sp);
  EXPECT_EQ(rule->ra_register, aarch64_reg::pc);
  EXPECT_EQ(rule->count, 33);
}

TEST(CfiSection, BrokenEntries) {
  const CfiSection empty;
  EXPECT_EQ(read_entry(empty, 0).error().code, ErrorCode::malformed);
  CfiBuilder builder;
  const auto cie = builder.cie();
  const auto fde = builder.fde(cie, 0x1000, 0x100, {0x0e, 16});
  auto section = CfiSection{};
  section.arch = Arch::x86_64;
  section.address = CfiBuilder::kAddress;
  // Every truncation of the section.
  for (std::size_t size = 0; size < builder.bytes().size(); size++) {
    section.bytes = std::span(builder.bytes().bytes()).first(size);
    EXPECT_FALSE(read_entry(section, fde)) << size;
  }
  section.bytes = builder.bytes().bytes();
  ASSERT_TRUE(read_entry(section, fde));
  EXPECT_FALSE(read_cie(section, fde)) << "an FDE is no CIE";
  EXPECT_FALSE(read_cie(section, ~std::uint64_t{0}));

  auto cyclic = builder;
  cyclic.bytes().patch32(fde + 4, 4);  // its own CIE
  EXPECT_FALSE(table_of(cyclic)->rule(0x1000));
  auto outside = builder;
  outside.bytes().patch32(fde + 4, 0x7fffffff);
  EXPECT_FALSE(table_of(outside)->rule(0x1000));
  auto reserved = builder;
  reserved.bytes().patch32(fde, 0xfffffff5);
  EXPECT_FALSE(table_of(reserved)->rule(0x1000));
  auto huge = builder;
  huge.bytes().patch32(fde + 12, 0xffffffff);  // the size is signed: ends before it begins
  EXPECT_FALSE(table_of(huge)->rule(0x1000));
}

TEST(CfiSection, TerminatorsInTheMiddleAreSkipped) {
  CfiBuilder builder;
  const auto cie = builder.cie();
  builder.fde(cie, 0x1000, 0x10, {});
  builder.terminate();
  builder.fde(cie, 0x2000, 0x10, {});
  builder.terminate();
  const auto table = table_of(builder);
  EXPECT_TRUE(table->rule(0x1000));
  EXPECT_TRUE(table->rule(0x2000)) << "static start-up files end .eh_frame early; readelf goes on, too";
}

}  // namespace
}  // namespace mixstack::unwind
