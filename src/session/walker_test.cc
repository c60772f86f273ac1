// The walker in a user's hands: lazy frames, single steps, steppers, ranges and names of the user's own.
#include "mixstack/walker.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include "mixstack/session.h"
#include "support/dotnet_process.h"

namespace mixstack {
namespace {

DumpOptions patient() {
  DumpOptions options;
  options.stop_timeout = std::chrono::seconds(5);
  return options;
}

Result<Walker> walker_of(Session& session) {
  auto capture = session.capture(patient());
  if (!capture) return fail(capture.error());
  return session.walker(std::move(*capture), {});
}

class DotnetWalker : public ::testing::TestWithParam<const char*> {};

TEST_P(DotnetWalker, LazyFramesAreThoseOfTheWholeWalk) {
  const test::DotnetProcess process(GetParam());
  if (!process.ready()) GTEST_SKIP() << "the scenarios are not built";
  process.stop();
  auto session = Session::open_process(static_cast<std::uint32_t>(process.pid()));
  ASSERT_TRUE(session);
  auto walker = walker_of(**session);
  ASSERT_TRUE(walker);
  std::size_t managed = 0;
  for (const ThreadCapture& thread : walker->capture().threads) {
    const Trace trace = walker->walk(thread);
    FrameRange lazy = walker->frames(thread);
    std::size_t i = 0;
    for (const Frame& f : lazy) {
      ASSERT_LT(i, trace.frames.size());
      EXPECT_EQ(f.pc, trace.frames[i].pc);
      EXPECT_EQ(f.sp, trace.frames[i].sp);
      EXPECT_EQ(f.kind, trace.frames[i].kind);
      EXPECT_GE(f.trust, trace.frames[i].trust);
      managed += f.kind == FrameKind::managed ? 1 : 0;
      i++;
    }
    EXPECT_EQ(i, trace.frames.size()) << thread.tid;
    EXPECT_EQ(lazy.stop(), trace.stop) << thread.tid;
  }
  EXPECT_GT(managed, 3u);
}

TEST_P(DotnetWalker, AddressesAreThoseOfTheWholeWalk) {
  const test::DotnetProcess process(GetParam());
  if (!process.ready()) GTEST_SKIP() << "the scenarios are not built";
  process.stop();
  auto session = Session::open_process(static_cast<std::uint32_t>(process.pid()));
  ASSERT_TRUE(session);
  auto walker = walker_of(**session);
  ASSERT_TRUE(walker);
  for (const ThreadCapture& thread : walker->capture().threads) {
    const Trace trace = walker->walk(thread);
    std::vector<CodeAddress> out(trace.frames.size() + 1);
    const AddressTrace all = walker->addresses(thread, out);
    ASSERT_EQ(all.count, trace.frames.size()) << thread.tid;
    EXPECT_EQ(all.stop, trace.stop) << thread.tid;
    for (std::size_t i = 0; i < all.count; i++) EXPECT_EQ(out[i], trace.frames[i].pc) << thread.tid << " " << i;
    if (trace.frames.size() < 2) continue;
    const AddressTrace some = walker->addresses(thread, std::span(out).first(trace.frames.size() - 1));
    EXPECT_EQ(some.count, trace.frames.size() - 1) << thread.tid;
    EXPECT_EQ(some.stop, StopReason::max_frames) << thread.tid;
  }
}

/// For samples: the same frames without a decision, or no answer.
TEST_P(DotnetWalker, PlainAddressesAreThoseOfTheWholeWalk) {
  const test::DotnetProcess process(GetParam());
  if (!process.ready()) GTEST_SKIP() << "the scenarios are not built";
  process.stop();
  auto session = Session::open_process(static_cast<std::uint32_t>(process.pid()));
  ASSERT_TRUE(session);
  auto stopped = walker_of(**session);
  ASSERT_TRUE(stopped);
  std::vector<CodeAddress> out(1 << 17);  // one of the scenarios is deep
  auto walker = (*session)->walker_of({}, {});
  ASSERT_TRUE(walker);
  std::size_t plain = 0, managed = 0;
  for (const ThreadCapture& thread : stopped->capture().threads) {
    EXPECT_FALSE(stopped->plain_addresses(thread, out)) << "no sample";
    const auto count = walker->plain_addresses(thread, out);
    if (!count) continue;
    plain++;
    const Trace trace = walker->walk(thread);
    EXPECT_EQ(trace.stop, StopReason::end_of_stack);
    ASSERT_EQ(*count, trace.frames.size()) << thread.tid;
    for (std::size_t i = 0; i < *count; i++) {
      const Frame& frame = trace.frames[i];
      EXPECT_EQ(out[i], frame.pc) << thread.tid << " " << i;
      EXPECT_EQ(frame.trust, Trust::certain);
      // These programs free no code.
      EXPECT_TRUE(walker->keeps_name(frame)) << thread.tid << " " << i;
      managed += frame.kind == FrameKind::managed ? 1 : 0;
    }
    EXPECT_FALSE(walker->plain_addresses(thread, std::span(out).first(*count - 1)));
  }
  EXPECT_GT(plain, 3u);
  EXPECT_GT(managed, 3u);
}

TEST_P(DotnetWalker, TheRuntimeAnswersForThreadsCodeFramesAndTheContract) {
  const test::DotnetProcess process(GetParam());
  if (!process.ready()) GTEST_SKIP() << "the scenarios are not built";
  process.stop();
  auto session = Session::open_process(static_cast<std::uint32_t>(process.pid()));
  ASSERT_TRUE(session);
  auto walker = walker_of(**session);
  ASSERT_TRUE(walker);
  const auto runtimes = walker->runtimes();
  ASSERT_EQ(runtimes.size(), 1u);
  const dotnet::Runtime& runtime = runtimes.front();
  EXPECT_EQ(runtime.version().rfind("10.", 0), 0u);
  EXPECT_GE(runtime.threads().size(), 2u);
  EXPECT_EQ(runtime.frame_name(0x1234), "");
  std::size_t elements = 0, frames = 0;
  for (const ThreadCapture& thread : walker->capture().threads) {
    if (!walker->managed(thread)) {
      EXPECT_EQ(runtime.explicit_frames(thread).error().code, ErrorCode::no_such_thread);
      continue;
    }
    for (const Frame& f : walker->walk(thread).frames) {
      if (f.kind != FrameKind::managed) continue;
      const auto code = runtime.code_at(f.pc.lookup());
      ASSERT_TRUE(code);
      EXPECT_EQ(code->method, f.method);
      // A stub that many methods share is called by the one of this call.
      const auto expected = f.stub_target == 0 ? *runtime.method_name(f.method)
                                               : "[stub: P/Invoke] -> " + *runtime.method_name(f.stub_target);
      EXPECT_EQ(walker->name(f).name, expected);
    }
    if (const auto list = runtime.explicit_frames(thread)) {
      frames += list->size();
      for (const dotnet::FrameFacts& f : *list) {
        EXPECT_EQ(runtime.frame_name(f.identifier), f.name);
        EXPECT_EQ(runtime.frame_method(f.address).value_or(1), f.method);
      }
    }
    auto contract = runtime.stack_walk(thread);
    ASSERT_TRUE(contract);
    std::vector<dotnet::WalkElement> earlier;
    std::vector<std::vector<std::byte>> contexts;
    for (; contract->next(); elements++) {
      earlier.push_back(contract->current());
      ASSERT_TRUE(contract->raw_context(contexts.emplace_back(2048)));
    }
    EXPECT_EQ(contract->error().code, ErrorCode::none);
    std::vector<std::byte> again(2048);
    for (std::size_t i = 0; i < earlier.size(); i++) {
      ASSERT_TRUE(dotnet::StackWalk::raw_context(earlier[i], again));
      EXPECT_EQ(again, contexts[i]) << "an element is the same after the walk has gone on";
    }
  }
  EXPECT_GT(elements, 3u);
  EXPECT_GT(frames, 1u);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, DotnetWalker, ::testing::Values("reverse_pinvoke", "nested_exceptions", "deep"),
                         [](const auto& info) { return std::string(info.param); });

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
    if (pid_ != 0) return;
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
    // Whoever else goes on from there has only evidence for it, and says so.
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
      "range",     "cfi",         "early",     "managed",        "copied code",
      "jit image", "undescribed", "last",      "newborn thread", "signal trampoline",
      "prologue",  "undescribed", "before fp", "frame pointer",  "last"};
  EXPECT_EQ(chain.order(), expected);
  EXPECT_TRUE(chain.remove(*last));
  EXPECT_FALSE(chain.remove(*last));
  EXPECT_EQ(chain.order().size(), expected.size() - 2);
}

