#include "mixstack/self_walk.h"

#include <execinfo.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/arch/cpu.h"
#include "base/arch/user_context.h"
#include "engine/self_walk/code_rules.h"
#include "engine/self_walk/host.h"
#include "support/host_cpu.h"

namespace mixstack {
namespace {

using Frames = std::array<Address, 200>;

Address address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

/// backtrace() from here, without its own caller.
[[gnu::noinline]] std::vector<Address> glibc_frames() {
  std::array<void*, 200> found{};
  const int n = backtrace(found.data(), static_cast<int>(found.size()));
  std::vector<Address> out;
  for (int i = 1; i < n; i++) out.push_back(address_of(found[static_cast<std::size_t>(i)]));
  return out;
}

[[gnu::noinline]] void dive(int depth, const std::function<void()>& work) {
  if (depth == 0) {
    work();
  } else {
    dive(depth - 1, work);
  }
  asm volatile("");
}

std::unique_ptr<SelfWalker> make_walker() { return std::move(*SelfWalker::create()); }

/// The last `ours` frames are those of glibc, which ends one frame earlier or later where it stops at a null.
void expect_same_outer_frames(std::span<const Address> ours, std::span<const Address> glibc, std::size_t least) {
  while (!glibc.empty() && glibc.back() == 0) glibc = glibc.first(glibc.size() - 1);
  ASSERT_GE(ours.size(), least);
  ASSERT_GE(glibc.size(), least);
  const std::size_t common = std::min(ours.size(), glibc.size()) - 2;  // the innermost ones are the walkers' own
  const auto tail = [&](std::span<const Address> s) {
    return std::vector<Address>(s.end() - static_cast<long>(common), s.end());
  };
  EXPECT_EQ(tail(ours), tail(glibc));
}

constexpr unsigned kEndIsProbed = test::kHostCpu == Arch::aarch64 ? 1 : 0;
// There the tests run as they are built quickly (-O1).
constexpr std::size_t kPlainStack = (test::kHostCpu == Arch::aarch64 ? 8u : 5u) << 10;

TEST(SelfWalker, AgreesWithGlibc) {
  const auto walker = make_walker();
  dive(20, [&] {
    Frames out;
    for (int i = 0; i < 3; i++) {
      const SelfTrace trace = walker->walk_here(out);
      EXPECT_EQ(trace.stop, StopReason::end_of_stack);
      // AArch64: the end of a stack is a rule of its own.
      EXPECT_EQ(trace.probed_frames, kEndIsProbed);
      EXPECT_EQ(trace.plain_frames + kEndIsProbed, trace.count);
      expect_same_outer_frames(std::span(out).first(trace.count), glibc_frames(), 22);
    }
  });
}

TEST(SelfWalker, WalksThreadsKnownOrNot) {
  const auto walker = make_walker();
  std::thread([&] {
    dive(20, [&] {
      Frames out;
      SelfTrace trace = walker->walk_here(out);
      EXPECT_EQ(trace.stop, StopReason::end_of_stack);
      EXPECT_EQ(trace.plain_frames, 0u);
      EXPECT_GT(trace.pages_probed, 0u);
      const std::vector<Address> unknown(out.begin(), out.begin() + static_cast<long>(trace.count));
      ASSERT_TRUE(walker->add_thread());
      trace = walker->walk_here(out);
      EXPECT_EQ(trace.plain_frames, trace.count);
      ASSERT_EQ(trace.count, unknown.size());
      EXPECT_TRUE(std::equal(unknown.begin() + 1, unknown.end(), out.begin() + 1));
      expect_same_outer_frames(std::span(out).first(trace.count), glibc_frames(), 22);
      walker->remove_thread();
      EXPECT_EQ(walker->walk_here(out).plain_frames, 0u);
    });
  }).join();
}

TEST(SelfWalker, GivesAsManyFramesAsThereIsRoom) {
  const auto walker = make_walker();
  dive(10, [&] {
    Frames all;
    const std::size_t count = walker->walk_here(all).count;
    Frames out{};
    SelfTrace trace = walker->walk_here(std::span(out).first(5));
    EXPECT_EQ(trace.count, 5u);
    EXPECT_EQ(trace.stop, StopReason::max_frames);
    EXPECT_EQ(out[5], 0u);
    trace = walker->walk_here(std::span(out).first(count));
    EXPECT_EQ(trace.count, count);
    EXPECT_EQ(trace.stop, StopReason::end_of_stack);
    EXPECT_EQ(walker->walk_here({}).count, 0u);
  });
}

struct InHandler {
  const SelfWalker* walker = nullptr;
  Frames interrupted, here;
  SelfTrace interrupted_trace, here_trace;
  Address pc = 0;
  int error = 0;
};
InHandler* g_in_handler = nullptr;

void handle(int, siginfo_t*, void* context) {
  errno = 99;
  InHandler& h = *g_in_handler;
  h.interrupted_trace = h.walker->walk(context, h.interrupted);
  h.here_trace = h.walker->walk_here(h.here);
  h.error = errno;
  h.pc = arch::user_context_registers(test::kHostCpu, context).pc();
}

/// Interrupts the calling thread by a signal; walks from its handler and compares.
void walk_through_handler(const SelfWalker* walker, bool on_own_stack) {
  InHandler h;
  h.walker = walker;
  g_in_handler = &h;
  const auto alternate = std::make_unique<char[]>(256 << 10);
  stack_t stack{}, before_stack{};
  stack.ss_sp = alternate.get();
  stack.ss_size = 256 << 10;
  sigaltstack(&stack, &before_stack);
  struct sigaction action {
  }, before{};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | (on_own_stack ? SA_ONSTACK : 0);
  sigaction(SIGUSR1, &action, &before);
  std::vector<Address> glibc;
  dive(12, [&] {
    pthread_kill(pthread_self(), SIGUSR1);
    glibc = glibc_frames();
  });
  sigaction(SIGUSR1, &before, nullptr);
  sigaltstack(&before_stack, nullptr);

  EXPECT_EQ(h.error, 99);
  EXPECT_EQ(h.interrupted_trace.stop, StopReason::end_of_stack);
  EXPECT_EQ(h.here_trace.stop, StopReason::end_of_stack);
  EXPECT_EQ(h.interrupted[0], h.pc);
  expect_same_outer_frames(std::span(h.interrupted).first(h.interrupted_trace.count), glibc, 14);
  // Through the signal frame the same frames follow.
  const Address* const end = h.here.data() + h.here_trace.count;
  const Address* const found = std::find<const Address*>(h.here.data(), end, h.pc);
  ASSERT_NE(found, end);
  ASSERT_EQ(static_cast<std::size_t>(end - found), h.interrupted_trace.count);
  EXPECT_TRUE(std::equal(found, end, h.interrupted.data()));
}

class SelfWalkerSignal : public ::testing::TestWithParam<bool> {};

TEST_P(SelfWalkerSignal, WalksThroughTheHandler) { walk_through_handler(make_walker().get(), GetParam()); }

TEST_P(SelfWalkerSignal, WalksThroughTheHandlerOfAThreadThatIsKnownOrNot) {
  const auto walker = make_walker();
  for (const bool is_known : {false, true}) {
    std::thread([&] {
      if (is_known) {
        ASSERT_TRUE(walker->add_thread());
      }
      walk_through_handler(walker.get(), GetParam());
      if (is_known) walker->remove_thread();
    }).join();
  }
}
INSTANTIATE_TEST_SUITE_P(Stacks, SelfWalkerSignal, ::testing::Bool());

/// Walks from a handler on a stack of its own, of which it asks afterwards how much was written to.
class StackNeed {
 public:
  explicit StackNeed(const SelfWalker& walker) : walker_(walker) {}
  /// Bytes below the handler's own frame.
  [[nodiscard]] std::size_t of_a_walk() {
    g_need = this;
    std::vector<unsigned char> memory(kSize, kPaint);
    stack_t stack{}, before_stack{};
    stack.ss_sp = memory.data();
    stack.ss_size = kSize;
    sigaltstack(&stack, &before_stack);
    struct sigaction action {
    }, before{};
    action.sa_sigaction = [](int, siginfo_t*, void* context) { g_need->walk(context); };
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGUSR1, &action, &before);
    pthread_kill(pthread_self(), SIGUSR1);
    sigaction(SIGUSR1, &before, nullptr);
    sigaltstack(&before_stack, nullptr);
    const auto lowest = std::find_if(memory.begin(), memory.end(), [](unsigned char c) { return c != kPaint; });
    return handler_ - reinterpret_cast<std::uintptr_t>(&*lowest);
  }
  SelfTrace trace;

