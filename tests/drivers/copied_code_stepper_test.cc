#include "engine/walk/copied_code_stepper.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <optional>
#include <vector>

#include "process/self/self_target.h"
#include "support/byte_lists.h"

namespace mixstack::walk {
namespace {

using test::bytes_of;

// mov %rsi,(%rdi); movabs $imm,%rax; ret
const auto kBarrier = bytes_of({0x48, 0x89, 0x37, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xc3});
const auto kPatched = bytes_of({0x48, 0x89, 0x37, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 0xc3});

TEST(CopiedCode, ImmediatesMayDiffer) { EXPECT_TRUE(equal_up_to_immediates(kBarrier, kPatched)); }

TEST(CopiedCode, NothingElseMay) {
  auto other = kPatched;
  other[0] = std::byte{0x49};
  EXPECT_FALSE(equal_up_to_immediates(kBarrier, other));
  other = kPatched;
  other[13] = std::byte{0xcc};
  EXPECT_FALSE(equal_up_to_immediates(kBarrier, other));
  other = kPatched;
  other[4] = std::byte{0xb9};
  EXPECT_FALSE(equal_up_to_immediates(kBarrier, other)) << "another register";
  EXPECT_FALSE(equal_up_to_immediates(kBarrier, std::span(kPatched).first(13)));
}

/// A function of our own C library, copied into the middle of a mapping as large as a JIT's, across the end of a page.
TEST(CopiedCode, IsFoundInAnyMapping) {
  constexpr std::size_t kMapping = 1 << 20, kPlace = 0x20fe0;
  void* mapping = ::mmap(nullptr, kMapping, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapping, MAP_FAILED);
  auto target = process::open_self();
  ASSERT_TRUE(target);
  ASSERT_EQ(::mprotect(mapping, kMapping, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
  const auto regions = (*target)->regions();
  ASSERT_TRUE(regions);
  const auto modules =
      images::ModuleMap::build(*regions, (*target)->memory(), [&](const Region& r) { return (*target)->open_file(r); });
  const ModuleIndex libc = modules.find(reinterpret_cast<Address>(&::mmap));
  const auto image = modules.image(libc);
  ASSERT_TRUE(image);
  const auto tables = std::make_shared<unwind::UnwindTables>();
  const auto table = tables->of(*image);
  std::optional<AddressRange> function;
  for (const std::uint64_t start : table->function_starts()) {
    const auto range = table->function_at(start);
    if (range && range->begin == start && range->size() > 64 && range->size() < 512) function = range;
    if (function) break;
  }
  ASSERT_TRUE(function);
  const auto code = (*image)->bytes_at(function->begin, function->size());
  ASSERT_EQ(code.size(), function->size());
  std::memcpy(static_cast<std::byte*>(mapping) + kPlace, code.data(), code.size());

  CopiedCodeStepper stepper(modules, {libc}, *regions, false, (*target)->memory(), tables, 0);
  const Address copy = reinterpret_cast<Address>(mapping) + kPlace;
  for (const std::size_t at : {std::size_t{0}, std::size_t{0x30}, code.size() - 1}) {
    Frame frame{.pc = CodeAddress::exact(copy + at)};
    ASSERT_TRUE(stepper.claim(frame)) << at;
    EXPECT_EQ(frame.module, libc);
    EXPECT_EQ(frame.module_offset, function->begin + at);
  }
  Frame behind{.pc = CodeAddress::exact(copy + code.size())};
  EXPECT_FALSE(stepper.claim(behind));
  ::munmap(mapping, kMapping);
}

}  // namespace
}  // namespace mixstack::walk
