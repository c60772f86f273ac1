#include "process/perf/perf_sampler.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <map>

#include "base/arch/cpu.h"
#include "base/system/byte_cursor.h"
#include "process/perf/burning_process.h"
#include "process/perf/kernel_files.h"
#include "process/perf/perf_refusal.h"
#include "support/host_cpu.h"

namespace mixstack::perf {
namespace {

using test::BurningProcess;
using Kind = PerfNotice::Kind;

class Counts final : public PerfVisitor {
 public:
  void sample(const PerfSample& s) override {
    all++;
    disorder += s.time_ns < latest ? 1 : 0;
    latest = s.time_ns;
    if (!s.has_user || !test::code_of(reinterpret_cast<const void*>(&test::burn)).contains(s.user.pc())) return;
    in_function++;
    by_thread[s.tid]++;
    const AddressRange caller = test::code_of(reinterpret_cast<const void*>(&test::burn_in));
    bool found = caller.contains(s.user.get(arch::cpu(s.user.arch()).link_register).value_or(0));
    for (std::size_t at = 0; at + 8 <= 256 && !found; at += 8)
      found = caller.contains(base::load_at<Address>(s.stack, at).value_or(0));
    with_caller += found ? 1 : 0;
  }
  void notice(const PerfNotice& n) override {
    notices[n.kind]++;
    if (n.kind == Kind::thread_began) born.push_back(n.tid);
    if (n.kind == Kind::renamed) name = n.text;
  }

  std::size_t all = 0, in_function = 0, with_caller = 0, disorder = 0;
  std::uint64_t latest = 0;
  std::map<ThreadId, std::size_t> by_thread;
  std::map<Kind, int> notices;
  std::vector<ThreadId> born;
  std::string name;
};

constexpr std::size_t kAll = 1 << 24;

/// A sampler, or the reason why this machine has none.
Result<PerfSampler> sampler_of(const BurningProcess& process, const PerfOptions& options) {
  return PerfSampler::open(process.pid(), test::kHostCpu, options);
}
bool is_forbidden(const Error& error) {
  return error.code == ErrorCode::permission_denied || error.code == ErrorCode::unsupported;
}
#define MIXSTACK_SAMPLER(name, process, options)                                                                  \
  auto name = sampler_of(process, options);                                                                       \
  if (!name && is_forbidden(name.error())) GTEST_SKIP() << "perf events: " << explain_perf_refusal(name.error()); \
  ASSERT_TRUE(name.has_value()) << name.error().os_error

TEST(PerfSampler, SamplesTwoThreadsAtTheRate) {
  const BurningProcess process(2);
  MIXSTACK_SAMPLER(sampler, process, PerfOptions{});
  Counts counts;
  const double before = process.cpu_seconds();
  sampler->start();
  ASSERT_TRUE(process.use_cpu(0.8, [&] { sampler->drain(counts, kAll); }));
  sampler->stop();
  const double used = process.cpu_seconds() - before;
  sampler->drain(counts, kAll, PerfSampler::Until::empty);
  EXPECT_NEAR(static_cast<double>(counts.all) / used, sampler->hertz(), sampler->hertz() * 0.1);
  EXPECT_EQ(sampler->lost(), 0u);
  EXPECT_EQ(sampler->unreadable(), 0u);
  EXPECT_EQ(counts.disorder, 0u);
  EXPECT_EQ(counts.by_thread.size(), 2u);
  EXPECT_GT(counts.in_function, counts.all * 9 / 10);
  EXPECT_EQ(counts.with_caller, counts.in_function) << "the stack holds where the function returns to";
}

TEST(PerfSampler, FollowsThreadsFromTheirBeginToTheirEnd) {
  BurningProcess process(1);
  MIXSTACK_SAMPLER(sampler, process, PerfOptions{});
  if (sampler->following() != Following::by_events) GTEST_SKIP() << "too few files may be open";
  Counts counts;
  sampler->start();
  process.add_threads(2);
  ASSERT_TRUE(process.use_cpu(0.3, [&] { sampler->drain(counts, kAll); }));
  process.end_threads(1);
  for (int i = 0; i < 1000 && counts.notices[Kind::thread_ended] == 0; i++) {
    sampler->drain(counts, kAll);
    ::usleep(5000);
  }
  ASSERT_EQ(counts.born.size(), 2u);
  for (const ThreadId tid : counts.born) EXPECT_GT(counts.by_thread[tid], 10u);
  EXPECT_EQ(counts.notices[Kind::thread_ended], 1);
  EXPECT_EQ(counts.notices[Kind::renamed], 2);
  EXPECT_EQ(counts.name, "burning");
}

TEST(PerfSampler, FollowsThreadsWithFewFiles) {
  BurningProcess process(1);
  PerfOptions options;
  options.follow_by_events = false;
  MIXSTACK_SAMPLER(sampler, process, options);
  EXPECT_EQ(sampler->following(), Following::by_proc);
  EXPECT_EQ(sampler->events(), 2u);
  Counts counts;
  sampler->start();
  process.add_threads(1);
  EXPECT_EQ(sampler->follow_threads(), 1u);
  EXPECT_EQ(sampler->follow_threads(), 0u);
  ASSERT_TRUE(process.use_cpu(0.3, [&] { sampler->drain(counts, kAll); }));
  EXPECT_EQ(counts.by_thread.size(), 2u);
  process.end_threads(2);
  for (int i = 0; i < 1000 && sampler->events() > 1; i++) {
    sampler->drain(counts, kAll);
    (void)sampler->follow_threads();
    ::usleep(5000);
  }
  EXPECT_EQ(sampler->events(), 1u) << "events of threads that have ended are closed";
}

// Without address space there is no ring for a new thread.
TEST(PerfSampler, AThreadWithoutARingHasNoEventEither) {
  BurningProcess process(1);
  PerfOptions options;
  options.follow_by_events = false;
  MIXSTACK_SAMPLER(sampler, process, options);
  sampler->start();
  process.add_threads(1);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &none), 0);
  const std::size_t added = sampler->follow_threads();
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(added, 0u);
  EXPECT_EQ(sampler->events(), 2u);
  EXPECT_EQ(sampler->follow_threads(), 1u) << "it is tried again";
  EXPECT_EQ(sampler->events(), 3u);
}

