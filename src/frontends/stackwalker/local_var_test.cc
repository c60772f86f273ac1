#include "stackwalker/local_var.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "frontends/stackwalker/test_stacks.h"
#include "stackwalker/swk_errors.h"

namespace Dyninst::Stackwalker {
namespace {

using mixstack::stackwalker::test::find_name;
using mixstack::stackwalker::test::names_of;
using mixstack::stackwalker::test::TestProcess;
using Owned = std::unique_ptr<Walker>;

struct Pair {
  int first;
  double second;
};

/// Keeps its variables in memory. GCC describes no places of variables that AddressSanitizer guards.
extern "C" __attribute__((noinline, no_sanitize_address)) long swk_test_locals(int parameter, void (*wait)(void*),
                                                                               void* argument) {
  volatile int number = parameter * 2;
  volatile Pair pair{7, 2.5};
  const char* volatile text = "hello";
  asm volatile("" ::"r"(&number), "r"(&pair), "r"(&text) : "memory");
  wait(argument);
  {
    volatile int inner = 3;
    asm volatile("" ::"r"(&inner) : "memory");
  }
  return number + pair.first + text[0];
}

#if defined(__clang__)
#define SWK_TEST_OPAQUE __attribute__((noinline, no_sanitize_address))
#else
#define SWK_TEST_OPAQUE __attribute__((noipa, no_sanitize_address))
#endif

struct Two {
  long first;
  long second;
};

__attribute__((always_inline)) inline long swk_test_inlined(long given, void (*wait)(void*), void* argument) {
  long doubled = given * 2;
  asm volatile("" : "+r"(given), "+r"(doubled));  // not put off until after the call
  wait(argument);
  return doubled ^ given;
}

/// As optimised code keeps its variables: in registers, in pieces, as constants, and not at all where the call tells.
extern "C" SWK_TEST_OPAQUE long swk_test_optimized([[maybe_unused]] int parameter, long opaque, void (*wait)(void*),
                                                   void* argument) {
  [[maybe_unused]] const int constant = 17;
  const Two two{opaque + 1, opaque * 3};
  const long result = swk_test_inlined(two.first ^ two.second, wait, argument);
  return result + two.first * two.second;
}

void wait_for_ever(void* page) {
  static_cast<mixstack::process::test::Shared*>(page)->ready = 1;
  for (;;) ::pause();
}

class StackwalkerLocals : public testing::Test {
 protected:
  void SetUp() override {
    look_at("swk_test_locals", [](auto& shared) { swk_test_locals(21, wait_for_ever, &shared); });
  }
  template <class Run>
  void look_at(const char* name, Run run) {
    child_ = std::make_unique<TestProcess>(run);
    walker_.reset(Walker::newWalker(child_->pid()));
    ASSERT_NE(walker_, nullptr) << getLastErrorMsg();
    stack_.clear();
    ASSERT_TRUE(walker_->walkStack(stack_)) << getLastErrorMsg();
    at_ = static_cast<unsigned>(find_name(names_of(stack_), name));
    ASSERT_LT(at_, stack_.size());
    function_ = getFunctionForFrame(stack_[at_]);
    ASSERT_NE(function_, nullptr) << getLastErrorMsg();
  }
  SymtabAPI::localVar* variable(const std::string& name) {
    std::vector<SymtabAPI::localVar*> found;
    if (!function_->findLocalVariable(found, name)) return nullptr;
    return found.front();
  }
  std::unique_ptr<TestProcess> child_;
  Owned walker_;
  std::vector<Frame> stack_;
  unsigned at_ = 0;
  SymtabAPI::Function* function_ = nullptr;
};

TEST_F(StackwalkerLocals, AreDescribed) {
  EXPECT_EQ(function_->getName(), "swk_test_locals");
  EXPECT_NE(function_->getSize(), 0U);
  std::vector<SymtabAPI::localVar*> locals, parameters;
  ASSERT_TRUE(function_->getLocalVariables(locals));
  ASSERT_TRUE(function_->getParams(parameters));
  EXPECT_EQ(locals.size(), 4U);
  ASSERT_EQ(parameters.size(), 3U);
  EXPECT_EQ(parameters[0]->getName(), "parameter");
  EXPECT_TRUE(parameters[0]->isParameter());
  SymtabAPI::localVar* pair = variable("pair");
  ASSERT_NE(pair, nullptr);
  EXPECT_EQ(pair->getType()->getName(), "volatile Pair");
  EXPECT_EQ(pair->getType()->getSize(), sizeof(Pair));
  EXPECT_GT(pair->getLineNum(), 0);
  EXPECT_NE(pair->getFileName().find("local_var_test.cc"), std::string::npos);
}

TEST_F(StackwalkerLocals, HaveValues) {
  int number = 0;
  ASSERT_EQ(getLocalVariableValue(variable("number"), stack_, at_, &number, sizeof number), glvv_Success)
      << getLastErrorMsg();
  EXPECT_EQ(number, 42);
  Pair pair{};
  ASSERT_EQ(getLocalVariableValue(variable("pair"), stack_, at_, &pair, sizeof pair), glvv_Success);
  EXPECT_EQ(pair.first, 7);
  EXPECT_EQ(pair.second, 2.5);
  Address text = 0;
  ASSERT_EQ(getLocalVariableValue(variable("text"), stack_, at_, &text, sizeof text), glvv_Success);
  EXPECT_STREQ(reinterpret_cast<const char*>(text), "hello") << "a fork has our constants where we have them";
}

TEST_F(StackwalkerLocals, SayWhyTheyHaveNone) {
  char buffer[64];
  std::vector<Frame> empty;
  EXPECT_EQ(getLocalVariableValue(nullptr, stack_, at_, buffer, sizeof buffer), glvv_EParam);
  EXPECT_EQ(getLastError(), err_badparam);
  EXPECT_EQ(getLocalVariableValue(variable("number"), stack_, 1000, buffer, sizeof buffer), glvv_EParam);
  EXPECT_EQ(getLocalVariableValue(variable("number"), empty, 0, buffer, sizeof buffer), glvv_EParam);
  EXPECT_EQ(getLocalVariableValue(variable("number"), stack_, at_, nullptr, 8), glvv_EParam);
  EXPECT_EQ(getLocalVariableValue(variable("number"), stack_, at_ + 1, buffer, sizeof buffer), glvv_EParam);
  EXPECT_EQ(getLocalVariableValue(variable("pair"), stack_, at_, buffer, 3), glvv_EBufferSize);
  EXPECT_EQ(getLocalVariableValue(variable("inner"), stack_, at_, buffer, sizeof buffer), glvv_EOutOfScope);
  // The argument was in a register that the call did not preserve, or one that some callee has saved: known or not,
  // never wrong.
  void* argument = nullptr;
  const int status = getLocalVariableValue(variable("argument"), stack_, at_, &argument, sizeof argument);
  if (status == glvv_Success) {
    EXPECT_EQ(argument, &child_->shared());
  } else {
    EXPECT_TRUE(status == glvv_EUnknown || status == glvv_EOutOfScope) << status;
  }
}

TEST_F(StackwalkerLocals, OfOptimizedCodeHaveTheirValues) {
  look_at("swk_test_optimized", [](auto& shared) {
    volatile long opaque = 5;
    // Not by a jump: the call says what the arguments were.
    opaque = swk_test_optimized(21, opaque, wait_for_ever, &shared);
  });
  const auto expect = [&](const char* name, auto value) {
    auto* of = variable(name);
    ASSERT_NE(of, nullptr) << name;
    decltype(value) found{};
    const int status = getLocalVariableValue(of, stack_, at_, &found, sizeof found);
    if (status == glvv_Success) {
      EXPECT_EQ(std::memcmp(&found, &value, sizeof value), 0) << name;
    } else {
      EXPECT_NE(status, glvv_EParam) << name;
#if defined(__OPTIMIZE__) && !defined(__clang__) && defined(__x86_64__)
      ADD_FAILURE() << name << ": " << getLastErrorMsg();
#endif
    }
  };
  expect("constant", 17);
  expect("two", Two{6, 15});
  expect("given", 9L);
  expect("doubled", 18L);
  expect("parameter", 21);
  expect("opaque", 5L);
  std::vector<SymtabAPI::localVar*> parameters;
  ASSERT_TRUE(function_->getParams(parameters));
  EXPECT_EQ(parameters.size(), 4u) << "those of an inlined function are its locals";
}

TEST_F(StackwalkerLocals, OfACallThatAJumpPassedOnAreNotThoseOfTheCall) {
  look_at("swk_test_optimized", [](auto& shared) {
    volatile long opaque = 5;
    swk_test_optimized(21, opaque, wait_for_ever, &shared);
  });
  int parameter = 0;
  const int status = getLocalVariableValue(variable("parameter"), stack_, at_, &parameter, sizeof parameter);
  EXPECT_TRUE(status == glvv_Success ? parameter == 21 : status == glvv_EUnknown) << status << " " << parameter;
}

TEST_F(StackwalkerLocals, NeedAFunction) {
  EXPECT_EQ(getFunctionForFrame(Frame()), nullptr);
  EXPECT_EQ(getLastError(), err_badparam);
  SymtabAPI::Function* function = nullptr;
  EXPECT_TRUE(function_->getSymtab()->findFunctionByEntryOffset(function, function_->getOffset()));
  EXPECT_EQ(function, function_);
  EXPECT_FALSE(function_->getSymtab()->findFunctionByEntryOffset(function, function_->getOffset() + 1));
  EXPECT_NE(function_->getSymtab()->name().find("mixstack_frontends_stackwalker_test"), std::string::npos);
  std::vector<SymtabAPI::localVar*> none;
  EXPECT_FALSE(function_->findLocalVariable(none, "no_such_variable"));
}

/// A C program of its own, compiled as programs that are shipped are.
class CompiledProgram {
 public:
  CompiledProgram(const std::string& source, const std::string& make) {
    char name[] = "/tmp/mixstack-locals-XXXXXX";
    folder_ = ::mkdtemp(name);
    std::ofstream(folder_ / "a.c") << source;
    is_made_ = std::system(("cd " + folder_.string() + " && { " + make + "; } 2>/dev/null").c_str()) == 0;
    if (!is_made_) return;
    child_ = ::fork();
    if (child_ != 0) return;
    ::execl((folder_ / "a").c_str(), "a", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ~CompiledProgram() {
    if (child_ > 0) ::kill(child_, SIGKILL);
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
    std::filesystem::remove_all(folder_);
  }
  CompiledProgram(const CompiledProgram&) = delete;
  CompiledProgram& operator=(const CompiledProgram&) = delete;
  [[nodiscard]] bool is_made() const { return is_made_; }

  /// Walks until all these functions are on the stack; false when they never are.
  bool stands_in(const std::vector<std::string>& functions) {
    for (int tries = 0; tries < 500; tries++) {
      ::usleep(10'000);
      stack_.clear();
      walker_.reset(Walker::newWalker(child_));
      if (walker_ == nullptr || !walker_->walkStack(stack_)) continue;
      const auto names = names_of(stack_);
      if (std::all_of(functions.begin(), functions.end(),
                      [&](const std::string& f) { return find_name(names, f) < names.size(); }))
        return true;
    }
    return false;
  }
  /// A variable of the innermost frame of the function; whatever else than glvv_Success says why not.
  template <class Value>
  int value(const std::string& function, const std::string& variable, Value& out) {
    const auto at = static_cast<unsigned>(find_name(names_of(stack_), function));
    SymtabAPI::Function* of = at < stack_.size() ? getFunctionForFrame(stack_[at]) : nullptr;
    std::vector<SymtabAPI::localVar*> found;
    if (of == nullptr || !of->findLocalVariable(found, variable)) return -1;
    return getLocalVariableValue(found.front(), stack_, at, &out, sizeof out);
  }

 private:
  std::filesystem::path folder_;
  bool is_made_ = false;
  pid_t child_ = -1;
  Owned walker_;
  std::vector<Frame> stack_;
};

/// A stripped program whose debug information lies beside it, found by .gnu_debuglink alone.
TEST(StackwalkerDebugFiles, AreFoundByLink) {
  CompiledProgram program(
      "#include <unistd.h>\n"
      "__attribute__((noinline)) long hold(long given) { volatile long twice = given * 2; for (;;) pause(); return "
      "twice; }\n"
      "int main(int argc, char** argv) { return (int)hold(argc + 20); }\n",
      "cc -g -O1 -Wl,--build-id=none -o a a.c && objcopy --only-keep-debug a a.debug && strip -g a && objcopy "
      "--add-gnu-debuglink=a.debug a");
  if (!program.is_made()) GTEST_SKIP() << "no compiler";
  ASSERT_TRUE(program.stands_in({"hold"}));
  long twice = 0;
  EXPECT_EQ(program.value("hold", "twice", twice), glvv_Success) << getLastErrorMsg();
  EXPECT_EQ(twice, 42);
}

/// Variables in vector registers, in a loop without calls that a signal may interrupt.
constexpr const char* kSpins = R"(
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>
typedef double pair __attribute__((vector_size(16)));
static void on_alarm(int number) { if (number == SIGALRM) for (;;) pause(); }
__attribute__((noinline)) double hold(double given) {
  double kept = given * 3;
  pair both = {given, kept};
  for (;;) __asm__ volatile("" : "+IN_VECTOR"(kept), "+IN_VECTOR"(both));
  return kept + both[0];
}
int main(int argc, char** argv) {
  struct itimerval soon = {{0, 0}, {0, 10000}};
  signal(SIGALRM, on_alarm);
  if (WITH_SIGNAL) setitimer(ITIMER_REAL, &soon, 0);
  return (int)hold(argc + 0.5);
}
)";

void expect_vectors(bool with_signal, const std::vector<std::string>& functions) {
#if defined(__aarch64__)
  const std::string constraint = "w";
#else
  const std::string constraint = "x";
#endif
  CompiledProgram program(kSpins, "sed -i s/IN_VECTOR/" + constraint +
                                      "/g a.c && cc -g -O2 -o a a.c -DWITH_SIGNAL=" + std::to_string(with_signal));
  if (!program.is_made()) GTEST_SKIP() << "no compiler";
  ASSERT_TRUE(program.stands_in(functions));
  double kept = 0;
  EXPECT_EQ(program.value("hold", "kept", kept), glvv_Success) << getLastErrorMsg();
  EXPECT_EQ(kept, 4.5);
  double both[2] = {};
  EXPECT_EQ(program.value("hold", "both", both), glvv_Success) << getLastErrorMsg();
  EXPECT_EQ(both[0], 1.5);
  EXPECT_EQ(both[1], 4.5);
}

TEST(StackwalkerVectors, OfTheInnermostFrameAreThoseOfTheStop) { expect_vectors(false, {"hold"}); }

TEST(StackwalkerVectors, OfAnInterruptedFrameAreThoseOfTheSignal) { expect_vectors(true, {"on_alarm", "hold"}); }

}  // namespace
}  // namespace Dyninst::Stackwalker
