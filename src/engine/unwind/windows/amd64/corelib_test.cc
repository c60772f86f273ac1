// Every function of the installed framework's System.Private.CoreLib (ReadyToRun, AMD64), at every instruction: the
// rule must agree with what executing the code on symbols says.
#include <gtest/gtest.h>

#include "base/arch/x86_64/cpu.h"
#include "engine/unwind/windows/amd64/epilogue.h"
#include "engine/unwind/windows/amd64/rule.h"
#include "support/host_cpu.h"
#include "support/mapped_pe.h"
#include "support/x86_64_simulator.h"

namespace mixstack::unwind::windows {
namespace {

using test::SymbolicValue;

struct Totals {
  unsigned long functions = 0, prologue = 0, epilogue = 0, body = 0, after_call = 0, unreached = 0, failures = 0;
  unsigned long destroyers = 0;
};

class Checker {
 public:
  Checker(std::span<const std::byte> image, std::uint64_t callee_saved)
      : image_(image), data_(image), simulator_(image, 0), callee_saved_(callee_saved) {
    simulator_.windows_convention = callee_saved == arch::x86_64::kCalleeSavedWindows;
  }

  void check(const RuntimeFunction& row) {
    const auto f = simulator_.run(row.begin, row.end);
    // A catch funclet is handed its parent's rbp and keeps it.
    const std::uint64_t destroyed = f.destroyed(callee_saved_ & ~arch::bit(x86_64_reg::rbp));
    totals.destroyers += destroyed != 0 ? 1 : 0;
    bool behind_call = false;
    for (std::uint32_t at = row.begin; at < row.end;) {
      const unsigned size = simulator_.decode(at, row.end);
      if (size == 0) break;
      const bool call = simulator_.is_call();
      const bool filler = simulator_.is_filler();
      const auto found = f.states.find(at);
      if (found != f.states.end()) {
        check(row, at, false, found->second, callee_saved_ & ~destroyed);
        if (behind_call) check(row, at, true, found->second, callee_saved_ & ~destroyed);
        count(row, at);
      } else if (!filler) {
        totals.unreached++;
      }
      behind_call = call;
      at += size;
    }
    totals.functions++;
  }

  Totals totals;

 private:
  void check(const RuntimeFunction& row, std::uint32_t at, bool is_return_address, const test::SymbolicState& state,
             std::uint64_t preserved) {
    const auto rule = amd64_rule(data_, {row, at, is_return_address});
    const std::string wrong = rule ? test::check_rule(*rule, state, 8, preserved, SymbolicValue::entry(x86_64_reg::rip))
                                   : "error " + std::to_string(static_cast<int>(rule.error().code));
    if (is_return_address) totals.after_call++;
    if (wrong.empty() || totals.failures++ > 40) return;
    ADD_FAILURE() << std::hex << "function " << row.begin << " at " << at << " +" << at - row.begin << ": "
                  << simulator_.text(at, row.end) << ": " << wrong << (is_return_address ? " (return address)" : "");
  }

  void count(const RuntimeFunction& row, std::uint32_t at) {
    const unsigned prologue_size = std::to_integer<unsigned>(image_[row.unwind_data + 1]);
    const unsigned frame = std::to_integer<unsigned>(image_[row.unwind_data + 3]) & 15;
    RuleBuilder scratch(x86_64_reg::rsp);
    if (at - row.begin < prologue_size) {
      totals.prologue++;
    } else if (amd64::match_epilogue(image_.subspan(at), at, frame, scratch)) {
      totals.epilogue++;
    } else {
      totals.body++;
    }
  }

  std::span<const std::byte> image_;
  MappedUnwindData data_;
  test::X8664Simulator simulator_;
  std::uint64_t callee_saved_;
};

void check_image(const std::filesystem::path& path, std::uint64_t callee_saved) {
  const auto pe = test::map_pe(path);
  ASSERT_TRUE(pe) << path;
  const std::span<const std::byte> image(pe->image);
  Checker checker(image, callee_saved);
  for (std::uint32_t i = 0; i + 12 <= pe->exception_size; i += 12) {
    base::ByteCursor cursor(image, pe->exception_rva + i);
    RuntimeFunction row;
    row.begin = cursor.u32();
    row.end = cursor.u32();
    row.unwind_data = cursor.u32();
    ASSERT_TRUE(cursor.ok() && row.end <= image.size() && row.begin < row.end);
    checker.check(row);
  }
  const Totals& t = checker.totals;
  std::printf(
      "functions %lu, instructions: prologue %lu, body %lu, epilogue %lu, unreached %lu; after calls %lu; "
      "funclets that destroy registers %lu\n",
      t.functions, t.prologue, t.body, t.epilogue, t.unreached, t.after_call, t.destroyers);
  EXPECT_EQ(t.failures, 0u);
  EXPECT_GT(t.epilogue, t.functions);
}

TEST(Amd64CoreLib, RulesEqualExecutionAtEveryInstruction) {
  if (test::kHostCpu != Arch::x86_64) GTEST_SKIP() << "the framework here is of another CPU";
  const auto path = test::framework_file("System.Private.CoreLib.dll");
  if (path.empty()) GTEST_SKIP() << "no .NET framework installed";
  check_image(path, arch::x86_64::kCalleeSaved);
}

// Any other image by hand: MIXSTACK_R2R_X64=FILE (Linux) or MIXSTACK_R2R_WIN_X64=FILE.
TEST(Amd64CoreLib, ImageFromEnvironment) {
  const char* linux_image = std::getenv("MIXSTACK_R2R_X64");
  const char* windows_image = std::getenv("MIXSTACK_R2R_WIN_X64");
  if (linux_image == nullptr && windows_image == nullptr) GTEST_SKIP();
  if (linux_image != nullptr) check_image(linux_image, arch::x86_64::kCalleeSaved);
  if (windows_image != nullptr) check_image(windows_image, arch::x86_64::kCalleeSavedWindows);
}

}  // namespace
}  // namespace mixstack::unwind::windows
