// Rows found one by one, and rules interpreted in place, are those of the compiled table and of the interpreter.
#include "engine/unwind/compact_row.h"

#include <gtest/gtest.h>

#include "engine/images/file_bytes.h"
#include "engine/unwind/unwind_table.h"
#include "support/host_cpu.h"

namespace mixstack::unwind {
namespace {

CompactRule without_derived(CompactRule rule) {
  rule.saved = 0;
  rule.depth = 0;
  return rule;
}

void expect_same_rule(const UnwindRule& a, const UnwindRule& b) {
  EXPECT_EQ(a.cfa_kind, b.cfa_kind);
  EXPECT_EQ(a.cfa_register, b.cfa_register);
  EXPECT_EQ(a.cfa_offset, b.cfa_offset);
  EXPECT_EQ(a.is_signal_frame, b.is_signal_frame);
  EXPECT_EQ(a.is_end_of_stack, b.is_end_of_stack);
  ASSERT_EQ(a.count, b.count);
  EXPECT_TRUE(std::equal(a.rules.begin(), a.rules.begin() + a.count, b.rules.begin()));
}

class CompactRow : public ::testing::TestWithParam<const char*> {};

TEST_P(CompactRow, IsThatOfTheTable) {
  const auto file = images::open_file_bytes(GetParam());
  ASSERT_TRUE(file);
  const auto image = images::ElfImage::from_file(*file);
  ASSERT_TRUE(image);
  const auto table = UnwindTable::create(*image);
  const auto sections = (*image)->unwind_sections();
  CfiSection section;
  section.arch = (*image)->arch();
  section.bytes = sections.eh_frame.bytes;
  section.address = sections.eh_frame.address;

  std::size_t rows = 0, functions = 0, interpreted = 0;
  for (std::uint64_t offset = 0; offset < section.bytes.size();) {
    const auto entry = read_entry(section, offset);
    ASSERT_TRUE(entry);
    offset = entry->next;
    if (entry->is_cie || entry->is_terminator) continue;
    const auto initial = read_initial_row(section, entry->cie_offset);
    ASSERT_TRUE(initial);
    const auto fde = read_fde(section, *entry, initial->cie);
    ASSERT_TRUE(fde);
    functions++;
    const std::uint64_t step = std::max<std::uint64_t>((fde->pc_end - fde->pc_begin) / 40, 1);
    for (std::uint64_t pc = fde->pc_begin; pc < fde->pc_end; pc += step) {
      const CompactRule row = compact_row(section, *initial, *fde, pc);
      const CompactRule& kept = table->find(pc);
      ASSERT_EQ(row.kind, kept.kind) << std::hex << pc;
      rows++;
      if (row.kind != CompactKind::interpret) {
        EXPECT_TRUE(row.same_rule(without_derived(kept))) << std::hex << pc;
        continue;
      }
      interpreted++;
      const auto in_place = interpret_fde_in_place(section, initial->cie, *fde, pc);
      const auto general = interpret_fde(section, initial->cie, *fde, pc);
      ASSERT_EQ(in_place.has_value(), general.has_value()) << std::hex << pc;
      if (general) expect_same_rule(*in_place, *general);
    }
  }
  EXPECT_GT(functions, 1000u);
  EXPECT_GT(rows, 10'000u);
  RecordProperty("interpreted", static_cast<int>(interpreted));
}
INSTANTIATE_TEST_SUITE_P(Images, CompactRow, ::testing::Values(test::kLibc, test::kLibstdcxx));

}  // namespace
}  // namespace mixstack::unwind
