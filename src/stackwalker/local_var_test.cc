#include "stackwalker/local_var.h"

#include <gtest/gtest.h>

#include <cstring>

#include "stackwalker/swk_errors.h"
#include "stackwalker/test_stacks.h"

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

class StackwalkerLocals : public testing::Test {
 protected:
  void SetUp() override {
    child_ = std::make_unique<TestProcess>([](auto& shared) {
      swk_test_locals(
          21,
          [](void* page) {
            static_cast<mixstack::target::test::Shared*>(page)->ready = 1;
            for (;;) ::pause();
          },
          &shared);
    });
    walker_.reset(Walker::newWalker(child_->pid()));
    ASSERT_NE(walker_, nullptr) << getLastErrorMsg();
    ASSERT_TRUE(walker_->walkStack(stack_)) << getLastErrorMsg();
    at_ = static_cast<unsigned>(find_name(names_of(stack_), "swk_test_locals"));
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

TEST_F(StackwalkerLocals, NeedAFunction) {
  EXPECT_EQ(getFunctionForFrame(Frame()), nullptr);
  EXPECT_EQ(getLastError(), err_badparam);
  SymtabAPI::Function* function = nullptr;
  EXPECT_TRUE(function_->getSymtab()->findFunctionByEntryOffset(function, function_->getOffset()));
  EXPECT_EQ(function, function_);
  EXPECT_FALSE(function_->getSymtab()->findFunctionByEntryOffset(function, function_->getOffset() + 1));
  EXPECT_NE(function_->getSymtab()->name().find("mixstack_stackwalker_test"), std::string::npos);
  std::vector<SymtabAPI::localVar*> none;
  EXPECT_FALSE(function_->findLocalVariable(none, "no_such_variable"));
}

}  // namespace
}  // namespace Dyninst::Stackwalker