 private:
  static constexpr std::size_t kSize = 128 << 10;
  static constexpr unsigned char kPaint = 0xa5;
  [[gnu::noinline]] void walk(const void* context) {
    handler_ = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    trace = walker_.walk(context, out_);
  }
  static StackNeed* g_need;
  const SelfWalker& walker_;
  Frames out_;
  std::uintptr_t handler_ = 0;
};
StackNeed* StackNeed::g_need = nullptr;

/// A frame that aligns its stack and has variable size keeps its CFA in memory.
[[gnu::noinline]] void aligned(std::size_t size, const std::function<void()>& work) {
  alignas(128) volatile char block[256];
  auto* extra = static_cast<volatile char*>(__builtin_alloca(size));
  block[0] = 1;
  extra[0] = 1;
  work();
  if (block[0] + extra[0] != 2) std::abort();
}

TEST(SelfWalker, NeedsNoMoreStackThanItSays) {
  for (const bool is_known : {false, true}) {
    const auto walker = make_walker();
    StackNeed need(*walker);
    if (is_known) (void)need.of_a_walk();
    std::size_t plain = 0, unusual = 0;
    dive(12, [&] { plain = need.of_a_walk(); });
    EXPECT_EQ(need.trace.stop, StopReason::end_of_stack);
    aligned(100, [&] { unusual = need.of_a_walk(); });
    EXPECT_EQ(need.trace.stop, StopReason::end_of_stack);
    EXPECT_LE(plain, kPlainStack);
    EXPECT_LE(unusual, 10u << 10);
    RecordProperty(is_known ? "plain_again" : "plain", static_cast<int>(plain));
    RecordProperty(is_known ? "unusual_again" : "unusual", static_cast<int>(unusual));
  }
}

TEST(SelfWalker, FollowsRulesOfEveryKind) {
  const auto walker = make_walker();
  aligned(100, [&] {
    Frames out;
    const SelfTrace trace = walker->walk_here(out);
    EXPECT_EQ(trace.stop, StopReason::end_of_stack);
    expect_same_outer_frames(std::span(out).first(trace.count), glibc_frames(), 5);
  });
}

TEST(SelfWalker, DamagedStacksEndTheWalk) {
  const auto walker = make_walker();
  auto* pages =
      static_cast<std::byte*>(mmap(nullptr, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(pages + 4096, 4096, PROT_NONE);
  Frames out;
  const auto walk_from = [&](Address pc, Address sp, Address fp) {
    Registers registers(test::kHostCpu);
    registers.set_pc(pc);
    registers.set_sp(sp);
    registers.set_fp(fp);
    return walker->walk_registers(registers, out);
  };
  const Address code = address_of(reinterpret_cast<const void*>(&glibc_frames)) + 12;
  for (const Address sp : {Address{0}, Address{8}, ~Address{7}, Address{1} << 62, address_of(pages) + 4096 - 8,
                           address_of(pages) + 4096, address_of(pages)}) {
    for (const Address fp : {Address{0}, address_of(pages) + 4096 - 16, address_of(pages) + 4096, ~Address{15}}) {
      const SelfTrace trace = walk_from(code, sp, fp);
      EXPECT_GE(trace.count, 1u);
      EXPECT_LE(trace.count, 3u);
    }
  }
  EXPECT_EQ(walk_from(address_of(pages), address_of(pages), 0).stop, StopReason::no_unwind_info);
  EXPECT_NE(walk_from(0, address_of(pages), 0).stop, StopReason::end_of_stack);
  munmap(pages, 2 * 4096);
}

/// Executable memory without a description, with a few instructions of the host's CPU.
class MadeCode {
 public:
  MadeCode(std::initializer_list<std::uint8_t> of_x86_64, std::initializer_list<std::uint32_t> of_aarch64)
      : page_(mmap(nullptr, kSize, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    auto* bytes = static_cast<char*>(page_);
    if (self_walk::host::arch() == Arch::x86_64) {
      std::copy(of_x86_64.begin(), of_x86_64.end(), bytes);
    } else {
      std::memcpy(bytes, std::data(of_aarch64), of_aarch64.size() * sizeof(std::uint32_t));
    }
    __builtin___clear_cache(bytes, bytes + kSize);
  }
  ~MadeCode() { munmap(page_, kSize); }
  MadeCode(const MadeCode&) = delete;
  MadeCode& operator=(const MadeCode&) = delete;
  [[nodiscard]] AddressRange range() const { return {address_of(page_), address_of(page_) + kSize}; }
  void call(void (*with)()) const { reinterpret_cast<void (*)(void (*)())>(page_)(with); }

 private:
  static constexpr std::size_t kSize = 4096;
  void* page_;
};

// A record of its own around the call of its argument.
const auto kFramed = [] {
  return MadeCode({0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3},               // push, mov, call *%rdi, pop, ret
                  {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0});  // stp, mov, blr x0, ldp, ret
};

struct FromMadeCode {
  const SelfWalker* walker = nullptr;
  Frames frames;
  SelfTrace trace;
};
FromMadeCode* g_from_made_code = nullptr;

TEST(SelfWalker, FollowsFramePointersWhereItMayAndSaysSo) {
  const MadeCode code = kFramed();
  for (const bool may : {false, true}) {
    FromMadeCode found;
    const auto walker = std::move(*SelfWalker::create({.frame_pointers = may}));
    found.walker = walker.get();
    g_from_made_code = &found;
    std::vector<Address> glibc;
    // Inside a function that has a frame pointer: one that is anything else is not followed.
    aligned(100, [&] {
      code.call([] { g_from_made_code->trace = g_from_made_code->walker->walk_here(g_from_made_code->frames); });
      glibc = glibc_frames();
    });
    const Address* const begin = found.frames.data();
    const Address* const end = begin + found.trace.count;
    const Address* const made = std::find_if(begin, end, [&](Address a) { return code.range().contains(a); });
    ASSERT_NE(made, end);
    if (!may) {
      EXPECT_EQ(found.trace.stop, StopReason::no_unwind_info);
      EXPECT_EQ(made + 1, end);
      EXPECT_EQ(found.trace.sure, found.trace.count);
    } else {
      EXPECT_EQ(found.trace.stop, StopReason::end_of_stack);
      EXPECT_EQ(found.trace.sure, static_cast<std::size_t>(made - begin) + 1) << "what it called from is a guess";
      expect_same_outer_frames(std::span(begin, end), glibc, 1);
    }
  }
}

/// Knows the rule and the owner of one piece of code.
class OneMethod final : public self_walk::CodeRules {
 public:
  explicit OneMethod(AddressRange code) : code_(code) {
    using unwind::RegisterRuleKind;
    const arch::Cpu& cpu = arch::cpu(test::kHostCpu);
    rule_.ra_register = static_cast<std::uint8_t>(cpu.ra_column);
    rule_.cfa_kind = unwind::CfaKind::register_offset;
    rule_.cfa_register = static_cast<std::uint8_t>(cpu.registers.fp);
    rule_.cfa_offset = 16;
    rule_.rules[rule_.count++] = {rule_.cfa_register, RegisterRuleKind::at_cfa_offset, 0, 0, -16};
    rule_.rules[rule_.count++] = {rule_.ra_register, RegisterRuleKind::at_cfa_offset, 0, 0, -8};
  }
  bool compact(CodeAddress pc, const MemoryReader& memory, Answer& out) const noexcept override {
    asked++;
    if (!knows(pc, memory)) return false;
    out = {*unwind::compact(rule_, test::kHostCpu), owner};
    return true;
  }
  Result<unwind::UnwindRule> general(CodeAddress pc, const MemoryReader& memory) const noexcept override {
    if (!knows(pc, memory)) return fail(ErrorCode::not_found);
    return rule_;
  }
  bool knows(CodeAddress pc, const MemoryReader&) const noexcept override { return code_.contains(pc.lookup()); }

  std::uint32_t owner = 7;
  mutable int asked = 0;

 private:
  AddressRange code_;
  unwind::UnwindRule rule_;
};

struct InMadeCode {
  const SelfWalker* walker = nullptr;
  Frames frames;
  std::array<std::uint32_t, 200> owners;
  SelfTrace trace;
};
InMadeCode* g_in_made_code = nullptr;

/// Has `call` call a function that is interrupted, and walks there.
void interrupt_in(const std::function<void(void (*)())>& call, InMadeCode& found) {
  g_in_made_code = &found;
  struct sigaction action {
  }, before{};
  action.sa_sigaction = [](int, siginfo_t*, void* context) {
    InMadeCode& f = *g_in_made_code;
    f.trace = f.walker->walk(context, f.frames, f.owners);
  };
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, &before);
  call([] { pthread_kill(pthread_self(), SIGUSR1); });
  sigaction(SIGUSR1, &before, nullptr);
}

/// Interrupts a function that made code called.
void interrupt_above(const MadeCode& code, InMadeCode& found) {
  interrupt_in([&](void (*work)()) { code.call(work); }, found);
}

TEST(SelfWalker, SaysWhoseCodeItIsUntilThatIsForgotten) {
  const MadeCode code = kFramed();
  OneMethod method(code.range());
  InMadeCode found;
  const auto walker = std::move(*SelfWalker::create({.code = &method}));
  found.walker = walker.get();
  const auto owner = [&] {
    interrupt_above(code, found);
    EXPECT_EQ(found.trace.stop, StopReason::end_of_stack);
    EXPECT_EQ(found.trace.sure, found.trace.count);
    std::uint32_t owner = 0;
    for (std::size_t i = 0; i < found.trace.count; i++) {
      const bool is_made = code.range().contains(found.frames[i]);
      if (is_made) owner = found.owners[i];
      EXPECT_TRUE(is_made || found.owners[i] == 0 || found.owners[i] == self_walk::CodeRules::kUnknownOwner) << i;
    }
    return owner;
  };
  EXPECT_EQ(owner(), 7u);
  const int asked = method.asked;
  EXPECT_EQ(owner(), 7u);
  EXPECT_EQ(method.asked, asked) << "its rule is kept";
  const Address begin = code.range().begin;
  for (const std::uint64_t size : {std::uint64_t{64}, std::uint64_t{4096}}) {
    const std::uint32_t before = method.owner++;
    walker->forget({begin + 4096, begin + 4096 + size});
    EXPECT_EQ(owner(), before) << "other code was forgotten";
    walker->forget({begin, begin + size});
    EXPECT_EQ(owner(), method.owner);
  }
}

// Calls its argument from a frame that only a preserved register leads to: not sp, not the frame pointer.
#if defined(__x86_64__)
asm(R"(
  .text
  .globl mixstack_test_by_preserved
mixstack_test_by_preserved:
  .cfi_startproc
  push %rbx
  .cfi_def_cfa_offset 16
  .cfi_offset rbx, -16
  mov %rsp, %rbx
  .cfi_def_cfa rbx, 16
  call *%rdi
  pop %rbx
  .cfi_def_cfa rsp, 8
  .cfi_restore rbx
  ret
  .cfi_endproc
  .size mixstack_test_by_preserved, .-mixstack_test_by_preserved
)");
#else
asm(R"(
  .text
  .globl mixstack_test_by_preserved
mixstack_test_by_preserved:
  .cfi_startproc
  stp x19, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset x19, -16
  .cfi_offset x30, -8
  mov x19, sp
  .cfi_def_cfa x19, 16
  blr x0
  ldp x19, x30, [sp], #16
  .cfi_def_cfa sp, 0
  .cfi_restore x19
  .cfi_restore x30
  ret
  .cfi_endproc
  .size mixstack_test_by_preserved, .-mixstack_test_by_preserved
)");
#endif
extern "C" void mixstack_test_by_preserved(void (*work)());

TEST(SelfWalker, SaysOfEveryFrameWhoseItIsWhereAllRegistersAreNeeded) {
  InMadeCode found;
  found.owners.fill(0xdead);
  const auto walker = make_walker();
  found.walker = walker.get();
  interrupt_in(mixstack_test_by_preserved, found);
  EXPECT_EQ(found.trace.stop, StopReason::end_of_stack);
  EXPECT_GT(found.trace.count, 6u);
  for (std::size_t i = 0; i < found.trace.count; i++) EXPECT_NE(found.owners[i], 0xdeadu) << i;
  expect_same_outer_frames(std::span(found.frames).first(found.trace.count), glibc_frames(), 3);
}

struct Learning {
  const SelfWalker* walker = nullptr;
  Frames frames;
  SelfTrace trace;
};
Learning* g_learning = nullptr;

TEST(SelfWalker, LearnsStacksOfThreadsInTheirHandlers) {
  const auto walker = std::move(*SelfWalker::create({.learns_stacks = true}));
  Learning found;
  found.walker = walker.get();
  g_learning = &found;
  struct sigaction action {
  }, before{};
  action.sa_sigaction = [](int, siginfo_t*, void* context) {
    g_learning->trace = g_learning->walker->walk(context, g_learning->frames);
  };
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, &before);
  // Twice from one place: the first walk finds rules and stack.
  const auto walk_again = [&] {
    for (int i = 0; i < 2; i++) {
      pthread_kill(pthread_self(), SIGUSR1);
      EXPECT_EQ(found.trace.stop, StopReason::end_of_stack);
    }
    EXPECT_EQ(found.trace.rules_found, 0u);
    EXPECT_EQ(found.trace.pages_probed, 0u);
  };
  std::thread([&] {
    dive(5, walk_again);
    dive(60, [&] {
      walk_again();
      expect_same_outer_frames(std::span(found.frames).first(found.trace.count), glibc_frames(), 60);
    });
  }).join();
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(SelfWalker, InterruptedCodeWithoutAFrameLeadsToItsCaller) {
  const MadeCode code({0xcc, 0xc3}, {0xd4200000, 0xd65f03c0});  // int3 or brk, ret
  FromMadeCode found;
  const auto walker = make_walker();
  found.walker = walker.get();
  g_from_made_code = &found;
  struct sigaction action {
  }, before{};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = [](int, siginfo_t*, void* context) {
    g_from_made_code->trace = g_from_made_code->walker->walk(context, g_from_made_code->frames);
    if (self_walk::host::arch() != Arch::aarch64) return;
    // brk is not behind the pc as int3 is.
    const arch::SignalFrame& frame = arch::cpu(Arch::aarch64).signal_frame;
    std::uint64_t pc = 0;
    auto* const where = static_cast<std::byte*>(context) + frame.registers + 8 * aarch64_reg::pc;
    std::memcpy(&pc, where, sizeof(pc));
    pc += 4;
    std::memcpy(where, &pc, sizeof(pc));
  };
  sigaction(SIGTRAP, &action, &before);
  code.call(nullptr);
  sigaction(SIGTRAP, &before, nullptr);
  EXPECT_EQ(found.trace.stop, StopReason::end_of_stack);
  ASSERT_GT(found.trace.count, 2u);
  EXPECT_TRUE(code.range().contains(found.frames[0]));
  EXPECT_EQ(found.trace.sure, 1u) << "its caller is known by evidence";
  expect_same_outer_frames(std::span(found.frames).first(found.trace.count), glibc_frames(), 1);
}

TEST(SelfWalker, SmallTablesAreReplaced) {
  const auto walker = std::move(*SelfWalker::create({.rules = 1, .threads = 1}));
  for (int i = 0; i < 20; i++) {
    Frames out;
    const SelfTrace trace = walker->walk_here(out);
    EXPECT_EQ(trace.stop, StopReason::end_of_stack);
    ASSERT_TRUE(walker->refresh());
  }
}

}  // namespace
}  // namespace mixstack
