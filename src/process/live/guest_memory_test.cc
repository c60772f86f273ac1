#include "process/live/guest_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "process/kernel/memory_map.h"

namespace mixstack::process {
namespace {

using State = memory::PageMap::State;
constexpr std::size_t kPage = 4096;

/// Looks at its own process.
class GuestMemoryTest : public testing::Test {
 protected:
  [[nodiscard]] static Address map(int flags, int fd) {
    void* mapped = ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, flags, fd, 0);
    return mapped == MAP_FAILED ? 0 : reinterpret_cast<Address>(mapped);
  }
  static void read_first(Address at) { (void)*reinterpret_cast<volatile char*>(at); }
  static void write_second(Address at) { *reinterpret_cast<volatile char*>(at + kPage) = 'x'; }

  GuestMemory::RegionList list() {
    const base::ScopedFd maps(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
    auto regions = read_memory_map(maps.get());
    return regions ? std::make_shared<const std::vector<Region>>(std::move(*regions)) : nullptr;
  }
  [[nodiscard]] bool in_stop(Address at) {
    std::array<std::byte, 16> bytes{};
    return memory_.in_stop().read_some(at, bytes).value_or(0) == bytes.size();
  }

  ProcDir proc_ = *ProcDir::open(static_cast<std::uint32_t>(::getpid()));
  GuestMemory memory_{proc_, *proc_.open_memory_file("mem", O_RDONLY), [this] { return list(); }};
};

TEST_F(GuestMemoryTest, InTheStopNoPageOfAFileIsRead) {
  const base::ScopedFd exe(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const Address at = map(MAP_PRIVATE, exe.get());
  ASSERT_NE(at, 0u);
  read_first(at);
  write_second(at);
  EXPECT_FALSE(in_stop(at)) << "it can go before it is read, and its file system may not answer";
  EXPECT_TRUE(in_stop(at + kPage)) << "a page that was written is the process's own";
  std::array<std::byte, 4> bytes{};
  EXPECT_EQ(memory_.read_some(at, bytes).value_or(0), bytes.size()) << "after the stop it is";
}

// .NET maps assemblies so, and which of their pages are there is chance.
TEST_F(GuestMemoryTest, APageOfASharedFileThatIsOnlyReadIsTheFiles) {
  const base::ScopedFd exe(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  void* mapped = ::mmap(nullptr, 2 * kPage, PROT_READ, MAP_SHARED, exe.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const auto at = reinterpret_cast<Address>(mapped);
  ASSERT_EQ(memory_.pages().run({at, at + kPage}).state, State::absent);
  std::array<char, 4> bytes{};
  EXPECT_EQ(memory_.read_some(at, std::as_writable_bytes(std::span(bytes))).value_or(0), bytes.size());
  EXPECT_EQ(std::string_view(bytes.data(), bytes.size()),
            "\x7f"
            "ELF");
  EXPECT_FALSE(in_stop(at));
  EXPECT_EQ(memory_.pages().run({at, at + kPage}).state, State::absent) << "nobody has made it";
}

TEST_F(GuestMemoryTest, APageOfASharedFileThatMayBeWrittenToIsNotRead) {
  const base::ScopedFd file(::open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  struct statfs system {};
  if (!file || ::fstatfs(file.get(), &system) != 0 || system.f_type == TMPFS_MAGIC)
    GTEST_SKIP() << "no file without a name here";
  ASSERT_EQ(::ftruncate(file.get(), 2 * kPage), 0);
  const Address at = map(MAP_SHARED, file.get());
  ASSERT_NE(at, 0u);
  std::array<std::byte, 4> bytes{};
  EXPECT_FALSE(memory_.read_some(at, bytes).has_value());
}

TEST_F(GuestMemoryTest, SharedMemoryAnswersInTheStop) {
  const base::ScopedFd memfd(static_cast<int>(::memfd_create("guest", MFD_CLOEXEC)));
  ASSERT_EQ(::ftruncate(memfd.get(), 2 * kPage), 0);
  for (const Address at : {map(MAP_SHARED, memfd.get()), map(MAP_SHARED | MAP_ANONYMOUS, -1)}) {
    ASSERT_NE(at, 0u);
    write_second(at);
    EXPECT_TRUE(in_stop(at + kPage));
    EXPECT_FALSE(in_stop(at)) << "never touched";
  }
}

TEST_F(GuestMemoryTest, MemoryReservedWhenTheListWasMadeIsReadOnceItIsUsed) {
  void* mapped = ::mmap(nullptr, 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto at = reinterpret_cast<Address>(mapped);
  std::array<std::byte, 4> bytes{};
  memory_.use(list());
  EXPECT_FALSE(memory_.read_some(at + kPage, bytes).has_value()) << "and that it was refused is not remembered";
  ASSERT_EQ(::mprotect(mapped, 2 * kPage, PROT_READ | PROT_WRITE), 0);
  write_second(at);
  EXPECT_EQ(memory_.read_some(at + kPage, bytes).value_or(0), bytes.size());
}

}  // namespace
}  // namespace mixstack::process
