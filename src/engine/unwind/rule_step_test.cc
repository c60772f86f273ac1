// The stepper on hand-made stacks of both CPUs, and on the test's own stack with glibc's backtrace() as the truth.
#include "engine/unwind/rule_step.h"

#include <execinfo.h>
#include <gtest/gtest.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include <optional>

#include "base/arch/user_context.h"
#include "base/memory/buffer_memory.h"
#include "engine/images/file_bytes.h"
#include "support/cfi_builder.h"
#include "support/host_cpu.h"

namespace mixstack::unwind {
namespace {

using test::Bytes;
using test::CfiBuilder;

constexpr Address kBias = 0x7f0000000000;
constexpr Address kStack = 0x7ffe00001000;

/// An image of hand-made functions, mapped at kBias, and a stack of words.
class Fake {
 public:
  explicit Fake(Arch arch) : arch_(arch), registers(arch) {
    test::CieSpec spec;
    if (arch == Arch::aarch64) {
      spec.ra_register = 30;
      spec.instructions = Bytes{0x0c, 31, 0};
    }
    cie_ = builder_.cie(spec);
    spec.augmentation = "zRS";
    signal_cie_ = builder_.cie(spec);
    registers.set_sp(kStack);
  }
  void function(Address code, const Bytes& instructions) { builder_.fde(cie_, code, 0x100, instructions); }
  void signal_function(Address code, const Bytes& instructions) {
    builder_.fde(signal_cie_, code, 0x100, instructions);
  }
  /// To be called when all functions are there.
  RuleStepper& stepper() {
    if (!stepper_) {
      table_ = UnwindTable::create(builder_.sections(arch_), UnwindTable::Options());
      stepper_.emplace(arch_);
      stepper_->set_modules(NativeModules({{{kBias, kBias + 0x100000}, kBias, 5, table_}}));
    }
    return *stepper_;
  }
  [[nodiscard]] StackView stack() const {
    return {kStack, reinterpret_cast<const std::byte*>(words.data()), words.size() * 8, &memory};
  }
  RuleStep step(CodeAddress pc) {
    registers.set_pc(pc.raw());
    return stepper().step(pc, registers, stack());
  }

 private:
  Arch arch_;
  CfiBuilder builder_;
  std::size_t cie_ = 0, signal_cie_ = 0;
  std::shared_ptr<const UnwindTable> table_;
  std::optional<RuleStepper> stepper_;

