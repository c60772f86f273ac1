#include "process/perf/perf_refusal.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "process/perf/kernel_files.h"

namespace mixstack::perf {
namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(PerfRefusal, SaysWhatWouldLiftIt) {
  PerfRights rights;
  rights.paranoid = 3;
  const Error denied{ErrorCode::permission_denied, EACCES, 17};
  EXPECT_TRUE(has(explain_perf_refusal(denied, rights), "sysctl kernel.perf_event_paranoid=2"));
  EXPECT_TRUE(has(explain_perf_refusal(denied, rights), "setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep"));
  EXPECT_TRUE(has(explain_perf_refusal(denied, rights), "without CAP_PERFMON"));
  rights.limits.bounding = ~(std::uint64_t{1} << 39);  // without CAP_BPF, with which the file could not be executed
  EXPECT_TRUE(has(explain_perf_refusal(denied, rights), "setcap cap_perfmon,cap_sys_ptrace+ep"));
  rights.limits.bounding = 0;
  EXPECT_FALSE(has(explain_perf_refusal(denied, rights), "setcap cap_")) << "nothing gives it";
  EXPECT_FALSE(has(explain_perf_refusal(denied, rights), "\n"));
  rights.limits = {};
  rights.most_files = 256;
  EXPECT_EQ(explain_perf_refusal({ErrorCode::limit_exceeded, EMFILE, 1065}, rights),
            "too few files may be open for an event of each thread (ulimit -n: 256 at most, 1065 are enough)");
  rights.paranoid = 2;
  EXPECT_FALSE(has(explain_perf_refusal(denied, rights), "sysctl")) << "would not help";
  rights.is_filtered = true;
  EXPECT_TRUE(has(explain_perf_refusal({ErrorCode::permission_denied, EPERM, 17}, rights), "seccomp"));
  EXPECT_TRUE(has(explain_perf_refusal({ErrorCode::unsupported, ENOSYS, 0}, rights), "no perf events"));
  EXPECT_TRUE(has(explain_missing_kernel(rights), "sysctl kernel.perf_event_paranoid=1"));
  rights.has_perfmon = true;
  EXPECT_EQ(explain_missing_kernel(rights), "");
  EXPECT_TRUE(has(explain_perf_refusal(denied, rights), "another user's"));
}

TEST(KernelFiles, ParsesListsOfProcessors) {
  EXPECT_EQ(parse_cpu_list("0-2,5"), (std::vector<int>{0, 1, 2, 5}));
  EXPECT_EQ(parse_cpu_list("3"), std::vector<int>{3});
  for (const char* bad : {"", "a", "1-", "2-1", "-1", "0-99999999", "1;2", "99999999999999999999"})
    EXPECT_TRUE(parse_cpu_list(bad).empty()) << bad;
}

/// The number of an error is a number of files, or nothing.
int read_threads_with_no_file_left() {
  const rlimit files{3, 3};
  if (::setrlimit(RLIMIT_NOFILE, &files) != 0) return 2;
  const auto threads = threads_of(static_cast<std::uint32_t>(::getpid()));
  const bool is_told = !threads && threads.error().code == ErrorCode::limit_exceeded;
  return is_told && threads.error().value == 0 ? 0 : 1;
}

TEST(PerfRefusal, TooFewFilesToReadTheListOfThreads) {
  EXPECT_EXIT(::_exit(read_threads_with_no_file_left()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace mixstack::perf
