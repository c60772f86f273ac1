// Every function of real ARM64 ReadyToRun images, at every instruction: the rule must agree with what executing the
// code on symbols says.
#include <gtest/gtest.h>

#include "base/arch/aarch64/cpu.h"
#include "engine/unwind/windows/arm64/rule.h"
#include "support/aarch64_simulator.h"
#include "support/mapped_pe.h"
#include "support/source_folder.h"

namespace mixstack::unwind::windows {
namespace {

using test::SymbolicValue;

struct Totals {
  unsigned long functions = 0, instructions = 0, frameless = 0, after_call = 0, unreached = 0, failures = 0;
  unsigned long destroyers = 0, signed_ra = 0;
};

class Checker {
 public:
  explicit Checker(std::span<const std::byte> image) : data_(image), simulator_(image, 0) {}

  void check(const RuntimeFunction& row) {
    const auto length = arm64_function_length(data_, row);
    ASSERT_TRUE(length);
    const auto f = simulator_.run(row.begin, row.begin + *length);
    const auto end = static_cast<std::uint32_t>(f.end);
    const std::uint64_t callee_saved = arch::aarch64::kCalleeSaved;
    const std::uint64_t destroyed = f.destroyed(callee_saved & ~arch::bit(29));
    totals.destroyers += destroyed != 0 ? 1 : 0;
    bool behind_call = false;
    for (std::uint32_t at = row.begin; at < end && simulator_.decode(at, end) != 0; at += 4) {
      const bool call = simulator_.is_call();
      const bool filler = simulator_.is_filler();
      const auto found = f.states.find(at);
      if (found != f.states.end()) {
        check(row, at, false, found->second, callee_saved & ~destroyed);
        if (behind_call) check(row, at, true, found->second, callee_saved & ~destroyed);
        totals.instructions++;
      } else if (!filler) {
        totals.unreached++;
      }
      behind_call = call;
    }
    totals.functions++;
  }

  Totals totals;

 private:
  void check(const RuntimeFunction& row, std::uint32_t at, bool is_return_address, const test::SymbolicState& state,
             std::uint64_t preserved) {
    const auto rule = arm64_rule(data_, {row, at, is_return_address});
    const std::string wrong = rule ? test::check_rule(*rule, state, 0, preserved, SymbolicValue::entry(aarch64_reg::lr))
                                   : "error " + std::to_string(static_cast<int>(rule.error().code));
    if (is_return_address) totals.after_call++;
    if (rule && rule->count == 0) totals.frameless++;
    if (rule && rule->ra_is_signed) totals.signed_ra++;
    if (wrong.empty() || totals.failures++ > 40) return;
    ADD_FAILURE() << std::hex << "function " << row.begin << " at " << at << " +" << at - row.begin << ": "
                  << simulator_.text(at, at + 4) << ": " << wrong << (is_return_address ? " (return address)" : "");
  }

  MappedUnwindData data_;
  test::Aarch64Simulator simulator_;
};

void check_image(const std::filesystem::path& path) {
  const auto pe = test::map_pe(path);
  ASSERT_TRUE(pe) << path;
  const std::span<const std::byte> image(pe->image);
  Checker checker(image);
  for (std::uint32_t i = 0; i + 8 <= pe->exception_size; i += 8) {
    base::ByteCursor cursor(image, pe->exception_rva + i);
    RuntimeFunction row;
    row.begin = cursor.u32();
    row.unwind_data = cursor.u32();
    ASSERT_TRUE(cursor.ok());
    checker.check(row);
  }
  const Totals& t = checker.totals;
  std::printf(
      "functions %lu, instructions %lu, without a frame %lu, unreached %lu; after calls %lu; funclets that "
      "destroy registers %lu; signed %lu\n",
      t.functions, t.instructions, t.frameless, t.unreached, t.after_call, t.destroyers, t.signed_ra);
  EXPECT_EQ(t.failures, 0u);
  EXPECT_GT(t.functions, 40u);
}

TEST(Arm64Image, RulesEqualExecutionAtEveryInstruction) {
  check_image(std::filesystem::path(mixstack::test::source_folder()) / "tests/data/arm64_r2r/UnwindShapes.arm64.dll");
}

// Any image by hand: MIXSTACK_R2R_ARM64=FILE.
TEST(Arm64Image, ImageFromEnvironment) {
  const char* image = std::getenv("MIXSTACK_R2R_ARM64");
  if (image == nullptr) GTEST_SKIP();
  check_image(image);
}

}  // namespace
}  // namespace mixstack::unwind::windows