 public:
  Registers registers;
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(64);
  memory::BufferMemory memory;
};

constexpr CodeAddress exact(Address code) { return CodeAddress::exact(kBias + code); }
constexpr CodeAddress after(Address code) { return CodeAddress::after_call(kBias + code); }

TEST(RuleStep, ReturnAddressAtTheStartOfTheNextFunction) {
  Fake fake(Arch::x86_64);
  fake.function(0x1000, {0x0e, 16});  // ends with a call that does not return
  fake.function(0x1100, {0x0e, 32});
  fake.words[1] = kBias + 0x1234;
  fake.words[3] = kBias + 0x1235;
  EXPECT_EQ(fake.step(after(0x1100)).cfa, kStack + 16) << "the call lies in the function before";
  fake.registers.set_sp(kStack);
  EXPECT_EQ(fake.step(exact(0x1100)).cfa, kStack + 32) << "the same address, interrupted";
  fake.registers.set_sp(kStack);
  EXPECT_EQ(fake.step(after(0x1100)).cfa, kStack + 16) << "and the cache keeps them apart";
}

TEST(RuleStep, OutcomesOtherThanACaller) {
  Fake fake(Arch::x86_64);
  fake.function(0x1000, {0x07, 16});
  fake.function(0x1100, {0x0e, 16});
  fake.function(0x1200, {0x0e, 0x80, 0x40});
  fake.function(0x1300, {0x0d, 3});  // CFA by rbx
  fake.function(0x1400, {0x0b});     // malformed
  fake.function(0x1500, {0x0c, 6, 16});
  for (int round = 0; round < 2; round++) {
    const Registers before = [&] {
      fake.registers = Registers(Arch::x86_64);
      fake.registers.set_sp(kStack);
      return fake.registers;
    }();
    const auto expect = [&](CodeAddress pc, RuleStatus status, ErrorCode error = ErrorCode::none) {
      const auto step = fake.step(pc);
      EXPECT_EQ(step.status, status) << std::hex << pc.raw();
      EXPECT_TRUE(status != RuleStatus::failed || fake.stepper().error().code == error) << std::hex << pc.raw();
      EXPECT_EQ(step.module, status == RuleStatus::no_code ? kNoModule : 5u);
      fake.registers.forget(x86_64_reg::rip);
      EXPECT_EQ(fake.registers, before);
    };
    expect(after(0x1080), RuleStatus::end_of_stack);
    fake.words[1] = 0;
    expect(after(0x1180), RuleStatus::end_of_stack);  // return address zero
    expect(after(0x1280), RuleStatus::failed, ErrorCode::unreadable_memory);
    expect(after(0x1380), RuleStatus::failed, ErrorCode::register_unknown);
    expect(after(0x1480), RuleStatus::failed, ErrorCode::malformed);
    expect(after(0x1580), RuleStatus::failed, ErrorCode::register_unknown);  // rbp
    expect(after(0x3000), RuleStatus::failed, ErrorCode::no_unwind_info);
    expect(CodeAddress::after_call(0x1234), RuleStatus::no_code);
    expect(CodeAddress::after_call(0), RuleStatus::no_code);
    expect(CodeAddress::exact(0), RuleStatus::no_code);
    expect(CodeAddress::exact(~Address{0}), RuleStatus::no_code);
    expect(CodeAddress::after_call(~Address{0}), RuleStatus::no_code);
  }
}

TEST(RuleStep, StackMustAdvance) {
  Fake fake(Arch::x86_64);
  fake.function(0x1000, {0x0c, 6, 16});
  fake.words[20] = kBias + 0x1080;  // a frame pointer that leads in a cycle
  fake.words[21] = kBias + 0x1080;
  fake.registers.set_sp(kStack + 176);
  fake.registers.set_fp(kStack + 160);
  EXPECT_EQ(fake.step(after(0x1080)).status, RuleStatus::failed);
  EXPECT_EQ(fake.stepper().error().code, ErrorCode::stack_not_advancing);
  LightFrame light{after(0x1080), kStack + 176, kStack + 160, 0};
  EXPECT_EQ(fake.stepper().step_light(light, fake.stack()).status, RuleStatus::failed);
}

TEST(RuleStep, StackEdges) {
  Fake fake(Arch::x86_64);
  fake.function(0x1000, {0x0e, 0x80, 4});  // CFA = rsp + 512: exactly the end of the 64 words
  fake.words[63] = 0x4444;
  const auto step = fake.step(after(0x1080));
  EXPECT_EQ(step.status, RuleStatus::caller);
  EXPECT_EQ(step.pc.raw(), 0x4444u);
  fake.registers.set_sp(kStack + 8);
  EXPECT_EQ(fake.step(after(0x1080)).status, RuleStatus::failed) << "the word lies behind the end";
  fake.memory.add_value<std::uint64_t>(kStack + 512, 0x5555);
  fake.registers.set_sp(kStack + 8);
  EXPECT_EQ(fake.step(after(0x1080)).pc.raw(), 0x5555u) << "the fallback has it";
  fake.words.clear();
  fake.registers.set_sp(kStack + 8);
  EXPECT_EQ(fake.step(after(0x1080)).pc.raw(), 0x5555u) << "no captured bytes at all";
}

TEST(RuleStep, UnknownRegistersStayUnknownUntilRestored) {
  Fake fake(Arch::x86_64);
  fake.function(0x1000, {0x0e, 32, 0x83, 3});  // rbx at CFA - 24
  fake.words[1] = 0x77;
  fake.words[3] = kBias + 0x1080;
  fake.registers.set(x86_64_reg::rax, 1);
  fake.registers.set(x86_64_reg::r12, 2);
  ASSERT_EQ(fake.step(exact(0x1010)).status, RuleStatus::caller);
  EXPECT_EQ(fake.registers.get(x86_64_reg::rbx), 0x77u);
  EXPECT_EQ(fake.registers.get(x86_64_reg::r12), 2u);
  EXPECT_FALSE(fake.registers.get(x86_64_reg::rax));
  EXPECT_EQ(fake.registers.value_or_zero(x86_64_reg::rax), 0u);
  EXPECT_FALSE(fake.registers.get(x86_64_reg::r13));
  EXPECT_FALSE(fake.registers.get(x86_64_reg::rbp));
}

TEST(RuleStep, LightModeKnowsWhatItLacks) {
  Fake fake(Arch::x86_64);
  fake.function(0x1000, {0x0c, 3, 16});                    // CFA = rbx + 16
  fake.function(0x1100, {0x0c, 6, 16, 0x86, 2});           // the usual rbp frame
  fake.function(0x1200, {0x0e, 16, 0x16, 6, 2, 0x73, 0});  // rbp = value of rbx
  for (auto& w : fake.words) w = kBias + 0x1180;
  auto& stepper = fake.stepper();
  LightFrame frame{after(0x1080), kStack, kStack + 16, 0};
  EXPECT_EQ(stepper.step_light(frame, fake.stack()).status, RuleStatus::failed);
  EXPECT_EQ(stepper.error(), (Error{ErrorCode::register_unknown, 0, x86_64_reg::rbx}));
  frame = {after(0x1280), kStack, kStack + 16, 0};
  ASSERT_EQ(stepper.step_light(frame, fake.stack()).status, RuleStatus::caller);
  EXPECT_EQ(frame.fp, LightFrame::kUnknownFp);
  EXPECT_EQ(stepper.step_light(frame, fake.stack()).status, RuleStatus::failed) << "needs the frame pointer";
  EXPECT_EQ(stepper.error().code, ErrorCode::register_unknown);
}

TEST(RuleStep, SignalFrame) {
  Fake fake(Arch::x86_64);
  Bytes restore{0x0f, 3, 0x77, 40, 0x06};  // CFA = *(rsp + 40)
  restore.add({0x10, 6, 2, 0x77, 16}).add({0x10, 16, 2, 0x77, 48}).add({0x10, 0, 2, 0x77, 56});
  fake.signal_function(0x1000, restore);
  fake.words[2] = 0xb0;
  fake.words[5] = kStack - 0x10000;  // the interrupted code ran on another stack, below
  fake.words[6] = kBias + 0x1100;
  fake.words[7] = 0xa0;
  for (int round = 0; round < 3; round++) {
    fake.registers = Registers(Arch::x86_64);
    fake.registers.set_sp(kStack);
    const auto step = fake.step(exact(0x1000));
    ASSERT_EQ(step.status, RuleStatus::caller);
    EXPECT_EQ(step.pc, exact(0x1100)) << "interrupted, not calling";
    EXPECT_EQ(fake.registers.sp(), kStack - 0x10000);
    EXPECT_EQ(fake.registers.get(x86_64_reg::rax), 0xa0u);
    EXPECT_EQ(fake.registers.fp(), 0xb0u);
    EXPECT_TRUE(fake.stepper().rule_at(exact(0x1000))->is_signal_frame);
  }
}

TEST(RuleStep, Aarch64Frames) {
  Fake fake(Arch::aarch64);
  fake.function(0x1000, {});  // leaf: nothing saved
  fake.function(0x1200, Bytes{0x2d, 0x0e, 32}.add({0x9d, 4, 0x9e, 3}).add({0x93, 2}));
  constexpr std::uint64_t kMask = 0x007f000000000000;
  fake.stepper().set_pac_mask(kMask);
  fake.registers.set(aarch64_reg::lr, kBias + 0x1220);
  fake.registers.set(aarch64_reg::x19, 19);
  fake.words[0] = kStack + 64;
  fake.words[1] = 0x0035000000000000 | (kBias + 0x1240);
  fake.words[2] = 0x1919;
  auto step = fake.step(exact(0x1000));
  ASSERT_EQ(step.status, RuleStatus::caller);
  EXPECT_EQ(step.pc, after(0x1220));
  EXPECT_EQ(step.cfa, kStack) << "a leaf does not move sp";
  LightFrame light{step.pc, kStack, LightFrame::kUnknownFp, kBias + 0x1220};
  step = fake.step(step.pc);
  ASSERT_EQ(step.status, RuleStatus::caller);
  EXPECT_EQ(step.pc, after(0x1240)) << "stripped";
  EXPECT_EQ(fake.registers.fp(), kStack + 64);
  EXPECT_EQ(fake.registers.get(aarch64_reg::x19), 0x1919u);
  EXPECT_EQ(fake.registers.get(aarch64_reg::lr), kBias + 0x1240);
  ASSERT_EQ(fake.stepper().step_light(light, fake.stack()).status, RuleStatus::caller);
  EXPECT_EQ(light.pc, after(0x1240));
  EXPECT_EQ(light.fp, kStack + 64);
  // The same leaf as a caller would be a loop: its sp does not advance.
  EXPECT_EQ(fake.step(after(0x1040)).status, RuleStatus::failed);
  EXPECT_EQ(fake.stepper().error().code, ErrorCode::stack_not_advancing);
}

TEST(RuleStep, TablesAreLoadedOnceAndOnlyWhenNeeded) {
  Fake fake(Arch::x86_64);
  int loads = 0;
  RuleStepper stepper(Arch::x86_64);
  stepper.set_modules(NativeModules({{{0x1000, 0x2000}, 0, 3, nullptr}, {{0x4000, 0x5000}, 0, 4, nullptr}},
                                    [&](ModuleIndex index) -> std::shared_ptr<const UnwindTable> {
                                      EXPECT_EQ(index, 3u);
                                      loads++;
                                      return nullptr;
                                    }));
  EXPECT_EQ(loads, 0);
  Registers registers(Arch::x86_64);
  registers.set_sp(kStack);
  for (Address pc = 0x1000; pc < 0x1010; pc++)
    EXPECT_EQ(stepper.step(CodeAddress::exact(pc), registers, {}).status, RuleStatus::failed);
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(stepper.module_at(CodeAddress::exact(0x4000))->index, 4u);
  EXPECT_EQ(stepper.module_at(CodeAddress::after_call(0x4000)), nullptr);
}

TEST(NativeModules, FindsByAddress) {
  std::vector<NativeModule> list;
  for (Address i = 0; i < 20; i++)
    list.push_back({{0x1000 * (20 - i), 0x1000 * (20 - i) + 0x800}, 0, static_cast<ModuleIndex>(i), nullptr});
  const NativeModules modules(list);
  for (Address a = 0; a < 0x16000; a += 0x100) {
    const auto* found = modules.find(a);
    const bool inside = a >= 0x1000 && a < 0x15000 && (a & 0xfff) < 0x800;
    ASSERT_EQ(found != nullptr, inside) << std::hex << a;
    EXPECT_TRUE(!inside || found->range.contains(a));
  }
  EXPECT_EQ(NativeModules().find(0x1000), nullptr);
}

// ---- the test's own stack

/// Our own images as the dynamic linker lists them.
NativeModules own_modules() {
  std::vector<NativeModule> modules;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        NativeModule m;
        m.load_bias = info->dlpi_addr;
        m.range.begin = ~Address{0};
        for (int i = 0; i < info->dlpi_phnum; i++) {
          const auto& p = info->dlpi_phdr[i];
          if (p.p_type != PT_LOAD) continue;
          m.range.begin = std::min<Address>(m.range.begin, info->dlpi_addr + p.p_vaddr);
          m.range.end = std::max<Address>(m.range.end, info->dlpi_addr + p.p_vaddr + p.p_memsz);
        }
        const std::string name = info->dlpi_name[0] != 0 ? info->dlpi_name : "/proc/self/exe";
        const auto file = images::open_file_bytes(name);
        if (!file) return 0;
        const auto image = images::ElfImage::from_file(*file);
        if (image) m.table = UnwindTable::create(*image);
        static_cast<std::vector<NativeModule>*>(out)->push_back(m);
        return 0;
      },
      &modules);
  return NativeModules(std::move(modules));
}

