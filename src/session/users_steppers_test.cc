// Steppers, ranges and names of the user's own.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string>

#include "mixstack/session.h"
#include "support/dotnet_process.h"
#include "support/patient_walker.h"

namespace mixstack {
namespace {

using test::patient;

#if defined(__x86_64__)
// A function of a JIT that nobody describes: no frame pointer, 0x48 bytes of locals, with decoys of return addresses.
//   sub rsp, 0x48; mov [rsp], rsi; mov [rsp + 8], rsi; call rdi; add rsp, 0x48; ret
constexpr unsigned char kCode[] = {0x48, 0x83, 0xec, 0x48, 0x48, 0x89, 0x34, 0x24, 0x48, 0x89,
                                   0x74, 0x24, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x48, 0xc3};
constexpr Address kFrameSize = 0x48;

/// A child that stands in pause() below the JIT's function. The code lies where it lay in the parent.
class JitProcess {
 public:
  JitProcess() {
    code_ = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(code_, kCode, sizeof kCode);
    pid_ = ::fork();
    if (pid_ != 0) {
      wait_until_it_pauses();
      return;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    reinterpret_cast<void (*)(void (*)(), void*)>(code_)([] { ::pause(); }, reinterpret_cast<void*>(&::pause));
    ::_exit(0);
  }
  JitProcess(const JitProcess&) = delete;
  JitProcess& operator=(const JitProcess&) = delete;
  ~JitProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::munmap(code_, 4096);
  }
  [[nodiscard]] std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }
  [[nodiscard]] AddressRange range() const {
    const auto base = reinterpret_cast<Address>(code_);
    return {base, base + sizeof kCode};
  }

 private:
  /// A thread that sleeps may sleep elsewhere, before it has reached the function.
  void wait_until_it_pauses() const {
    const std::string path = "/proc/" + std::to_string(pid_) + "/syscall", call = std::to_string(SYS_pause) + " ";
    for (int i = 0; i < 3000; i++) {
      std::string line;
      std::getline(std::ifstream(path), line);
      if (line.starts_with(call)) return;
      ::usleep(10'000);
    }
    ADD_FAILURE() << "the child does not come to its pause()";
  }

  void* code_ = nullptr;
  pid_t pid_ = -1;
};

/// A JIT's knowledge of its own frames.
class JitStepper final : public FrameStepper {
 public:
  enum class Manner { right, throws, loops };
  explicit JitStepper(Manner manner = Manner::right) : manner_(manner) {}
  [[nodiscard]] std::string_view name() const override { return "demo jit"; }
  [[nodiscard]] bool claim(Frame& frame) override {
    if (manner_ == Manner::throws) throw 1;
    frame.kind = FrameKind::undescribed;
    return true;
  }
  [[nodiscard]] StepOutcome step(Cursor& cursor, const ThreadInput& thread) override {
    if (manner_ == Manner::loops) return {.status = StepStatus::caller, .stepper = StepperId::user};
    std::uint64_t return_address = 0;
    const Address slot = cursor.registers.sp() + kFrameSize;
    if (!thread.stack.word(slot, return_address)) return {.status = StepStatus::failed};
    cursor.registers.set_pc(return_address);
    cursor.registers.set_sp(slot + 8);
    return {.status = StepStatus::caller, .stepper = StepperId::user};
  }

 private:
  Manner manner_;
};

class JitNames final : public NameProvider {
 public:
  explicit JitNames(AddressRange range) : range_(range) {}
  [[nodiscard]] std::string_view provider_name() const override { return "demo jit"; }
  [[nodiscard]] std::optional<SymbolInfo> describe(const Frame& frame) override {
    if (!range_.contains(frame.pc.lookup())) return std::nullopt;
    SymbolInfo info;
    info.name = "jitted()";
    return info;
  }

