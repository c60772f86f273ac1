#include "process/live/proc_dir.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "process/live/process_info.h"
#include "process/live/test_process.h"
#include "support/host_cpu.h"

namespace mixstack::process {
namespace {

using namespace test;

TEST(ProcDir, ParsesStatWhateverTheName) {
  EXPECT_EQ(parse_thread_stat("12 (cat) S 1 2")->comm, "cat");
  const auto odd = parse_thread_stat("12 (a) R (\n) D 1 2");
  ASSERT_TRUE(odd.has_value());
  EXPECT_EQ(odd->comm, "a) R (\n");
  EXPECT_EQ(odd->state, 'D');
  EXPECT_EQ(odd->cpu, -1) << "a line that ends early";
  const std::string whole =
      "7 (x) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 "
      "32 33 34 17 5 0 0";  // field 38 is the exit signal
  EXPECT_EQ(parse_thread_stat(whole)->cpu, 5);
  EXPECT_FALSE(parse_thread_stat(whole)->is_kernel_thread);
  EXPECT_TRUE(parse_thread_stat("2 (kthreadd) S 0 0 0 0 -1 2129984 0")->is_kernel_thread);
  for (const char* bad : {"", "12", "12 (", "12 (a", "12 )(", "12 (a)", "12 (a) "})
    EXPECT_FALSE(parse_thread_stat(bad).has_value()) << bad;
}

TEST(ProcDir, FindsStatusFields) {
  const std::string status = "Name:\tx: y\nState:\tS (sleeping)\nTgid:\t12\nNSpid:\t12\t3\t1\nEmpty:\nThreads:\t7";
  EXPECT_EQ(status_field(status, "Name"), "x: y");
  EXPECT_EQ(status_field(status, "Threads"), "7");
  EXPECT_EQ(status_field(status, "Empty"), "");
  EXPECT_FALSE(status_field(status, "NSp").has_value());
  EXPECT_FALSE(status_field("", "Name").has_value());
  EXPECT_EQ(last_number(*status_field(status, "NSpid")), 1u);
  EXPECT_EQ(last_number("42"), 42u);
  EXPECT_FALSE(last_number("none").has_value());
  EXPECT_FALSE(last_number("99999999999999").has_value());
}

void* sleeping_thread(void* shared) {
  static_cast<Shared*>(shared)->ready++;
  for (;;) ::pause();
}

TEST(ProcDir, CountsAndListsThreads) {
  const TestProcess process(
      [](Shared& s) {
        for (int i = 0; i < 600; i++) start_thread(sleeping_thread, &s, 64 << 10);
      },
      600);
  ASSERT_TRUE(process.is_ready());
  auto proc = ProcDir::open(process.id());
  ASSERT_TRUE(proc.has_value());
  auto tasks = proc->tasks();
  ASSERT_TRUE(tasks.has_value());
  EXPECT_EQ(tasks->size(), 601u);
  std::sort(tasks->begin(), tasks->end());
  EXPECT_EQ(std::unique(tasks->begin(), tasks->end()), tasks->end());
  const std::string status = slurp("/proc/" + std::to_string(process.pid()) + "/status");
  EXPECT_EQ(proc->task_count(), last_number(*status_field(status, "Threads"))) << "the kernel's own count";
  EXPECT_TRUE(proc->has_task(process.id()));
  EXPECT_FALSE(proc->has_task(1));
  for (int i = 0; i < 500 && proc->thread_syscall(process.id()) != mixstack::test::kPauseCall; i++)
    nap(10ms);  // it is about to
  EXPECT_EQ(proc->thread_syscall(process.id()), mixstack::test::kPauseCall);
}

TEST(ProcDir, IsNotFooledByAReusedId) {
  auto process = std::make_unique<TestProcess>([](Shared& s) { s.ready++; });
  auto proc = ProcDir::open(process->id());
  ASSERT_TRUE(proc.has_value());
  process.reset();
  EXPECT_EQ(proc->read("status").error().code, ErrorCode::no_such_process);
  EXPECT_FALSE(proc->tasks().has_value() && !proc->tasks()->empty());
  EXPECT_FALSE(proc->thread_stat(proc->pid()).has_value());
}

TEST(ProcessInfo, ReadsTheAuxiliaryVector) {
  const std::uint64_t vector[] = {3, 0x40, 9, 0x1234, 33, 0x7000, 6, 65536, 999, 1, 0, 0, 9, 1};
  TargetInfo info;
  parse_auxv(std::as_bytes(std::span(vector)), info);
  EXPECT_EQ(info.program_headers, 0x40u);
  EXPECT_EQ(info.entry_point, 0x1234u) << "nothing counts after AT_NULL";
  EXPECT_EQ(info.vdso, 0x7000u);
  EXPECT_EQ(info.page_size, 65536u);
  const std::uint64_t odd[] = {6, 12345, 3};
  parse_auxv(std::as_bytes(std::span(odd)), info);
  EXPECT_EQ(info.page_size, 65536u);
  parse_auxv({}, info);
}

TEST(ProcessInfo, KnowsTheCpuOfAHeader) {
  std::array<unsigned char, 64> elf{0x7f, 'E', 'L', 'F', 2, 1, 1};
  const auto arch = [&](unsigned machine) {
    elf[18] = machine & 255;
    elf[19] = (machine >> 8) & 255;
    return arch_of_elf_header(std::as_bytes(std::span(elf)));
  };
  EXPECT_EQ(arch(62), Arch::x86_64);
  EXPECT_EQ(arch(183), Arch::aarch64);
  EXPECT_EQ(arch(243).error(), (Error{ErrorCode::unsupported_cpu, 0, 243}));
  elf[4] = 1;
  EXPECT_EQ(arch(62).error().code, ErrorCode::unsupported_cpu) << "x32";
  elf[4] = 2, elf[5] = 2;
  EXPECT_EQ(arch(183).error().code, ErrorCode::unsupported_cpu) << "big-endian";
  elf[0] = 0;
  EXPECT_EQ(arch(62).error().code, ErrorCode::malformed);
  EXPECT_EQ(arch_of_elf_header({}).error().code, ErrorCode::malformed);
}

}  // namespace
}  // namespace mixstack::process