TEST(ParallelWalkers, DifferentSessionsInDifferentThreads) {
  const test::DotnetProcess first("generics"), second("locks");
  if (!first.ready() || !second.ready()) GTEST_SKIP() << "the scenarios are not built";
  std::vector<std::thread> threads;
  std::array<std::size_t, 4> frames{};
  for (std::size_t i = 0; i < frames.size(); i++) {
    threads.emplace_back([&, i] {
      const auto pid = static_cast<std::uint32_t>((i % 2 == 0 ? first : second).pid());
      for (int round = 0; round < 5; round++) {
        auto session = Session::open_process(pid);
        if (!session) continue;
        // Two sessions of one process may meet: only one can trace it at a time.
        if (const auto dump = (*session)->dump(patient()))
          for (const ThreadDump& t : dump->threads) frames[i] += t.trace.frames.size();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_GT(frames[0] + frames[2], 100u);
  EXPECT_GT(frames[1] + frames[3], 100u);
}

#if defined(__x86_64__)
/// A walker's answer about a thread, in words.
std::string said_of(Walker& walker, const ThreadCapture& thread) {
  std::string text = std::to_string(thread.tid);
  const Trace trace = walker.walk(thread);
  for (const Frame& f : trace.frames) text += "\n" + walker.name(f).name + (f.trust == Trust::certain ? "" : " ?");
  const auto facts = walker.managed(thread);
  return text + "\n" + std::string(to_string(trace.stop)) + (facts ? " " + facts->name : "");
}

TEST(ParallelWalkers, OfOneSessionInDifferentThreads) {
  const test::DotnetProcess process("locks");
  if (!process.ready()) GTEST_SKIP() << "the scenarios are not built";
  process.stop();
  auto session = Session::open_process(static_cast<std::uint32_t>(process.pid()));
  ASSERT_TRUE(session);
  auto alone = walker_of(**session);
  ASSERT_TRUE(alone);
  std::vector<std::string> expected;
  for (const ThreadCapture& thread : alone->capture().threads) expected.push_back(said_of(*alone, thread));
  ASSERT_GT(expected.size(), 5u);

  std::vector<Walker> walkers;
  for (int i = 0; i < 10; i++) {
    auto walker = walker_of(**session);
    ASSERT_TRUE(walker);
    walkers.push_back(std::move(*walker));
  }
  std::vector<std::vector<std::string>> seen(walkers.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < walkers.size(); i++)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 3; round++) {
        seen[i].clear();
        for (const ThreadCapture& thread : walkers[i].capture().threads) seen[i].push_back(said_of(walkers[i], thread));
      }
    });
  for (std::thread& t : threads) t.join();
  for (const auto& texts : seen) EXPECT_EQ(texts, expected);
  // An earlier capture, after later ones and a dump.
  ASSERT_TRUE((*session)->dump(patient()));
  std::vector<std::string> again;
  for (const ThreadCapture& thread : alone->capture().threads) again.push_back(said_of(*alone, thread));
  EXPECT_EQ(again, expected);
}

TEST(Sessions, SeeLibrariesThatComeLater) {
  int order[2];
  ASSERT_EQ(::pipe(order), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char go = 0;
    while (::read(order[0], &go, 1) == 1) {
      // The child of a test has one thread: loading is safe here.
      if (void* library = ::dlopen("libz.so.1", RTLD_NOW); library != nullptr)
        if (auto* crc = reinterpret_cast<unsigned long (*)(unsigned long, const unsigned char*, unsigned)>(
                ::dlsym(library, "crc32_z"));
            crc != nullptr)
          for (;;) (void)crc(0, reinterpret_cast<const unsigned char*>(kCode), sizeof kCode);
    }
    ::_exit(0);
  }
  auto session = Session::open_process(static_cast<std::uint32_t>(pid));
  ASSERT_TRUE(session);
  ASSERT_TRUE((*session)->dump(patient()));
  ASSERT_EQ(::write(order[1], "g", 1), 1);
  bool seen = false;
  for (int i = 0; i < 200 && !seen; i++) {
    ::usleep(10'000);
    const auto dump = (*session)->dump(patient());
    ASSERT_TRUE(dump);
    for (const std::uint32_t symbol : dump->threads.front().symbols)
      seen |= dump->symbols[symbol].module.starts_with("libz.so");
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  EXPECT_TRUE(seen);
}
#endif

[[gnu::noinline]] Result<ProcessDump> look_at_ourselves(Session& session) {
  auto dump = session.dump(patient());
  asm volatile("" ::: "memory");
  return dump;
}

TEST(Self, TheCallingThreadFromItsCaller) {
  auto session = Session::open_self();
  ASSERT_TRUE(session);
  const auto dump = look_at_ourselves(**session);
  ASSERT_TRUE(dump);
  const auto tid = static_cast<ThreadId>(::gettid());
  const auto& threads = dump->threads;
  const auto own = std::find_if(threads.begin(), threads.end(), [&](const ThreadDump& t) { return t.tid == tid; });
  ASSERT_NE(own, threads.end());
  EXPECT_TRUE(own->captured);
  EXPECT_EQ(own->trace.stop, StopReason::end_of_stack);
  const auto named = [&](std::string_view part) {
    return std::any_of(own->symbols.begin(), own->symbols.end(),
                       [&](std::uint32_t s) { return dump->symbols[s].name.find(part) != std::string::npos; });
  };
  EXPECT_TRUE(named("look_at_ourselves"));
  EXPECT_TRUE(named("TheCallingThreadFromItsCaller"));
  EXPECT_TRUE(named("main"));
}

TEST(Self, OtherThreadsBothWays) {
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) ::usleep(1000);
  });
  for (const OwnThreads way : {OwnThreads::by_signal, OwnThreads::by_helper}) {
    auto session = Session::open_self({.others = way, .signal = way == OwnThreads::by_signal ? SIGRTMIN + 3 : 0});
    ASSERT_TRUE(session);
    const auto dump = (*session)->dump(patient());
    ASSERT_TRUE(dump);
    EXPECT_GE(dump->threads.size(), 2u);
    for (const ThreadDump& t : dump->threads) EXPECT_TRUE(t.captured) << static_cast<int>(way) << " " << t.tid;
  }
  done = true;
  other.join();
}

