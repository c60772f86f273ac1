// The same hand-made stacks through everything that drives the walk core: dump(), Walker::walk and Walker::step, the
// StackwalkerAPI, and SelfWalker's two ways. The frames are the same, and so is why the walk ended.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "engine/walk_core/stop_reason.h"
#include "mixstack/self_walk.h"
#include "mixstack/session.h"
#include "mixstack/walker.h"
#include "process/self/self_target.h"
#include "stackwalker/frame.h"
#include "stackwalker/swk_errors.h"
#include "stackwalker/walker.h"
#include "support/host_cpu.h"

// Places in functions: each label lies behind a call, so that it can be a return address, too. Where the CFA is made of
// a third register, that is one which calls preserve and which is not the frame pointer.
#if defined(__x86_64__)
asm(R"(
  .text
  .type drivers_code, @function
drivers_code:
  .cfi_startproc
  .cfi_def_cfa rsp, 32
  call drivers_code
drivers_plain:
  nop
  .cfi_def_cfa rbp, 16
  .cfi_offset rbp, -16
  call drivers_code
drivers_by_fp:
  nop
  .cfi_restore rbp
  .cfi_def_cfa rbx, 16
  call drivers_code
drivers_by_other:
  nop
  .cfi_def_cfa rsp, 32
  .cfi_undefined rbx
  call drivers_code
drivers_loses_other:
  nop
  .cfi_restore rbx
  .cfi_undefined rip
  call drivers_code
drivers_end:
  nop
  .cfi_restore rip
  .cfi_escape 0x0f, 0x01, 0x01    # the CFA by an expression of an opcode that is none
  call drivers_code
drivers_malformed:
  nop
  .cfi_endproc
  .size drivers_code, . - drivers_code
  .type drivers_signal, @function
drivers_signal:
  .cfi_startproc
  .cfi_signal_frame
  .cfi_def_cfa rbp, 0
  .cfi_offset rip, 8
  .cfi_offset rsp, 16
  .cfi_offset rbp, 24
  call drivers_code
drivers_handler_returns:
  nop
  .cfi_endproc
  .size drivers_signal, . - drivers_signal
)");
#elif defined(__aarch64__)
// Global: an address of a local label is taken from the table of offsets as that of its section.
asm(R"(
  .text
  .globl drivers_plain, drivers_by_fp, drivers_by_other, drivers_loses_other, drivers_end
  .globl drivers_malformed, drivers_handler_returns
  .type drivers_code, %function
drivers_code:
  .cfi_startproc
  .cfi_def_cfa sp, 32
  .cfi_offset x30, -8
  bl drivers_code
drivers_plain:
  nop
  .cfi_def_cfa x29, 16
  .cfi_offset x29, -16
  bl drivers_code
drivers_by_fp:
  nop
  .cfi_restore x29
  .cfi_def_cfa x19, 16
  bl drivers_code
drivers_by_other:
  nop
  .cfi_def_cfa sp, 32
  .cfi_undefined x19
  bl drivers_code
drivers_loses_other:
  nop
  .cfi_restore x19
  .cfi_undefined x30
  bl drivers_code
drivers_end:
  nop
  .cfi_offset x30, -8
  .cfi_escape 0x0f, 0x01, 0x01    // the CFA by an expression of an opcode that is none
  bl drivers_code
drivers_malformed:
  nop
  .cfi_endproc
  .size drivers_code, . - drivers_code
  .type drivers_signal, %function
drivers_signal:
  .cfi_startproc
  .cfi_signal_frame
  .cfi_def_cfa x29, 0
  .cfi_offset x30, 8
  .cfi_offset sp, 16
  .cfi_offset x29, 24
  bl drivers_code
drivers_handler_returns:
  nop
  .cfi_endproc
  .size drivers_signal, . - drivers_signal
)");
#endif
extern "C" const char drivers_plain[], drivers_by_fp[], drivers_by_other[], drivers_loses_other[], drivers_end[],
    drivers_malformed[], drivers_handler_returns[];

