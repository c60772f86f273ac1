#include "process/peers/file_locks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace mixstack::peers {
namespace {

constexpr std::string_view kTable =
    "1: POSIX  ADVISORY  WRITE 812 fd:01:4711 0 EOF\n"
    "1: -> POSIX  ADVISORY  WRITE 900 fd:01:4711 0 EOF\n"
    "1:  -> POSIX  ADVISORY  READ 901 fd:01:4711 0 99\n"
    "2: FLOCK  ADVISORY  READ 813 00:2a:77 0 EOF\n"
    "2: FLOCK  ADVISORY  READ 814 00:2a:77 0 EOF\n"
    "2: -> FLOCK  ADVISORY  WRITE 900 00:2a:77 0 EOF\n"
    "3: OFDLCK ADVISORY  WRITE -1 00:2a:78 0 EOF\n";

TEST(FileLocks, WhoHoldsWhatAProcessWaitsFor) {
  const auto locks = parse_file_locks(kTable);
  ASSERT_EQ(locks.size(), 7u);
  EXPECT_EQ(lock_holders(locks, 900, 4711), std::vector<std::int64_t>{812});
  EXPECT_EQ(lock_holders(locks, 901, 0), std::vector<std::int64_t>{812});
  EXPECT_EQ(lock_holders(locks, 900, 77), (std::vector<std::int64_t>{813, 814}));
  EXPECT_TRUE(lock_holders(locks, 812, 0).empty());
  EXPECT_EQ(locks.back().pid, -1);
}

TEST(FileLocks, LinesThatMakeNoSense) {
  EXPECT_TRUE(parse_file_locks("").empty());
  EXPECT_TRUE(parse_file_locks("\n1:\nx: POSIX A W 1 1:1:1 0 EOF\n1: -> POSIX A W\n1: A B C d e:f:g\n").empty());
}

TEST(FileLocks, CallsThatWaitForOne) {
  EXPECT_TRUE(waits_for_file_lock(SYS_flock, 2));
  EXPECT_TRUE(waits_for_file_lock(SYS_fcntl, F_SETLKW));
  EXPECT_FALSE(waits_for_file_lock(SYS_fcntl, F_GETFL));
  EXPECT_FALSE(waits_for_file_lock(SYS_read, F_SETLKW));
}

}  // namespace
}  // namespace mixstack::peers
