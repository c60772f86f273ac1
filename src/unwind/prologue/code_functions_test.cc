// Function starts found in code against the FDEs of the same libraries.
#include "unwind/prologue/code_functions.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "object/file_bytes.h"
#include "support/host_cpu.h"
#include "support/mapped_pe.h"
#include "unwind/unwind_table.h"

namespace mixstack::unwind {
namespace {

class WholeFile final : public FileBytes {
 public:
  explicit WholeFile(const std::filesystem::path& path) : bytes_(test::read_file(path)) {}
  [[nodiscard]] std::span<const std::byte> bytes() const override { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class CodeFunctionsOf : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(CodeFunctions, CodeFunctionsOf,
                         testing::Values(test::kLibc, "libSystem.Native.so", "libclrjit.so"));

TEST_P(CodeFunctionsOf, StartsAreThoseOfTheFdes) {
  std::filesystem::path path = GetParam();
  if (path.is_relative()) path = test::framework_file(GetParam());
  if (!std::filesystem::exists(path)) GTEST_SKIP() << GetParam() << " is not there";
  const auto image = object::ElfImage::from_file(std::make_shared<WholeFile>(path));
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
