// A JIT of our own: nobody but us knows its frames. A stepper says how to get from one to its caller, a range says
// whose code it is, a name provider what to call it.
//
//   custom_stepper               starts a child that runs jitted code, and walks it with and without the stepper
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "common/print_stack.h"
#include "mixstack/session.h"

namespace {

using namespace mixstack;

// What our "JIT" makes: sub rsp, 0x48; mov [rsp], rsi; mov [rsp+8], rsi; call rdi; add rsp, 0x48; ret
// No frame pointer, no unwind information, and values on the stack that look like return addresses.
constexpr std::array<unsigned char, 20> kCode = {0x48, 0x83, 0xec, 0x48, 0x48, 0x89, 0x34, 0x24, 0x48, 0x89,
                                                 0x74, 0x24, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x48, 0xc3};
constexpr Address kFrameSize = 0x48;

class JitStepper final : public FrameStepper {
 public:
  [[nodiscard]] std::string_view name() const override { return "example jit"; }
  [[nodiscard]] bool claim(Frame& frame) override {
    frame.kind = FrameKind::undescribed;
    return true;
  }
  [[nodiscard]] StepOutcome step(Cursor& cursor, const ThreadInput& thread) override {
    std::uint64_t return_address = 0;
    const Address slot = cursor.registers.sp() + kFrameSize;
    // Stack words come from the copy that was made while the target stood still, never from the running target.
    if (!thread.stack.word(slot, return_address)) {
      StepOutcome failed;
      failed.status = StepStatus::failed;
      failed.error = {ErrorCode::unreadable_memory, 0, slot};
      return failed;
    }
    cursor.registers.set_pc(return_address);
    cursor.registers.set_sp(slot + 8);
    StepOutcome outcome;
    outcome.status = StepStatus::caller;
    outcome.stepper = StepperId::user;
    return outcome;
  }
};

class JitNames final : public NameProvider {
 public:
  explicit JitNames(AddressRange code) : code_(code) {}
  [[nodiscard]] std::string_view provider_name() const override { return "example jit"; }
  [[nodiscard]] std::optional<SymbolInfo> describe(const Frame& frame) override {
    if (!code_.contains(frame.pc.lookup())) return std::nullopt;
    SymbolInfo symbol;
    symbol.name = "jitted()";
    symbol.offset = frame.pc.lookup() - code_.begin;
    return symbol;
  }

 private:
  AddressRange code_;
};

/// A child below the jitted function. The code lies where it lies here. -1 when there is none.
pid_t start(void* code) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    reinterpret_cast<void (*)(void (*)(), void*)>(code)([] { ::pause(); }, reinterpret_cast<void*>(&::pause));
    ::_exit(0);
  }
  ::usleep(200'000);  // until it stands in pause()
  return pid;
}

/// 0 when the stack was walked to its end through our code.
int walk(unsigned pid, AddressRange code, bool with_stepper) {
  auto session = Session::open_process(pid);
  if (!session) return 2;
  if (with_stepper) {
    (*session)->steppers().claim(code, std::make_shared<JitStepper>());
    (*session)->add_name_provider(std::make_shared<JitNames>(code));
  }
  DumpOptions options;
  options.stop_timeout = std::chrono::seconds(5);
  const auto dump = (*session)->dump(options);
  if (!dump || dump->threads.empty()) return 2;
  const ThreadDump& thread = dump->threads.front();
  std::printf("%s the stepper: ", with_stepper ? "with" : "without");
  examples::print_stack(*dump, thread);
  if (thread.trace.stop != StopReason::end_of_stack) return 1;
  for (const Frame& frame : thread.trace.frames)
    if (frame.found_by == StepperId::user) return 0;
  return 1;
}

}  // namespace

int main() {
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 2;
  std::memcpy(memory, kCode.data(), kCode.size());
  const auto begin = reinterpret_cast<Address>(memory);
  const AddressRange code{begin, begin + kCode.size()};
  const pid_t pid = start(memory);
  if (pid < 0) return 2;
  (void)walk(static_cast<unsigned>(pid), code, false);
  const int status = walk(static_cast<unsigned>(pid), code, true);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  return status;
}
