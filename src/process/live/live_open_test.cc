// Which processes can be opened, and what is said about those that cannot.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <fstream>
#include <iterator>

#include "process/kernel/memory_map.h"
#include "process/live/live_target.h"
#include "process/live/process_info.h"
#include "process/live/ptrace_refusal.h"
#include "process/live/test_process.h"
#include "support/host_cpu.h"

namespace mixstack::process {
namespace {

using namespace test;

constexpr uid_t kNobody = 65534;

CaptureRequest patient() {
  CaptureRequest r;
  r.stop_timeout = 20s;
  return r;
}

void* sleeping_thread(void* shared) {
  static_cast<Shared*>(shared)->ready++;
  for (;;) ::pause();
}

TEST(LiveOpen, SaysWhatAProcessIs) {
  const TestProcess process([](Shared& s) { s.ready++; });
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  const TargetInfo& info = (*target)->info();
  EXPECT_EQ(info.pid, process.id());
  EXPECT_EQ(info.arch, mixstack::test::kHostCpu);
  EXPECT_NE(info.executable.find("mixstack_process_live_test"), std::string::npos);
  ASSERT_FALSE(info.command_line.empty());
  EXPECT_NE(info.command_line[0].find("mixstack_process_live_test"), std::string::npos);
  EXPECT_EQ(info.page_size, static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  auto regions = (*target)->regions();
  ASSERT_TRUE(regions.has_value());
  const Region* vdso = find_region(*regions, info.vdso);
  ASSERT_NE(vdso, nullptr);
  EXPECT_EQ(vdso->path, "[vdso]");
  const Region* code = find_region(*regions, info.entry_point);
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(code->path, info.executable);
  EXPECT_TRUE(code->executable);
  EXPECT_NE(find_region(*regions, info.program_headers), nullptr);
  EXPECT_TRUE((*target)->memory().read<std::uint64_t>(info.entry_point).has_value());
}

TEST(LiveOpen, AcceptsTheIdOfAnyThread) {
  const TestProcess process([](Shared& s) { start_thread(sleeping_thread, &s); });
  ASSERT_TRUE(process.is_ready());
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  auto tids = (*target)->threads();
  ASSERT_TRUE(tids.has_value());
  ASSERT_EQ(tids->size(), 2u);
  auto by_thread = open_live((*tids)[1]);
  ASSERT_TRUE(by_thread.has_value());
  EXPECT_EQ((*by_thread)->info().pid, process.id());
}

TEST(LiveOpen, AProcessThatDoesNotExist) {
  auto target = open_live(0x3ffffff0);
  ASSERT_FALSE(target.has_value());
  EXPECT_EQ(target.error().code, ErrorCode::no_such_process);
  EXPECT_EQ(explain_ptrace_refusal(0x3ffffff0).reason, PtraceRefusal::no_such_process);
}

TEST(LiveOpen, OurselvesAndKernelThreads) {
  auto own = open_live(static_cast<std::uint32_t>(::getpid()));
  ASSERT_FALSE(own.has_value());
  EXPECT_EQ(own.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(explain_ptrace_refusal(static_cast<std::uint32_t>(::getpid())).reason, PtraceRefusal::own_process);
  if (slurp("/proc/2/comm") != "kthreadd\n" || ::geteuid() != 0) GTEST_SKIP() << "no kernel threads to be seen";
  auto kernel = open_live(2);
  ASSERT_FALSE(kernel.has_value());
  EXPECT_EQ(kernel.error().code, ErrorCode::unsupported);
  EXPECT_EQ(explain_ptrace_refusal(2).reason, PtraceRefusal::kernel_thread);
}

TEST(LiveOpen, AZombie) {
  const TestProcess process([](Shared& s) {
    s.ready++;
    while (s.go == 0) nap(100us);
    ::_exit(0);
  });
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  process.shared().go = 1;
  ASSERT_TRUE(eventually([&] { return state_of(process.pid()) == 'Z'; }));
  auto capture = (*target)->capture(patient());
  ASSERT_FALSE(capture.has_value());
  EXPECT_EQ(capture.error().code, ErrorCode::no_such_process);
  auto again = open_live(process.id());
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, ErrorCode::no_such_process);
  EXPECT_EQ(explain_ptrace_refusal(process.id()).reason, PtraceRefusal::zombie);
}

void* outliving_thread(void* shared) {
  auto& s = *static_cast<Shared*>(shared);
  s.values[0] = 0x5eed;
  s.ready++;
  for (;;) ::pause();
}

TEST(LiveOpen, AMainThreadThatEndedBeforeTheOthers) {
  const TestProcess process([](Shared& s) {
    start_thread(outliving_thread, &s);
    while (s.ready == 0) nap(100us);
    ::syscall(SYS_exit, 0);  // the thread only
  });
  ASSERT_TRUE(eventually([&] { return state_of(process.pid()) == 'Z'; }));
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value()) << static_cast<int>(target.error().code);
  EXPECT_TRUE((*target)->memory().read<long>((*target)->info().entry_point).has_value());
  auto capture = (*target)->capture(patient());
  ASSERT_TRUE(capture.has_value()) << static_cast<int>(capture.error().code);
  ASSERT_EQ(capture->threads.size(), 2u);
  EXPECT_FALSE(capture->threads[0].captured);
  EXPECT_EQ(capture->threads[0].kernel_state, 'Z');
  EXPECT_EQ(capture->threads[0].error.code, ErrorCode::no_such_thread);
  EXPECT_TRUE(capture->threads[1].captured);
  EXPECT_FALSE(capture->threads[1].stack.bytes.empty());
}

TEST(LiveOpen, AProcessThatIsTracedAlready) {
  const TestProcess process([](Shared& s) { start_thread(sleeping_thread, &s); });
  ASSERT_TRUE(process.is_ready());
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  auto tids = (*target)->threads();
  ASSERT_TRUE(tids.has_value());
  {
    const TestProcess tracer([&](Shared& s) {
      for (const ThreadId tid : *tids)
        if (::ptrace(PTRACE_SEIZE, static_cast<pid_t>(tid), nullptr, nullptr) != 0) ::_exit(1);
      s.ready++;
    });
    ASSERT_TRUE(tracer.is_ready());
    auto capture = (*target)->capture(patient());
    ASSERT_FALSE(capture.has_value());
    EXPECT_EQ(capture.error().code, ErrorCode::already_traced);
    EXPECT_EQ(capture.error().value, tracer.id());
    const auto why = explain_ptrace_refusal(process.id());
    EXPECT_EQ(why.reason, PtraceRefusal::already_traced);
    EXPECT_EQ(why.tracer, tracer.id());
  }
  ASSERT_TRUE(eventually([&] { return is_untraced(process.pid()); }));
  EXPECT_TRUE((*target)->capture(patient()).has_value());
  EXPECT_EQ(explain_ptrace_refusal(process.id()).reason, PtraceRefusal::none);
}

TEST(LiveOpen, OneThreadThatIsTracedAlreadyDoesNotHideTheOthers) {
  const TestProcess process([](Shared& s) { start_thread(sleeping_thread, &s); });
  ASSERT_TRUE(process.is_ready());
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  const TestProcess tracer([&](Shared& s) {
    if (::ptrace(PTRACE_SEIZE, process.pid(), nullptr, nullptr) != 0) ::_exit(1);
    s.ready++;
  });
  ASSERT_TRUE(tracer.is_ready());
  auto capture = (*target)->capture(patient());
  ASSERT_TRUE(capture.has_value());
  ASSERT_EQ(capture->threads.size(), 2u);
  EXPECT_EQ(capture->threads[0].error.code, ErrorCode::already_traced);
  EXPECT_EQ(capture->threads[0].error.value, tracer.id());
  EXPECT_TRUE(capture->threads[1].captured);
}

/// The errors that a process of another user gets; in a child, for the test itself is root.
void expect_refusal(pid_t pid, uid_t uid, PtraceRefusal reason) {
  const TestProcess stranger([&](Shared& s) {
    if (::setgid(uid) != 0 || ::setuid(uid) != 0) ::_exit(1);
    auto target = open_live(static_cast<std::uint32_t>(pid));
    s.values[0] = target ? -1 : static_cast<long>(target.error().code);
    s.values[1] = static_cast<long>(explain_ptrace_refusal(static_cast<std::uint32_t>(pid)).reason);
    s.ready++;
  });
  ASSERT_TRUE(stranger.is_ready());
  EXPECT_EQ(stranger.shared().values[0], static_cast<long>(ErrorCode::permission_denied));
  EXPECT_EQ(stranger.shared().values[1], static_cast<long>(reason));
}

TEST(LiveOpen, NoPermission) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become others";
  const TestProcess of_root([](Shared& s) { s.ready++; });
  expect_refusal(of_root.pid(), kNobody, PtraceRefusal::other_user);
  const TestProcess set_user_id([](Shared& s) {
    if (::setresuid(kNobody, 0, 0) != 0) ::_exit(1);
    s.ready++;
  });
  ASSERT_TRUE(set_user_id.is_ready());
  expect_refusal(set_user_id.pid(), kNobody, PtraceRefusal::not_dumpable);
  const TestProcess not_dumpable([](Shared& s) {
    if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0 || ::prctl(PR_SET_DUMPABLE, 0) != 0) ::_exit(1);
    s.ready++;
  });
  ASSERT_TRUE(not_dumpable.is_ready());
  expect_refusal(not_dumpable.pid(), kNobody, PtraceRefusal::not_dumpable);
}

