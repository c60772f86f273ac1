#include "dotnet/code/allocated_bytes.h"

#include <gtest/gtest.h>

#include "support/sparse_memory.h"

namespace mixstack::dotnet {
namespace {

constexpr Address kThread = 0x10000, kLocals = 0x20000, kContext = kLocals + 8;

class AllocatedBytesTest : public testing::Test {
 protected:
  AllocatedBytesTest() {
    layouts.thread.runtime_thread_locals = {32};
    layouts.runtime_thread_locals = {{0}};
    layouts.ee_alloc_context = {{8}};
    layouts.gc_alloc_context = {{0}, {8}, {16}, {24}};
    memory.put_u64(kThread + 32, kLocals);
    put(0x7f0000001000, 0x7f0000001800, 10000, 500);
  }
  void put(std::uint64_t pointer, std::uint64_t limit, std::uint64_t small, std::uint64_t large) {
    memory.put_u64(kContext, pointer);
    memory.put_u64(kContext + 8, limit);
    memory.put_u64(kContext + 16, small);
    memory.put_u64(kContext + 24, large);
  }
  [[nodiscard]] std::optional<std::uint64_t> read() const { return allocated_bytes({memory, layouts}, kThread); }

  test::SparseMemory memory;
  Layouts layouts;
};

TEST_F(AllocatedBytesTest, WithoutWhatIsNotUsedYet) {
  EXPECT_EQ(read(), 10000u - 0x800 + 500);
  put(0, 0, 0, 0);  // has allocated nothing
  EXPECT_EQ(read(), 0u);
}

TEST_F(AllocatedBytesTest, NothingThatCannotBeRight) {
  put(0x7f0000001800, 0x7f0000001000, 10000, 0);
  EXPECT_FALSE(read());
  put(0x7f0000001000, 0x7f0000009000, 10000, 0);  // more is unused than was ever taken
  EXPECT_FALSE(read());
  put(0, 0, ~std::uint64_t{0}, 0);
  EXPECT_FALSE(read());
}

TEST_F(AllocatedBytesTest, NothingWhereItIsNotTold) {
  layouts.gc_alloc_context.alloc_bytes = {};
  EXPECT_FALSE(read());
  layouts.gc_alloc_context.alloc_bytes = {16};
  memory.put_u64(kThread + 32, 0);
  EXPECT_FALSE(read());
  layouts.runtime_thread_locals = {};
  EXPECT_FALSE(read());
}

}  // namespace
}  // namespace mixstack::dotnet
