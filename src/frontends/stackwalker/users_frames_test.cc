// Frames that only their users know: a JIT's, an interpreter's, and coroutines on stacks of their own.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "frontends/stackwalker/test_stacks.h"
#include "stackwalker/frame.h"
#include "stackwalker/framestepper.h"
#include "stackwalker/steppergroup.h"
#include "stackwalker/swk_errors.h"

#if defined(__x86_64__)
namespace Dyninst::Stackwalker {
namespace {

using mixstack::stackwalker::test::find_name;
using mixstack::stackwalker::test::has_known_stack;
using mixstack::stackwalker::test::names_of;
using mixstack::stackwalker::test::outer_function;
using mixstack::stackwalker::test::TestProcess;
using Owned = std::unique_ptr<Walker>;

class LambdaStepper : public FrameStepper {
 public:
  using Body = std::function<gcframe_ret_t(ProcessState&, const Frame&, Frame&)>;
  LambdaStepper(Walker* w, unsigned priority, Body body)
      : FrameStepper(w), priority_(priority), body_(std::move(body)) {}
  gcframe_ret_t getCallerFrame(const Frame& in, Frame& out) override { return body_(*getProcessState(), in, out); }
  unsigned getPriority() const override { return priority_; }
  const char* getName() const override { return "LambdaStepper"; }