/// As the default profiles of containers do it.
void deny_ptrace() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ::_exit(2);
}

/// The explanation that a process of the same user gets under such a filter.
void expect_refusal_under_filter(pid_t pid, PtraceRefusal reason) {
  const TestProcess same_user([&](Shared& s) {
    if (::geteuid() == 0 && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) ::_exit(1);
    s.values[0] = ptrace_is_filtered() ? 1 : 0;
    deny_ptrace();
    auto target = open_live(static_cast<std::uint32_t>(pid));
    const auto capture = target ? (*target)->capture(patient()) : fail(target.error());
    s.values[1] = capture ? -1 : static_cast<long>(capture.error().code);
    s.values[2] = static_cast<long>(explain_ptrace_refusal(static_cast<std::uint32_t>(pid)).reason);
    s.ready++;
  });
  ASSERT_TRUE(same_user.is_ready());
  EXPECT_EQ(same_user.shared().values[0], 0);
  EXPECT_EQ(same_user.shared().values[1], static_cast<long>(ErrorCode::permission_denied));
  EXPECT_EQ(same_user.shared().values[2], static_cast<long>(reason));
}

TEST(LiveOpen, ASeccompFilterOnOurselvesIsNotTakenForAProcessThatHides) {
  const auto start = [](bool dumpable) {
    return std::make_unique<TestProcess>([dumpable](Shared& s) {
      if (::geteuid() == 0 && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) ::_exit(1);
      ::prctl(PR_SET_DUMPABLE, dumpable ? 1 : 0);
      s.ready++;
    });
  };
  const auto open = start(true), hidden = start(false);
  ASSERT_TRUE(open->is_ready() && hidden->is_ready());
  expect_refusal_under_filter(open->pid(), PtraceRefusal::seccomp);
  expect_refusal_under_filter(hidden->pid(), PtraceRefusal::not_dumpable);
}