/// Held at its first instruction, nobody has called it: the link register of AArch64 says so with a zero.
TEST(Launch, AStaticProgramHeldAtItsEntryHasAWholeStack) {
  const std::string program = std::string(MIXSTACK_SOURCE_DIR) + "/build/debuggees/native/stay";
  if (!std::filesystem::exists(program)) GTEST_SKIP() << program << " is not built";
  const pid_t pid = ::fork();
  if (pid == 0) {
    (void)::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::execl(program.c_str(), program.c_str(), nullptr);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFSTOPPED(status));
  // Stopped without a tracer: ours may come.
  ASSERT_EQ(::ptrace(PTRACE_DETACH, pid, nullptr, SIGSTOP), 0);
  auto session = Session::open_process(static_cast<std::uint32_t>(pid));
  if (!session) ::kill(pid, SIGKILL);
  ASSERT_TRUE(session);
  const auto dump = (*session)->dump(patient());
  ::kill(pid, SIGKILL);
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
  ASSERT_TRUE(dump);
  ASSERT_EQ(dump->threads.size(), 1u);
  const Trace& trace = dump->threads.front().trace;
  EXPECT_EQ(trace.stop, StopReason::end_of_stack) << static_cast<int>(trace.stop_error.code);
  EXPECT_EQ(trace.frames.size(), 1u);
}

TEST(Launch, StartsAProgramAndOpensIt) {
  auto session = Session::launch({{"sleep", "30"}, {}});
  ASSERT_TRUE(session);
  const auto pid = static_cast<pid_t>((*session)->target().info().pid);
  const auto dump = (*session)->dump(patient());
  ::kill(pid, SIGKILL);
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
  ASSERT_TRUE(dump) << static_cast<int>(dump.error().code) << " " << dump.error().os_error;
  ASSERT_EQ(dump->threads.size(), 1u);
  EXPECT_GE(dump->threads.front().trace.frames.size(), 1u);
  EXPECT_EQ(Session::launch({{"/nonexistent/program"}, {}}).error().os_error, ENOENT);
  EXPECT_EQ(Session::launch({}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(Session::open(nullptr).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace mixstack
