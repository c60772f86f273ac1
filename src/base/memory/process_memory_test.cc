#include "base/memory/process_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <numeric>
#include <string>

namespace mixstack::memory {
namespace {

constexpr std::size_t kPage = 4096;

/// Ten pages with a hole at the fourth, in a child that waits.
class ProcessMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    auto* pages = static_cast<unsigned char*>(
        ::mmap(nullptr, 10 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (std::size_t i = 0; i < 10 * kPage; i++) pages[i] = byte_at(i);
    base_ = reinterpret_cast<Address>(pages);
    child_ = ::fork();
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::munmap(pages + 4 * kPage, kPage);
      ::kill(::getpid(), SIGSTOP);
      for (;;) ::pause();
    }
    ::munmap(pages, 10 * kPage);
    int status = 0;
    ASSERT_EQ(::waitpid(child_, &status, WUNTRACED), child_);
  }
  void TearDown() override {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  static unsigned char byte_at(std::size_t i) { return static_cast<unsigned char>(i * 7 + i / kPage); }
  [[nodiscard]] ProcessMemory memory() const {
    const std::string path = "/proc/" + std::to_string(child_) + "/mem";
    return ProcessMemory(static_cast<std::uint32_t>(child_), base::ScopedFd(::open(path.c_str(), O_RDONLY)));
  }
  [[nodiscard]] bool matches(std::size_t offset, std::span<const std::byte> bytes) const {
    for (std::size_t i = 0; i < bytes.size(); i++)
      if (std::to_integer<unsigned char>(bytes[i]) != byte_at(offset + i)) return false;
    return true;
  }

  /// All that must hold whichever way the bytes come.
  void check_reads(const ProcessMemory& m) const {
    std::vector<std::byte> buffer(8 * kPage);
    auto n = m.read_some(base_ + 100, std::span(buffer).first(3000));
    ASSERT_TRUE(n.has_value());
    EXPECT_EQ(*n, 3000u);
    EXPECT_TRUE(matches(100, std::span(buffer).first(3000)));
    n = m.read_some(base_ + 3 * kPage + 1, buffer);
    ASSERT_TRUE(n.has_value()) << "up to the hole";
    EXPECT_EQ(*n, kPage - 1);
    auto hole = m.read_some(base_ + 4 * kPage, buffer);
    ASSERT_FALSE(hole.has_value());
    EXPECT_EQ(hole.error().code, ErrorCode::unreadable_memory);
    EXPECT_EQ(hole.error().value, base_ + 4 * kPage);
    EXPECT_FALSE(m.read_some(0, buffer).has_value());
    EXPECT_FALSE(m.read_some(~Address{0} - 8, buffer).has_value());
    EXPECT_FALSE(m.read_some(Address{1} << 63, buffer).has_value());
    EXPECT_EQ(m.read_exact(base_ + 3 * kPage, buffer).error().value, base_ + 4 * kPage);
    EXPECT_EQ(m.read_some(base_, {}).value(), 0u);
    check_ranges(m);
  }

  void check_ranges(const ProcessMemory& m) const {
    // More than the kernel takes at once, every seventh into the hole or across its edge.
    std::vector<std::vector<std::byte>> buffers;
    std::vector<std::size_t> offsets;
    for (std::size_t i = 0; i < 3000; i++) {
      offsets.push_back(i % 7 == 0 ? 4 * kPage - 32 + i % 5 * 32 : i * 11 % (3 * kPage));
      buffers.emplace_back(64);
    }
    std::vector<RangeRead> ranges;
    for (std::size_t i = 0; i < offsets.size(); i++) ranges.push_back({base_ + offsets[i], buffers[i]});
    m.read_ranges(ranges);
    for (std::size_t i = 0; i < offsets.size(); i++) {
      const std::size_t readable = offsets[i] >= 4 * kPage ? 0 : std::min<std::size_t>(64, 4 * kPage - offsets[i]);
      EXPECT_EQ(ranges[i].done, readable) << i;
      EXPECT_TRUE(matches(offsets[i], std::span(buffers[i]).first(ranges[i].done))) << i;
    }
  }

  pid_t child_ = -1;
  Address base_ = 0;
};

TEST_F(ProcessMemoryTest, ReadsUpToWhatCannotBeRead) { check_reads(memory()); }

TEST_F(ProcessMemoryTest, ReadsThroughTheFileWhereTheCallIsRefused) {
  const pid_t reader = ::fork();
  if (reader == 0) {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{4, filter};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, 2, &program) != 0) ::_exit(2);
    check_reads(memory());
    const ProcessMemory without_file(static_cast<std::uint32_t>(child_));
    std::byte one[1];
    EXPECT_EQ(without_file.read_some(base_, one).error().code, ErrorCode::permission_denied);
    RangeRead range{base_, one};
    without_file.read_ranges({&range, 1});
    EXPECT_EQ(range.done, 0u);
    ::_exit(HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(reader, &status, 0), reader);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(ProcessMemoryTest, SaysThatTheProcessHasGone) {
  const ProcessMemory m = memory();
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
  EXPECT_EQ(m.read<int>(base_).error().code, ErrorCode::no_such_process);
}

}  // namespace
}  // namespace mixstack::memory