TEST(LiveOpen, AProcessOfA32BitCpu) {
  // A static i386 program of one page that waits in pause(): mov eax, 29; int 0x80; jmp back.
  std::array<unsigned char, 96> elf{};
  const unsigned char head[] = {0x7f, 'E', 'L', 'F', 1, 1, 1};
  std::copy(std::begin(head), std::end(head), elf.begin());
  const auto put16 = [&](std::size_t at, unsigned v) { elf[at] = v & 255, elf[at + 1] = (v >> 8) & 255; };
  const auto put32 = [&](std::size_t at, unsigned v) { put16(at, v & 0xffff), put16(at + 2, v >> 16); };
  constexpr unsigned kBase = 0x08048000;
  put16(16, 2), put16(18, 3), put32(20, 1), put32(24, kBase + 84), put32(28, 52);  // header
  put16(40, 52), put16(42, 32), put16(44, 1);                                      // sizes, one segment
  put32(52, 1), put32(60, kBase), put32(64, kBase), put32(68, 96), put32(72, 96), put32(76, 5), put32(80, 4096);
  const unsigned char code[] = {0xb8, 29, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7};
  std::copy(std::begin(code), std::end(code), elf.begin() + 84);
  EXPECT_EQ(arch_of_elf_header(std::as_bytes(std::span(elf))).error(), (Error{ErrorCode::unsupported_cpu, 0, 3}));

  const std::string path = testing::TempDir() + "mixstack-i386-" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(elf.data()), elf.size());
  ::chmod(path.c_str(), 0755);
  const TestProcess process([&](Shared& s) {
    s.ready++;
    ::execl(path.c_str(), path.c_str(), nullptr);
    s.values[0] = errno;
  });
  const auto runs = [&] {
    return slurp("/proc/" + std::to_string(process.pid()) + "/comm").starts_with("mixstack-i386");
  };
  const bool started = eventually([&] { return runs() || process.shared().values[0] != 0; });
  auto target = open_live(process.id());
  ::unlink(path.c_str());
  ASSERT_TRUE(started);
  if (process.shared().values[0] != 0) GTEST_SKIP() << "this kernel runs no i386 programs";
  ASSERT_FALSE(target.has_value());
  EXPECT_EQ(target.error().code, ErrorCode::unsupported_cpu);
  EXPECT_EQ(target.error().value, 3u);
}

TEST(LiveOpen, AnotherPidNamespace) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make a namespace";
  const TestProcess outer(
      [](Shared& s) {
        if (::unshare(CLONE_NEWPID) != 0) ::_exit(1);
        const pid_t inner = ::fork();
        if (inner == 0) {
          ::prctl(PR_SET_PDEATHSIG, SIGKILL);
          start_thread(sleeping_thread, &s);
          for (;;) ::pause();
        }
        s.values[0] = inner;
        s.ready++;
      },
      2);
  ASSERT_TRUE(outer.is_ready());
  auto target = open_live(static_cast<std::uint32_t>(outer.shared().values[0]));
  ASSERT_TRUE(target.has_value());
  auto capture = (*target)->capture(patient());
  ASSERT_TRUE(capture.has_value());
  ASSERT_EQ(capture->threads.size(), 2u);
  EXPECT_EQ(capture->threads[0].tid, static_cast<ThreadId>(outer.shared().values[0]));
  EXPECT_EQ(capture->threads[0].ns_tid, 1u);
  EXPECT_EQ(capture->threads[1].ns_tid, 2u);
  EXPECT_NE(capture->threads[1].tid, 2u);
}

}  // namespace
}  // namespace mixstack::process