 private:
  AddressRange range_;
};

Result<ThreadDump> main_thread(Session& session, ProcessDump& dump) {
  // The child needs a moment to reach its pause().
  for (int i = 0; i < 100; i++) {
    auto taken = session.dump(patient());
    if (!taken) return fail(taken.error());
    dump = std::move(*taken);
    if (!dump.threads.empty() && dump.threads.front().kernel_state == 'S') break;
    ::usleep(10'000);
  }
  return dump.threads.front();
}

const Frame* frame_in(const ThreadDump& thread, AddressRange range) {
  for (const Frame& f : thread.trace.frames)
    if (range.contains(f.pc.lookup())) return &f;
  return nullptr;
}

TEST(UsersSteppers, AJitOfTheUsersOwnIsWalkedThroughAndNamed) {
  const JitProcess process;
  auto session = Session::open_process(process.pid());
  ASSERT_TRUE(session);
  (*session)->steppers().claim(process.range(), std::make_shared<JitStepper>());
  (*session)->add_name_provider(std::make_shared<JitNames>(process.range()));
  ProcessDump dump;
  const auto thread = main_thread(**session, dump);
  ASSERT_TRUE(thread);
  EXPECT_EQ(thread->trace.stop, StopReason::end_of_stack);
  const Frame* jitted = frame_in(*thread, process.range());
  ASSERT_NE(jitted, nullptr);
  EXPECT_EQ(jitted->trust, Trust::certain);
  EXPECT_EQ(dump.symbols[thread->symbols[static_cast<std::size_t>(jitted - thread->trace.frames.data())]].name,
            "jitted()");
  EXPECT_EQ(jitted[1].found_by, StepperId::user);
  EXPECT_EQ(jitted[1].trust, Trust::certain);
}

/// A claim over everything whose stepper knows nothing takes no frame from its owner.
TEST(UsersSteppers, AClaimThatDeclinesChangesNothing) {
  struct Idle final : FrameStepper {
    std::string_view name() const override { return "idle"; }
    bool claim(Frame& frame) override {
      frame.kind = FrameKind::undescribed;
      return true;
    }
    StepOutcome step(Cursor&, const ThreadInput&) override { return {}; }
  };
  const test::DotnetProcess scenario("reverse_pinvoke");
  const JitProcess native;
  for (const std::uint32_t pid : {native.pid(), scenario.ready() ? scenario.pid() : native.pid()}) {
    if (scenario.ready()) scenario.stop();
    auto session = Session::open_process(pid);
    ASSERT_TRUE(session);
    ProcessDump first;
    ASSERT_TRUE(main_thread(**session, first));  // stands still from here on
    const auto before = (*session)->dump(patient());
    (*session)->steppers().claim({0x1000, ~Address{0}}, std::make_shared<Idle>());
    const auto now = (*session)->dump(patient());
    ASSERT_TRUE(before && now);
    ASSERT_EQ(before->threads.size(), now->threads.size());
    for (std::size_t t = 0; t < now->threads.size(); t++) {
      const Trace &a = before->threads[t].trace, &b = now->threads[t].trace;
      EXPECT_EQ(a.stop, b.stop) << t;
      ASSERT_EQ(a.frames.size(), b.frames.size()) << t;
      for (std::size_t i = 0; i < a.frames.size(); i++) {
        EXPECT_EQ(a.frames[i].pc, b.frames[i].pc);
        EXPECT_EQ(a.frames[i].sp, b.frames[i].sp);
        EXPECT_EQ(a.frames[i].kind, b.frames[i].kind) << t << " " << i;
        EXPECT_EQ(a.frames[i].found_by, b.frames[i].found_by) << t << " " << i;
        EXPECT_EQ(a.frames[i].trust, b.frames[i].trust) << t << " " << i;
      }
    }
  }
}

TEST(UsersSteppers, OneThatThrowsOrLoopsEndsNothing) {
  for (const auto manner : {JitStepper::Manner::throws, JitStepper::Manner::loops}) {
    const JitProcess process;
    auto session = Session::open_process(process.pid());
    ASSERT_TRUE(session);
    (*session)->steppers().claim(process.range(), std::make_shared<JitStepper>(manner));
    ProcessDump dump;
    const auto thread = main_thread(**session, dump);
    ASSERT_TRUE(thread);
    EXPECT_GE(thread->trace.frames.size(), 2u);
    const Frame* jitted = frame_in(*thread, process.range());
    ASSERT_NE(jitted, nullptr);
    const bool is_last = jitted == &thread->trace.frames.back();
    // Another stepper that goes on from there has only evidence for it, and says so.
    EXPECT_TRUE(is_last ? thread->trace.stop != StopReason::end_of_stack : jitted[1].trust != Trust::certain);
    EXPECT_TRUE(is_last || jitted[1].found_by != StepperId::user);
  }
}
#endif

TEST(StepperChain, KeepsItsOrder) {
  struct Named final : FrameStepper {
    explicit Named(std::string n) : text(std::move(n)) {}
    std::string_view name() const override { return text; }
    bool claim(Frame&) override { return false; }
    StepOutcome step(Cursor&, const ThreadInput&) override { return {}; }
    std::string text;
  };
  StepperChain chain;
  const auto last = std::make_shared<Named>("last");
  chain.append(last);
  EXPECT_TRUE(chain.insert_before("managed", std::make_shared<Named>("early")));
  EXPECT_TRUE(chain.insert_before("frame pointer", std::make_shared<Named>("before fp")));
  EXPECT_FALSE(chain.insert_before("nobody", std::make_shared<Named>("lost")));
  chain.claim({0x1000, 0x2000}, std::make_shared<Named>("range"));
  chain.claim({0x2000, 0x1000}, std::make_shared<Named>("empty range"));
  chain.append(nullptr);
  const std::vector<std::string> expected = {
      "range",         "cfi",  "early",          "managed",           "copied code", "jit image",   "pe image",
      "undescribed",   "last", "newborn thread", "signal trampoline", "prologue",    "undescribed", "before fp",
      "frame pointer", "last"};
  EXPECT_EQ(chain.order(), expected);
  EXPECT_TRUE(chain.remove(*last));
  EXPECT_FALSE(chain.remove(*last));
  EXPECT_EQ(chain.order().size(), expected.size() - 2);
}

}  // namespace
}  // namespace mixstack