TEST(PerfSampler, CountsWhatHasNoRoom) {
  const BurningProcess process(2);
  PerfOptions options;
  options.hertz = 4999;
  options.ring_bytes = 128 << 10;
  MIXSTACK_SAMPLER(sampler, process, options);
  sampler->start();
  // An emulated processor takes fewer samples than were asked for.
  for (int i = 0; i < 20 && sampler->lost() <= 100; i++) ASSERT_TRUE(process.use_cpu(0.2, [] {}));
  sampler->stop();
  EXPECT_GT(sampler->lost(), 100u);
  Counts counts;
  sampler->drain(counts, kAll, PerfSampler::Until::empty);
  EXPECT_GT(counts.all, 4u);
  EXPECT_LT(counts.all, 40u);
}

TEST(PerfSampler, SaysWhatIsNoProcess) {
  pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  const auto sampler = PerfSampler::open(static_cast<std::uint32_t>(gone), test::kHostCpu, PerfOptions{});
  ASSERT_FALSE(sampler.has_value());
  EXPECT_EQ(sampler.error().code, ErrorCode::no_such_process);
}

/// Runs as a user without rights, on a process of that user. Answers 0: user time alone is sampled; else where it
/// failed.
int sample_as_nobody() {
  constexpr uid_t kNobody = 65534;
  if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) return 1;
  ::prctl(PR_SET_DUMPABLE, 1);
  const BurningProcess process(1);
  auto sampler = sampler_of(process, PerfOptions{});
  if (!sampler) return is_forbidden(sampler.error()) ? 2 : 3;
  Counts counts;
  sampler->start();
  if (!process.use_cpu(0.1, [&] { sampler->drain(counts, kAll); })) return 4;
  return sampler->counts_kernel() || counts.in_function < 20 ? 5 : 0;
}

/// The same with as little locked memory as a kernel gives everybody: all rings are equally large then, and wake us in
/// time.
int sample_with_small_rings() {
  constexpr uid_t kNobody = 65534;
  const rlimit little{0, 0};
  if (::setrlimit(RLIMIT_MEMLOCK, &little) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) return 1;
  ::prctl(PR_SET_DUMPABLE, 1);
  const BurningProcess process(2);
  PerfOptions options;
  options.hertz = 999;
  options.stack_bytes = 32 << 10;
  auto sampler = sampler_of(process, options);
  if (!sampler) return is_forbidden(sampler.error()) ? 2 : 3;
  if (sampler->short_ring_bytes() == 0) return 4;
  const std::size_t rings = sampler->ring_bytes() / sampler->short_ring_bytes();
  if (rings * sampler->short_ring_bytes() != sampler->ring_bytes()) return 5;
  sampler->start();
  Counts counts;
  bool is_told = false;  // long before the time that we would wait for
  for (int i = 0; i < 20 && !is_told; i++) {
    const auto begin = std::chrono::steady_clock::now();
    sampler->wait(std::chrono::milliseconds(5000));
    is_told = std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(2500);
    sampler->drain(counts, kAll);
  }
  return is_told && counts.all != 0 ? 0 : 6;
}

TEST(PerfSampler, MakesDoWithTheMemoryThatMayBeLocked) {
  const auto paranoid = number_in("/proc/sys/kernel/perf_event_paranoid");
  const auto locked = number_in("/proc/sys/kernel/perf_event_mlock_kb");
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give rights up";
  if (paranoid != 2 || locked != 516)
    GTEST_SKIP() << "kernel.perf_event_paranoid is not 2, or perf_event_mlock_kb not 516";
  const pid_t child = ::fork();
  if (child == 0) ::_exit(sample_with_small_rings());
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "perf events are not allowed to everybody here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(PerfSampler, SamplesUserTimeWithoutRights) {
  const auto paranoid = number_in("/proc/sys/kernel/perf_event_paranoid");
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give rights up";
  if (paranoid != 2) GTEST_SKIP() << "kernel.perf_event_paranoid is not 2";
  const pid_t child = ::fork();
  if (child == 0) ::_exit(sample_as_nobody());
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "perf events are not allowed to everybody here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace mixstack::perf