namespace mixstack {
namespace {

constexpr std::size_t kWords = 4096;

Address at(const char* label) { return reinterpret_cast<Address>(label); }

/// A stack in memory of its own, with a page behind it that is not there.
class Stack {
 public:
  Stack() {
    void* made = ::mmap(nullptr, kWords * 8 + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    words_ = static_cast<std::uint64_t*>(made);
    ::munmap(words_ + kWords, 4096);
  }
  ~Stack() { ::munmap(words_, kWords * 8); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  [[nodiscard]] Address address(std::size_t word) const { return reinterpret_cast<Address>(words_ + word); }
  [[nodiscard]] std::uint64_t& operator[](std::size_t word) { return words_[word]; }
  [[nodiscard]] AddressRange range() const { return {address(0), address(kWords)}; }

 private:
  std::uint64_t* words_;
};

/// Ourselves, but that the calling thread has the registers and the stack that it is given.
class HandMadeTarget final : public Target {
 public:
  HandMadeTarget(const Registers& registers, AddressRange stack)
      : target_(*process::open_self({})), registers_(registers), stack_(stack) {}
  [[nodiscard]] const TargetInfo& info() const override { return target_->info(); }
  [[nodiscard]] const MemoryReader& memory() const override { return target_->memory(); }
  [[nodiscard]] Result<std::vector<ThreadId>> threads() const override { return target_->threads(); }
  [[nodiscard]] Result<std::vector<Region>> regions() const override { return target_->regions(); }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_file(const Region& region) const override {
    return target_->open_file(region);
  }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_path(const std::string& path) const override {
    return target_->open_path(path);
  }
  [[nodiscard]] Result<Capture> capture(const CaptureRequest&) override {
    Capture capture;
    capture.arch = registers_.arch();
    ThreadCapture thread;
    thread.tid = thread.ns_tid = info().pid;
    thread.captured = true;
    thread.registers = registers_;
    thread.stack = {stack_.begin, {reinterpret_cast<const std::byte*>(stack_.begin), stack_.size()}};
    capture.threads.push_back(thread);
    return capture;
  }

 private:
  std::unique_ptr<Target> target_;
  Registers registers_;
  AddressRange stack_;
};

/// What a driver says. Addresses as a SelfWalker gives them.
struct Seen {
  std::vector<Address> pcs;
  StopReason stop = StopReason::not_captured;
};

Seen seen_of(const Trace& trace) {
  Seen seen;
  for (const Frame& f : trace.frames) seen.pcs.push_back(f.pc.raw());
  seen.stop = trace.stop;
  return seen;
}

Seen by_self_walker(const Registers& registers, std::size_t most) {
  static const auto walker = std::move(*SelfWalker::create());
  std::array<Address, 256> out{};
  const SelfTrace trace = walker->walk_registers(registers, std::span(out).first(most));
  return {{out.begin(), out.begin() + static_cast<std::ptrdiff_t>(trace.count)}, trace.stop};
}

/// One step after the other, by an object of the session's; why the last one failed is told by its error.
Seen by_steps(Walker& walker, std::size_t most) {
  const ThreadCapture& thread = walker.capture().threads.front();
  Cursor cursor = walker.initial(thread);
  Seen seen{{cursor.frame.pc.raw()}, StopReason::max_frames};
  while (seen.pcs.size() < most) {
    const StepOutcome outcome = walker.step(cursor, thread);
    if (outcome.status == StepStatus::caller) {
      seen.pcs.push_back(cursor.frame.pc.raw());
      continue;
    }
    seen.stop = outcome.status == StepStatus::end_of_stack ? StopReason::end_of_stack
                                                           : walk::stop_reason_for(outcome.error.code);
    break;
  }
  return seen;
}

Seen by_addresses(Walker& walker, std::size_t most) {
  std::array<CodeAddress, 256> out;
  const AddressTrace trace = walker.addresses(walker.capture().threads.front(), std::span(out).first(most));
  Seen seen{{}, trace.stop};
  for (std::size_t i = 0; i < trace.count; i++) seen.pcs.push_back(out[i].raw());
  return seen;
}

/// The StackwalkerAPI has fewer reasons: whole or not.
std::pair<std::vector<Address>, bool> by_stackwalker(const Registers& registers) {
  using namespace Dyninst::Stackwalker;
  const std::unique_ptr<Dyninst::Stackwalker::Walker> walker(Dyninst::Stackwalker::Walker::newWalker());
  const std::unique_ptr<Dyninst::Stackwalker::Frame> first(Dyninst::Stackwalker::Frame::newFrame(
      registers.pc(), registers.sp(), registers.value_or_zero(arch_registers(registers.arch()).fp), walker.get()));
  std::vector<Dyninst::Stackwalker::Frame> stack;
  const bool whole = walker->walkStackFromFrame(stack, *first);
  std::vector<Address> pcs;
  for (const auto& frame : stack) pcs.push_back(frame.getRA());
  return {pcs, whole};
}

class Drivers : public testing::Test {
 protected:
  Drivers() : registers_(test::kHostCpu) {
    registers_.set_sp(stack_.address(0));
    registers_.set_fp(0);
    if (test::kHostCpu == Arch::aarch64) {
      registers_.set(aarch64_reg::x19, 0);
      registers_.set(aarch64_reg::lr, 0);
    } else {
      registers_.set(x86_64_reg::rbx, 0);
    }
  }
  void begin_at(const char* label) { registers_.set_pc(at(label)); }

  /// All of them agree with each other and with what is known.
  void expect(const std::vector<Address>& pcs, StopReason stop, std::size_t most = 256) {
    const auto same = [&](const char* driver, const Seen& seen) {
      EXPECT_EQ(seen.pcs, pcs) << driver;
      EXPECT_EQ(to_string(seen.stop), to_string(stop)) << driver;
    };
    same("SelfWalker", by_self_walker(registers_, most));
    const auto session = Session::open(std::make_unique<HandMadeTarget>(registers_, stack_.range()));
    ASSERT_TRUE(session);
    DumpOptions options;
    options.walk.max_frames = static_cast<std::uint32_t>(most);
    const auto dump = (*session)->dump(options);
    ASSERT_TRUE(dump);
    same("dump", seen_of(dump->threads.front().trace));
    auto walker = (*session)->walker(*(*session)->capture(options), options.walk);
    ASSERT_TRUE(walker);
    same("Walker::walk", seen_of(walker->walk(walker->capture().threads.front())));
    auto frames = walker->frames(walker->capture().threads.front());
    Seen lazily;
    for (const Frame& f : frames) lazily.pcs.push_back(f.pc.raw());
    lazily.stop = frames.stop();
    same("Walker::frames", lazily);
    same("Walker::step", by_steps(*walker, most));
    same("Walker::addresses", by_addresses(*walker, most));
    if (stop == StopReason::max_frames) return;
    const auto [stackwalker, whole] = by_stackwalker(registers_);
    EXPECT_EQ(stackwalker, pcs) << "StackwalkerAPI";
    EXPECT_EQ(whole, stop == StopReason::end_of_stack) << "StackwalkerAPI";
  }

  Stack stack_;
  Registers registers_;
};

TEST_F(Drivers, ToTheOutermostFrame) {
  begin_at(drivers_plain);
  stack_[3] = at(drivers_plain);
  stack_[7] = at(drivers_end);
  expect({at(drivers_plain), at(drivers_plain), at(drivers_end)}, StopReason::end_of_stack);
}

TEST_F(Drivers, AReturnAddressOfZeroEndsTheStack) {
  begin_at(drivers_plain);
  stack_[3] = at(drivers_plain);
  stack_[7] = 0;
  expect({at(drivers_plain), at(drivers_plain)}, StopReason::end_of_stack);
}

TEST_F(Drivers, AReturnAddressThatLeadsNowhere) {
  begin_at(drivers_plain);
  stack_[3] = at(drivers_plain);
  stack_[7] = 0x1234;
  expect({at(drivers_plain), at(drivers_plain)}, StopReason::bad_return_address);
}

TEST_F(Drivers, AReturnAddressOfTheKernel) {
  begin_at(drivers_plain);
  stack_[3] = 0xffffffff80001234;
  expect({at(drivers_plain)}, StopReason::bad_return_address);
}

TEST_F(Drivers, ByTheFramePointer) {
  begin_at(drivers_by_fp);
  registers_.set_fp(stack_.address(10));
  stack_[10] = stack_.address(20);
  stack_[11] = at(drivers_by_fp);
  stack_[20] = 0;
  stack_[21] = at(drivers_end);
  expect({at(drivers_by_fp), at(drivers_by_fp), at(drivers_end)}, StopReason::end_of_stack);
}

TEST_F(Drivers, AStackThatDoesNotAdvance) {
  begin_at(drivers_plain);
  stack_[3] = at(drivers_by_fp);
  registers_.set_fp(stack_.address(1));
  stack_[2] = at(drivers_plain);
  expect({at(drivers_plain), at(drivers_by_fp)}, StopReason::stack_not_advancing);
}

TEST_F(Drivers, AStackThatLeadsOutOfMemory) {
  begin_at(drivers_plain);
  stack_[3] = at(drivers_by_fp);
  registers_.set_fp(stack_.address(kWords) + 256);
  expect({at(drivers_plain), at(drivers_by_fp)}, StopReason::unreadable_memory);
}

TEST_F(Drivers, ARegisterThatIsNotKnown) {
  begin_at(drivers_loses_other);
  stack_[3] = at(drivers_by_other);
  expect({at(drivers_loses_other), at(drivers_by_other)}, StopReason::register_unknown);
}

TEST_F(Drivers, UnwindInformationThatIsNone) {
  begin_at(drivers_plain);
  stack_[3] = at(drivers_malformed);
  expect({at(drivers_plain), at(drivers_malformed)}, StopReason::malformed_unwind_info);
}

TEST_F(Drivers, ASignalFrameThatLeadsToALowerStack) {
  begin_at(drivers_plain);
  registers_.set_sp(stack_.address(100));
  stack_[103] = at(drivers_handler_returns);
  registers_.set_fp(stack_.address(200));
  stack_[201] = at(drivers_plain);
  stack_[202] = stack_.address(0);
  stack_[203] = 0;
  stack_[3] = at(drivers_end);
  expect({at(drivers_plain), at(drivers_handler_returns), at(drivers_plain), at(drivers_end)},
         StopReason::end_of_stack);
}

TEST_F(Drivers, AsManyFramesAsAreWanted) {
  begin_at(drivers_plain);
  for (std::size_t i = 3; i < 400; i += 4) stack_[i] = at(drivers_plain);
  expect(std::vector<Address>(20, at(drivers_plain)), StopReason::max_frames, 20);
}

/// Threads of ours that wait, each at the end of calls of its own.
class Waiting {
 public:
  explicit Waiting(std::vector<std::function<void(const std::function<void()>&)>> calls) {
    for (auto& call : calls)
      threads_.emplace_back([this, call] {
        call([this] {
          waiting_++;
          while (!done_) ::usleep(1000000);
        });
      });
    while (waiting_ < threads_.size()) ::usleep(1000);
    ::usleep(20000);
  }
  ~Waiting() {
    done_ = true;
    for (std::thread& t : threads_) ::pthread_kill(t.native_handle(), SIGWINCH);
    for (std::thread& t : threads_) t.join();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  std::atomic<std::size_t> waiting_{0};
  std::atomic<bool> done_{false};
  std::vector<std::thread> threads_;
};

[[gnu::noinline]] void recurse(int depth, const std::function<void()>& then) {
  if (depth == 0) then();
  if (depth > 0) recurse(depth - 1, then);
  asm volatile("" ::: "memory");
}

const std::function<void()>* g_then = nullptr;
void in_handler(int) {
  (*g_then)();
  asm volatile("" ::: "memory");
}
void by_signal(const std::function<void()>& then) {
  static std::array<char, 1 << 16> memory;
  stack_t stack{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  ::sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = in_handler;
  action.sa_flags = SA_ONSTACK;
  ::sigaction(SIGUSR2, &action, nullptr);
  g_then = &then;
  ::pthread_kill(::pthread_self(), SIGUSR2);
  asm volatile("" ::: "memory");
}

/// Real stacks: what a dump of ourselves says of threads that wait, and a SelfWalker that has their registers.
TEST(DriversOfRealStacks, ThreadsThatWait) {
  struct sigaction nothing {};
  nothing.sa_handler = [](int) {};  // interrupts their sleep
  ::sigaction(SIGWINCH, &nothing, nullptr);
  const Waiting waiting({[](const auto& then) { recurse(12, then); },
                         [](const auto& then) { recurse(3, [&] { by_signal([&] { recurse(4, then); }); }); },
                         [](const auto& then) {
                           std::vector<int> list{2, 1};
                           std::sort(list.begin(), list.end(), [&](int a, int b) {
                             then();
                             return a < b;
                           });
                         }});
  // A helper that gets the processor late takes more than a quarter of the usual 5 s to answer.
  auto session = Session::open_self({.others = OwnThreads::by_helper, .helper_timeout = std::chrono::seconds(60)});
  ASSERT_TRUE(session);
  DumpOptions options;
  options.stop_timeout = std::chrono::seconds(5);
  const auto dump = (*session)->dump(options);
  ASSERT_TRUE(dump);
  std::size_t compared = 0;
  for (const ThreadDump& t : dump->threads) {
    if (t.tid == dump->target.pid || !t.captured) continue;
    SCOPED_TRACE(t.tid);
    const Seen expected = seen_of(t.trace);
    EXPECT_EQ(expected.stop, StopReason::end_of_stack);
    EXPECT_GT(expected.pcs.size(), 5u);
    const Seen ours = by_self_walker(t.registers, 256);
    EXPECT_EQ(ours.pcs, expected.pcs);
    EXPECT_EQ(ours.stop, expected.stop);
    compared++;
  }
  EXPECT_EQ(compared, 3u);
}

}  // namespace
}  // namespace mixstack