StackView own_stack(Address from) {
  pthread_attr_t attributes;
  void* low = nullptr;
  std::size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  const Address end = reinterpret_cast<Address>(low) + size;
  return {from, reinterpret_cast<const std::byte*>(from), end - from, nullptr};
}

struct OwnWalk {
  std::vector<Address> full, light, truth;
  RuleStatus full_end = RuleStatus::failed, light_end = RuleStatus::failed;
};

/// Walks from `context`; backtrace() is called by the same function, so that all but its own frame must be equal.
[[gnu::noinline]] void walk_own(const ucontext_t& context, OwnWalk& out) {
  RuleStepper stepper(test::kHostCpu);
  stepper.set_modules(own_modules());
  Registers registers = arch::user_context_registers(test::kHostCpu, &context);
  const StackView stack = own_stack(registers.sp());
  LightFrame light = LightFrame::innermost(registers);
  for (CodeAddress pc = light.pc; out.full.size() < 200;) {
    const auto step = stepper.step(pc, registers, stack);
    out.full_end = step.status;
    if (step.status != RuleStatus::caller) break;
    out.full.push_back(step.pc.raw());
    pc = step.pc;
  }
  while (out.light.size() < 200) {
    out.light_end = stepper.step_light(light, stack).status;
    if (out.light_end != RuleStatus::caller) break;
    out.light.push_back(light.pc.raw());
  }
}

