#include "base/memory/self_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

namespace mixstack::memory {
namespace {

constexpr std::size_t kPage = 4096;

Address address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

/// Three pages, the last two without access or unmapped.
class Pages {
 public:
  explicit Pages(bool unmap) {
    base_ =
        static_cast<std::byte*>(mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(base_, 7, kPage);
    if (unmap) munmap(base_ + kPage, 2 * kPage);
    if (!unmap) mprotect(base_ + kPage, 2 * kPage, PROT_NONE);
  }
  ~Pages() { munmap(base_, 3 * kPage); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  [[nodiscard]] Address begin() const { return address_of(base_); }

 private:
  std::byte* base_;
};

TEST(PageProbe, TellsReadablePagesFromOthers) {
  const PageProbe probe = PageProbe::find_way();
  for (const bool unmap : {true, false}) {
    const Pages pages(unmap);
    errno = 77;
    EXPECT_TRUE(probe.is_readable(pages.begin()));
    EXPECT_TRUE(probe.is_readable(pages.begin() + kPage - 8));
    EXPECT_FALSE(probe.is_readable(pages.begin() + kPage));
    EXPECT_FALSE(probe.is_readable(pages.begin() + 2 * kPage));
    EXPECT_EQ(errno, 77);
  }
  EXPECT_FALSE(probe.is_readable(0));
  EXPECT_FALSE(probe.is_readable(Address{1} << 62));
  EXPECT_FALSE(probe.is_readable(~Address{7}));
  sigset_t before{}, after{};
  sigprocmask(SIG_BLOCK, nullptr, &before);
  (void)probe.is_readable(address_of(&after) & ~Address{7});
  after = {};
  sigprocmask(SIG_BLOCK, nullptr, &after);
  EXPECT_EQ(std::memcmp(&before, &after, sizeof(before)), 0);
}

TEST(SelfMemory, ReadsUpToTheFirstUnreadablePage) {
  const SelfMemory memory;
  EXPECT_TRUE(memory.is_fault_proof());
  const Pages pages(true);
  std::vector<std::byte> out(2 * kPage);
  const auto n = memory.read_some(pages.begin() + 100, out);
  ASSERT_TRUE(n.has_value());
  EXPECT_EQ(*n, kPage - 100);
  EXPECT_EQ(out[0], std::byte{7});
  const auto none = memory.read_some(pages.begin() + kPage, out);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::unreadable_memory);
  EXPECT_EQ(none.error().value, pages.begin() + kPage);
  EXPECT_FALSE(memory.read_some(~Address{0} - 4, out).has_value());
  EXPECT_FALSE(memory.read<std::uint64_t>(8).has_value());
}

TEST(SelfMemory, SurvivesPagesThatComeAndGo) {
  const SelfMemory memory;
  void* place = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::atomic<bool> stop = false;
  std::thread changer([&] {
    while (!stop) {
      mprotect(place, kPage, PROT_NONE);
      mprotect(place, kPage, PROT_READ | PROT_WRITE);
    }
  });
  unsigned readable = 0, unreadable = 0;
  for (unsigned i = 0; i < 2000 || readable == 0 || (unreadable == 0 && i < 2'000'000); i++)
    memory.read<std::uint64_t>(address_of(place)).has_value() ? readable++ : unreadable++;
  stop = true;
  changer.join();
  munmap(place, kPage);
  EXPECT_GT(readable, 0u);
  EXPECT_GT(unreadable, 0u);
}

}  // namespace
}  // namespace mixstack::memory
