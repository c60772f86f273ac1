// A function whose FDE .eh_frame_hdr does not list, as lld makes them: an empty one of the same start is there instead.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <functional>
#include <vector>

#include "engine/self_walk/module_records.h"
#include "mixstack/self_walk.h"

namespace mixstack::self_walk {
namespace {

[[gnu::noinline]] void hidden_function(const std::function<void()>& work) {
  work();
  asm volatile("");
}

Address address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

template <class T>
T& at(Address address) {
  return *reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));
}

std::int32_t distance(Address to, Address from) {
  return static_cast<std::int32_t>(static_cast<std::int64_t>(to - from));
}

// In the same segment as the function and its header (of the main program the linker names no more on some CPUs),
// behind .eh_frame, as all entries are.
constexpr std::size_t kRoom = 512;
asm(R"(
  .section .gcc_except_table, "a"
  .balign 512
  .globl mixstack_test_empty_fde
mixstack_test_empty_fde:
  .zero 512
  .text
)");
extern "C" std::byte mixstack_test_empty_fde;

/// Makes memory writable for a moment; it may share its page with code.
class Writable {
 public:
  explicit Writable(Address place) : page_(&at<std::byte>(place / 4096 * 4096)) {
    EXPECT_EQ(mprotect(page_, 4096, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
  }
  Writable(const Writable&) = delete;
  Writable& operator=(const Writable&) = delete;
  ~Writable() { EXPECT_EQ(mprotect(page_, 4096, PROT_READ | PROT_EXEC), 0); }

 private:
  void* page_;
};

/// Lets the entry of our own .eh_frame_hdr lead to the empty FDE, as long as it lives.
class HiddenEntry {
 public:
  explicit HiddenEntry(Address function) {
    ProbedMemory memory(memory::PageProbe::find_way());
    LoadedObject object;
    EXPECT_TRUE(ObjectFinder().find(function, object));
    const ModuleRecord module = ModuleRecord::read(object, true, memory);
    for (std::uint64_t i = 0; i < module.count; i++) {
      const Address pair = module.table + i * 8;
      if (module.eh_frame_hdr + static_cast<Address>(std::int64_t{at<std::int32_t>(pair)}) == function)
        entry_ = pair + 4;
    }
    if (entry_ == 0) return;
    before_ = at<std::int32_t>(entry_);
    const Address fde = module.eh_frame_hdr + static_cast<Address>(std::int64_t{before_});
    const std::size_t size = at<std::uint32_t>(fde) + std::size_t{4};
    if (size > kRoom) return;
    const Address copy = address_of(&mixstack_test_empty_fde), cie = fde + 4 - at<std::uint32_t>(fde + 4);
    const Writable room(copy);
    std::memcpy(&mixstack_test_empty_fde, &at<std::byte>(fde), size);
    at<std::uint32_t>(copy + 4) = static_cast<std::uint32_t>(copy + 4 - cie);
    at<std::int32_t>(copy + 8) = distance(function, copy + 8);
    at<std::uint32_t>(copy + 12) = 0;  // its length
    put(distance(copy, module.eh_frame_hdr));
    is_hidden_ = true;
  }
  HiddenEntry(const HiddenEntry&) = delete;
  HiddenEntry& operator=(const HiddenEntry&) = delete;
  ~HiddenEntry() {
    if (is_hidden_) put(before_);
  }
  [[nodiscard]] bool is_hidden() const { return is_hidden_; }

 private:
  void put(std::int32_t value) const {
    const Writable table(entry_);
    at<std::int32_t>(entry_) = value;
  }

  Address entry_ = 0;
  std::int32_t before_ = 0;
  bool is_hidden_ = false;
};

std::vector<Address> walk_below(const SelfWalker& walker) {
  std::vector<Address> out(100);
  hidden_function([&] {
    const SelfTrace trace = walker.walk_here(out);
    EXPECT_EQ(trace.stop, StopReason::end_of_stack);
    out.resize(trace.count);
  });
  return out;
}

TEST(HiddenFde, IsFoundInTheSection) {
  std::vector<Address> expected, found;
  {
    const auto walker = std::move(*SelfWalker::create());
    expected = walk_below(*walker);
  }
  const HiddenEntry hidden(address_of(reinterpret_cast<const void*>(&hidden_function)));
  ASSERT_TRUE(hidden.is_hidden());
  const auto walker = std::move(*SelfWalker::create());
  found = walk_below(*walker);
  ASSERT_GT(expected.size(), 5u);
  ASSERT_EQ(found.size(), expected.size());
  // The first calls of walk_below itself differ.
  EXPECT_TRUE(std::equal(found.begin(), found.begin() + 3, expected.begin()));
  EXPECT_TRUE(std::equal(found.end() - 3, found.end(), expected.end() - 3));
}

}  // namespace
}  // namespace mixstack::self_walk
