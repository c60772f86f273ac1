// A return address that a runtime has put in the place of another one.
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <utility>

#include "engine/self_walk/code_rules.h"
#include "mixstack/self_walk.h"

namespace mixstack {
namespace {

/// A runtime that has not compiled anything.
class NoCode final : public self_walk::CodeRules {
 public:
  bool compact(CodeAddress, const MemoryReader&, Answer&) const noexcept override { return false; }
  Result<unwind::UnwindRule> general(CodeAddress, const MemoryReader&) const noexcept override {
    return fail(ErrorCode::not_found);
  }
  bool knows(CodeAddress, const MemoryReader&) const noexcept override { return false; }
};

/// Like a runtime that suspends a thread: makes the function return to the start of another one.
[[gnu::noinline]] SelfTrace walk_with_return_to(const void* function, const SelfWalker& walker,
                                                std::span<Address> out) {
  const void** const slot = static_cast<const void**>(__builtin_frame_address(0)) + 1;
  const void* const before = std::exchange(*const_cast<const void* volatile*>(slot), function);
  const SelfTrace trace = walker.walk_here(out);
  *const_cast<const void* volatile*>(slot) = before;
  return trace;
}
[[gnu::noinline, gnu::aligned(64)]] void is_returned_to() { asm volatile(""); }

TEST(ReplacedReturn, EndsTheWalk) {
  const NoCode none;
  const auto walker = std::move(*SelfWalker::create({.code = &none}));
  std::array<Address, 200> out;
  for (int i = 0; i < 3; i++) {
    const SelfTrace trace = walk_with_return_to(reinterpret_cast<const void*>(&is_returned_to), *walker, out);
    EXPECT_EQ(trace.stop, StopReason::bad_return_address);
    EXPECT_EQ(trace.count, 1u) << "what was put there is no caller";
  }
  EXPECT_EQ(walker->walk_here(out).stop, StopReason::end_of_stack);
}

}  // namespace
}  // namespace mixstack
