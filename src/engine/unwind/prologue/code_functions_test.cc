// Function starts found in code against the FDEs of the same libraries.
#include "engine/unwind/prologue/code_functions.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "engine/unwind/unwind_table.h"
#include "support/host_cpu.h"
#include "support/whole_file.h"

namespace mixstack::unwind {
namespace {

class CodeFunctionsOf : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(CodeFunctions, CodeFunctionsOf,
                         testing::Values(test::kLibc, "libSystem.Native.so", "libclrjit.so",
                                         "/usr/aarch64-linux-gnu/lib/libc.so.6"));

TEST_P(CodeFunctionsOf, StartsAreThoseOfTheFdes) {
  const auto path = test::library_file(GetParam());
  if (path.empty() && test::may_be_absent(GetParam())) GTEST_SKIP() << GetParam() << " is not on this machine";
  ASSERT_FALSE(path.empty()) << GetParam() << " is not there";
  const auto image = images::ElfImage::from_file(std::make_shared<test::WholeFile>(path));
  ASSERT_TRUE(image);
  const auto table = UnwindTable::create(*image);
  const CodeFunctions functions(**image);
  unsigned right = 0, before = 0, inside = 0, none = 0;
  for (const std::uint64_t start : table->function_starts()) {
    const auto fde = table->function_at(start);
    if (!fde || fde->size() < 16) continue;
    const auto found = functions.around(fde->begin + fde->size() / 2);
    if (!found) {
      none++;
    } else if (found->begin == fde->begin) {
      right++;
    } else {
      (found->begin < fde->begin ? before : inside)++;
      if ((before + inside) % 64 == 1)
        std::printf("%llx: %llx\n", static_cast<unsigned long long>(fde->begin),
                    static_cast<unsigned long long>(found->begin));
    }
  }
  std::printf("%zu starts; of functions: right %u, an earlier one %u, one inside %u, none %u\n", functions.size(),
              right, before, inside, none);
  EXPECT_GT(right, 100u);
  EXPECT_GT(right, 19 * (before + inside + none));  // the others are cold parts, mostly, which nothing calls
}

}  // namespace
}  // namespace mixstack::unwind