void take_truth(OwnWalk& out) {
  std::array<void*, 200> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  for (int i = 0; i < count; i++) out.truth.push_back(reinterpret_cast<Address>(frames[static_cast<std::size_t>(i)]));
}

/// Compares both walks outside of the frame that made them.
void expect_equal_tails(const OwnWalk& walk) {
  ASSERT_GT(walk.full.size(), 5u);
  EXPECT_EQ(walk.full, walk.light);
  EXPECT_EQ(walk.full_end, RuleStatus::end_of_stack);
  EXPECT_EQ(walk.light_end, RuleStatus::end_of_stack);
  std::vector<Address> truth = walk.truth;
  if (!truth.empty() && truth.back() == 0) truth.pop_back();
  ASSERT_GE(truth.size(), walk.full.size());
  truth.erase(truth.begin(), truth.end() - static_cast<std::ptrdiff_t>(walk.full.size()));
  EXPECT_EQ(walk.full, truth);
}

[[gnu::noinline]] int recurse(int depth, OwnWalk& out) {
  if (depth > 0) {
    volatile int local[16];
    local[depth % 16] = depth;
    return recurse(depth - 1, out) + local[depth % 16];
  }
  ucontext_t context;
  getcontext(&context);
  walk_own(context, out);
  take_truth(out);
  return 1;
}

TEST(NativeStepLive, OwnStackEqualsBacktrace) {
  OwnWalk walk;
  (void)recurse(20, walk);
  expect_equal_tails(walk);
}

OwnWalk* g_handler_walk = nullptr;

void on_signal(int, siginfo_t*, void*) {
  ucontext_t context;
  getcontext(&context);
  walk_own(context, *g_handler_walk);
  take_truth(*g_handler_walk);
}

/// Through __restore_rt into the interrupted code, whose pc is exact: the first instruction of a function after a call
/// must not be taken for the function before.
TEST(NativeStepLive, ThroughASignalHandler) {
  if (test::kHostCpu == Arch::aarch64) GTEST_SKIP() << "handlers return to the vDSO, which has no CFI for that";
  OwnWalk walk;
  g_handler_walk = &walk;
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO;
  struct sigaction old {};
  ASSERT_EQ(sigaction(SIGUSR2, &action, &old), 0);
  raise(SIGUSR2);
  sigaction(SIGUSR2, &old, nullptr);
  expect_equal_tails(walk);
}

}  // namespace
}  // namespace mixstack::unwind