 private:
  unsigned priority_;
  Body body_;
};

gcframe_ret_t lead_to(Frame& out, Address ra, Address sp, Address fp) {
  out.setRA(ra);
  out.setSP(sp);
  out.setFP(fp);
  return gcf_success;
}

/// The frame of a call out of this code, or null.
Frame* frame_in(std::vector<Frame>& stack, Address start, Address end) {
  for (Frame& f : stack)
    if (f.getRA() > start && f.getRA() <= end) return &f;
  return nullptr;
}

// A JIT's function: no unwind information, no frame pointer, return addresses as decoys among its locals.
//   sub rsp, 0x48; mov [rsp], rsi; mov [rsp + 8], rsi; call rdi; add rsp, 0x48; ret
constexpr unsigned char kJitted[] = {0x48, 0x83, 0xec, 0x48, 0x48, 0x89, 0x34, 0x24, 0x48, 0x89,
                                     0x74, 0x24, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x48, 0xc3};
using Jitted = void (*)(void (*)(), void*);

TEST(StackwalkerUsersFrames, AJitInTheMiddle) {
  void* code = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(code, MAP_FAILED);
  std::memcpy(code, kJitted, sizeof kJitted);
  const auto start = reinterpret_cast<Address>(code), end = start + sizeof kJitted;
  const TestProcess child([code](auto& shared) {
    static auto* page = &shared;
    outer_function([code] {
      reinterpret_cast<Jitted>(code)(
          [] {
            outer_function([] {
              page->ready = 1;
              for (;;) ::pause();
            });
            asm volatile("" ::: "memory");
          },
          reinterpret_cast<void*>(&::pause));
      asm volatile("" ::: "memory");
    });
  });
  const Owned walker(Walker::newWalker(child.pid()));
  ASSERT_NE(walker, nullptr) << getLastErrorMsg();
  unsigned asked = 0;
  LambdaStepper jit(walker.get(), 0x10, [&](ProcessState& process, const Frame& in, Frame& out) {
    asked++;
    Address ra = 0;
    if (!process.readMem(&ra, in.getSP() + 0x48, sizeof ra)) return gcf_error;
    location_t where;
    where.location = loc_address;
    where.val.addr = in.getSP() + 0x48;
    out.setRALocation(where);
    return lead_to(out, ra, in.getSP() + 0x50, in.getFP());
  });
  ASSERT_TRUE(walker->getStepperGroup()->addStepper(&jit, start, end));
  std::vector<Frame> stack;
  EXPECT_TRUE(walker->walkStack(stack)) << getLastErrorMsg();
  EXPECT_EQ(asked, 1U);
  const auto names = names_of(stack);
  Frame* jitted = frame_in(stack, start, end);
  ASSERT_NE(jitted, nullptr) << testing::PrintToString(names);
  const auto at = static_cast<std::size_t>(jitted - stack.data());
  EXPECT_TRUE(has_known_stack(std::vector<Frame>(stack.data(), jitted))) << testing::PrintToString(names);
  EXPECT_TRUE(has_known_stack(std::vector<Frame>(jitted + 1, stack.data() + stack.size())))
      << testing::PrintToString(names);
  EXPECT_EQ(stack[at + 1].getSP(), jitted->getSP() + 0x50);
  EXPECT_EQ(stack[at + 1].getStepper(), &jit);
  EXPECT_EQ(stack[at + 1].getRALocation().val.addr, jitted->getSP() + 0x48) << "as the stepper said";
  EXPECT_TRUE(stack.back().isBottomFrame());
  // The same frame by frame, from frames found and from one made.
  for (std::size_t i = 0; i + 1 < stack.size(); i++) {
    Frame next;
    ASSERT_TRUE(walker->walkSingleFrame(stack[i], next)) << i << getLastErrorMsg();
    EXPECT_TRUE(next == stack[i + 1]) << i;
    EXPECT_EQ(next.isBottomFrame(), i + 2 == stack.size());
  }
  std::unique_ptr<Frame> made(Frame::newFrame(jitted->getRA(), jitted->getSP(), jitted->getFP(), walker.get()));
  std::vector<Frame> rest;
  EXPECT_TRUE(walker->walkStackFromFrame(rest, *made)) << getLastErrorMsg();
  ASSERT_EQ(rest.size(), stack.size() - at);
  EXPECT_EQ(rest[1].getStepper(), &jit);
  EXPECT_TRUE(rest.back().isBottomFrame());
  ::munmap(code, 4096);
}

/// An interpreter's frames: RA lies in its byte code, which the CPU cannot execute. Only the range makes it code.
TEST(StackwalkerUsersFrames, AnInterpretersByteCode) {
  const auto child = mixstack::stackwalker::test::standing_child();
  const Owned walker(Walker::newWalker(child->pid()));
  ASSERT_NE(walker, nullptr) << getLastErrorMsg();
  std::vector<Frame> plain, stack;
  ASSERT_TRUE(walker->walkStack(plain));
  const std::size_t at = find_name(names_of(plain), "innermost_function");
  ASSERT_LT(at + 1, plain.size());
  constexpr Address kByteCode = 0x10000;
  LambdaStepper to_byte_code(walker.get(), 0x10, [](ProcessState&, const Frame& in, Frame& out) {
    return lead_to(out, kByteCode + 0x10, in.getSP() + 1, in.getFP());
  });
  LambdaStepper from_byte_code(walker.get(), 0x10, [&](ProcessState&, const Frame&, Frame& out) {
    return lead_to(out, plain[at + 1].getRA(), plain[at + 1].getSP(), plain[at + 1].getFP());
  });
  ASSERT_TRUE(walker->getStepperGroup()->addStepper(&to_byte_code, plain[at].getRA() - 1, plain[at].getRA()));
  ASSERT_TRUE(walker->getStepperGroup()->addStepper(&from_byte_code, kByteCode, kByteCode + 0x1000));
  EXPECT_TRUE(walker->walkStack(stack)) << getLastErrorMsg();
  ASSERT_EQ(stack.size(), plain.size() + 1);
  EXPECT_EQ(stack[at + 1].getRA(), kByteCode + 0x10);
  for (std::size_t i = at + 1; i < plain.size(); i++) EXPECT_EQ(stack[i + 1].getRA(), plain[i].getRA()) << i;
}

// Two coroutines, the second on a stack above the first one's: 0 is the program's own context.
constexpr std::size_t kStack = 65536;
ucontext_t contexts[3];
mixstack::stackwalker::test::Shared* page;

__attribute__((noinline)) void second_coroutine() {
  page->ready = 1;
  for (;;) ::pause();
}
__attribute__((noinline)) void first_coroutine() {
  outer_function([] {
    ::swapcontext(&contexts[1], &contexts[2]);
    asm volatile("" ::: "memory");
  });
  asm volatile("" ::: "memory");
}
/// Sees the coroutines' stacks, lower half first.
void run_coroutines(char* stacks, mixstack::stackwalker::test::Shared& shared, bool stays) {
  page = &shared;
  for (int i = 1; i <= 2; i++) {
    ::getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = stacks + static_cast<std::size_t>(i - 1) * kStack;
    contexts[i].uc_stack.ss_size = kStack;
    contexts[i].uc_link = &contexts[0];
  }
  ::makecontext(&contexts[1], first_coroutine, 0);
  ::makecontext(
      &contexts[2], stays ? second_coroutine : [] { ::swapcontext(&contexts[2], &contexts[0]); }, 0);
  outer_function([] {
    ::swapcontext(&contexts[0], &contexts[1]);
    asm volatile("" ::: "memory");
  });
  shared.ready = 1;
}

class StackwalkerCoroutines : public testing::Test {
 protected:
  void SetUp() override {
    void* memory = ::mmap(nullptr, 2 * kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    stacks_ = static_cast<char*>(memory);
  }
  void TearDown() override { ::munmap(stacks_, 2 * kStack); }
  void start(bool stays) {
    child_ = std::make_unique<TestProcess>([&](auto& shared) { run_coroutines(stacks_, shared, stays); });
    walker_.reset(Walker::newWalker(child_->pid()));
    ASSERT_NE(walker_, nullptr) << getLastErrorMsg();
  }
  /// The RA, SP and FP saved in a context. The child is a fork: its context has the same address as ours.
  static bool saved(ProcessState& process, int which, Address (&out)[3]) {
    ucontext_t context;
    if (!process.readMem(&context, reinterpret_cast<Address>(&contexts[which]), sizeof context)) return false;
    const auto& r = context.uc_mcontext.gregs;
    out[0] = static_cast<Address>(r[REG_RIP]);
    out[1] = static_cast<Address>(r[REG_RSP]);
    out[2] = static_cast<Address>(r[REG_RBP]);
    return true;
  }
  char* stacks_ = nullptr;
  std::unique_ptr<TestProcess> child_;
  Owned walker_;
};

/// From the second coroutine down to the first one's stack, and from there up to the program's.
TEST_F(StackwalkerCoroutines, AStepperLeadsToTheResumer) {
  start(true);
  const auto base = reinterpret_cast<Address>(stacks_);
  LambdaStepper resumers(walker_.get(), 0x10, [base](ProcessState& process, const Frame& in, Frame& out) {
    std::string name;
    if (!in.getName(name) || !name.ends_with("_coroutine()")) return gcf_not_me;
    Address at[3];
    if (!saved(process, in.getSP() < base + kStack ? 0 : 1, at)) return gcf_error;
    return lead_to(out, at[0], at[1], at[2]);
  });
  ASSERT_TRUE(walker_->addStepper(&resumers));
  std::vector<Frame> stack;
  EXPECT_TRUE(walker_->walkStack(stack)) << getLastErrorMsg();
  const auto names = names_of(stack);
  const auto frame_of = [&](std::string_view function) {
    return static_cast<std::size_t>(
        std::find_if(names.begin(), names.end(), [&](const std::string& name) { return name.ends_with(function); }) -
        names.begin());
  };
  const std::size_t second = frame_of("second_coroutine()"), first = frame_of("first_coroutine()");
  ASSERT_LT(second + 1, first) << testing::PrintToString(names);
  ASSERT_LT(first + 1, stack.size()) << testing::PrintToString(names);
  EXPECT_LT(stack[second + 1].getSP(), stack[second].getSP()) << "down to the resumer";
  EXPECT_TRUE(has_known_stack({stack.begin() + static_cast<long>(second), stack.begin() + static_cast<long>(first)}));
  EXPECT_TRUE(has_known_stack({stack.begin() + static_cast<long>(first), stack.end()}));
  EXPECT_LT(find_name(names, "main"), names.size());
  for (std::size_t i = 0; i + 1 < stack.size(); i++) {
    Frame next;
    ASSERT_TRUE(walker_->walkSingleFrame(stack[i], next)) << i << getLastErrorMsg();
    EXPECT_TRUE(next == stack[i + 1]) << i;
  }
}

/// A parked coroutine: its registers are the saved ones, and no thread runs on its stack. Its first function returns to
/// an address without a call (makecontext), so the end of the stack cannot be recognised.
TEST_F(StackwalkerCoroutines, AFrameMadeFromSavedRegisters) {
  start(false);
  Address at[3];
  ASSERT_TRUE(saved(*walker_->getProcessState(), 1, at));
  std::unique_ptr<Frame> parked(Frame::newFrame(at[0], at[1], at[2], walker_.get()));
  std::vector<Frame> stack;
  EXPECT_FALSE(walker_->walkStackFromFrame(stack, *parked));
  EXPECT_EQ(getLastError(), err_nostepper) << getLastErrorMsg();
  const auto names = names_of(stack);
  EXPECT_TRUE(has_known_stack(stack)) << testing::PrintToString(names);
  ASSERT_GE(names.size(), 2U);
  EXPECT_TRUE(names[names.size() - 2].ends_with("first_coroutine()")) << testing::PrintToString(names);
  Frame frame = *parked;
  for (std::size_t i = 1; i < stack.size(); i++) {
    ASSERT_TRUE(walker_->walkSingleFrame(frame, frame)) << i << getLastErrorMsg();
    EXPECT_EQ(frame.getRA(), stack[i].getRA());
  }
}

/// Made from another thread's values, without that thread's id.
TEST(StackwalkerUsersFrames, AFrameOfAnotherThread) {
  const auto child = mixstack::stackwalker::test::child_with_standing_thread();
  const Owned walker(Walker::newWalker(child->pid()));
  ASSERT_NE(walker, nullptr) << getLastErrorMsg();
  std::vector<Frame> whole, rest;
  ASSERT_TRUE(walker->walkStack(whole, child->shared().values[0])) << getLastErrorMsg();
  std::unique_ptr<Frame> made(Frame::newFrame(whole[1].getRA(), whole[1].getSP(), whole[1].getFP(), walker.get()));
  EXPECT_TRUE(walker->walkStackFromFrame(rest, *made)) << getLastErrorMsg();
  ASSERT_EQ(rest.size(), whole.size() - 1);
  for (std::size_t i = 0; i < rest.size(); i++) EXPECT_EQ(rest[i].getRA(), whole[i + 1].getRA()) << i;
}

/// An answer that cannot be right is not believed, and the next stepper is asked.
TEST(StackwalkerUsersFrames, AFalseAnswerIsNotTheLastOne) {
  const auto child = mixstack::stackwalker::test::standing_child();
  for (const bool default_steppers : {true, false}) {
    const Owned walker(Walker::newWalker(ProcDebug::newProcDebug(child->pid()), new AddrRangeGroup(nullptr), nullptr,
                                         default_steppers));
    ASSERT_NE(walker, nullptr) << getLastErrorMsg();
    unsigned asked = 0;
    LambdaStepper incomplete(walker.get(), 0x10, [](ProcessState&, const Frame&, Frame& out) {
      out.setRA(8);
      return gcf_success;
    });
    LambdaStepper ends(walker.get(), 0x20, [&](ProcessState&, const Frame&, Frame&) {
      asked++;
      return gcf_stackbottom;
    });
    ASSERT_TRUE(walker->addStepper(&incomplete) && walker->addStepper(&ends));
    if (default_steppers) {
      // Nor is one that leads to where no code is.
      LambdaStepper nowhere(walker.get(), 0x11, [](ProcessState&, const Frame& in, Frame& out) {
        return lead_to(out, 8, in.getSP() + 8, in.getFP());
      });
      ASSERT_TRUE(walker->addStepper(&nowhere));
      std::vector<Frame> stack;
      EXPECT_TRUE(walker->walkStack(stack)) << getLastErrorMsg();
      EXPECT_EQ(stack.size(), 1U);
      EXPECT_EQ(asked, 1U);
      continue;
    }
    std::vector<Frame> stack;
    EXPECT_TRUE(walker->walkStack(stack)) << getLastErrorMsg();
    EXPECT_EQ(stack.size(), 1U);
    EXPECT_EQ(asked, 1U);
  }
}

/// A stack that a user's stepper cuts is not whole, and its word is the last one.
TEST(StackwalkerUsersFrames, AnErrorInTheMiddleCutsTheStack) {
  const auto child = mixstack::stackwalker::test::standing_child();
  const Owned walker(Walker::newWalker(child->pid()));
  ASSERT_NE(walker, nullptr);
  std::vector<Frame> whole, stack;
  ASSERT_TRUE(walker->walkStack(whole));
  LambdaStepper refuses(walker.get(), 0x3000, [&](ProcessState&, const Frame& in, Frame&) {
    return in.getRA() == whole.back().getRA() ? gcf_error : gcf_not_me;
  });
  ASSERT_TRUE(walker->addStepper(&refuses));
  EXPECT_TRUE(walker->walkStack(stack)) << "others know the bottom, it is not asked: " << getLastErrorMsg();
  LambdaStepper early(walker.get(), 0x10, [&](ProcessState&, const Frame& in, Frame&) {
    if (in.getRA() != whole[2].getRA()) return gcf_not_me;
    setLastError(err_procread, "the user's own words");
    return gcf_error;
  });
  ASSERT_TRUE(walker->addStepper(&early));
  EXPECT_FALSE(walker->walkStack(stack));
  EXPECT_EQ(stack.size(), 3U);
  EXPECT_EQ(getLastError(), err_procread);
  EXPECT_STREQ(getLastErrorMsg(), "the user's own words");
  Frame next;
  EXPECT_FALSE(walker->walkSingleFrame(stack.back(), next));
  EXPECT_EQ(getLastError(), err_procread);
}

}  // namespace
}  // namespace Dyninst::Stackwalker
#endif
