// A .NET process through the StackwalkerAPI.
#include <gtest/gtest.h>

#include <algorithm>

#include "frontends/stackwalker/test_stacks.h"
#include "stackwalker/Symtab.h"
#include "stackwalker/frame.h"
#include "stackwalker/framestepper.h"
#include "stackwalker/swk_errors.h"
#include "support/dotnet_process.h"

namespace Dyninst::Stackwalker {
namespace {

using mixstack::stackwalker::test::find_name;
using mixstack::stackwalker::test::names_of;
using Owned = std::unique_ptr<Walker>;

/// The thread whose stack has a frame of this name.
std::vector<Frame> stack_with(Walker& walker, const std::string& name) {
  std::vector<THR_ID> threads;
  (void)walker.getAvailableThreads(threads);
  for (const THR_ID tid : threads) {
    std::vector<Frame> stack;
    EXPECT_TRUE(walker.walkStack(stack, tid)) << getLastErrorMsg();
    if (find_name(names_of(stack), name) < stack.size()) return stack;
  }
  return {};
}

class StackwalkerDotnet : public testing::Test {
 protected:
  void SetUp() override {
    if (!process_.ready()) GTEST_SKIP() << "the scenarios are not built";
    walker_.reset(Walker::newWalker(static_cast<PID>(process_.pid())));
    ASSERT_NE(walker_, nullptr) << getLastErrorMsg();
  }
  mixstack::test::DotnetProcess process_{"marshalling"};
  Owned walker_;
};

TEST_F(StackwalkerDotnet, ManagedFramesHaveNames) {
  const std::vector<Frame> stack = stack_with(*walker_, "scen_call_string");
  ASSERT_FALSE(stack.empty());
  const auto names = names_of(stack);
  // native, managed, native, managed, native: a callback.
  const std::size_t block = find_name(names, "scen_block"), call = find_name(names, "scen_call_string");
  const std::size_t inner = find_name(names, "Scenarios."), start = find_name(names, "StartCallback");
  EXPECT_LT(block, inner);
  EXPECT_LT(inner, call);
  EXPECT_LT(call, start);
  EXPECT_LT(start, find_name(names, "start_thread"));
  void* object = nullptr;
  ASSERT_TRUE(stack[start].getObject(object));
  ASSERT_NE(object, nullptr);
  const auto* symbol = static_cast<SymtabAPI::Symbol*>(object);
  EXPECT_EQ(symbol->getTypedName(), names[start]);
  EXPECT_EQ(symbol->getSymtab(), nullptr);
  EXPECT_EQ(symbol->getFunction(), nullptr);
  std::string library;
  Offset offset = 0;
  void* symtab = nullptr;
  ASSERT_TRUE(stack[start].getLibOffset(library, offset, symtab));
  EXPECT_NE(library.find("System.Private.CoreLib.dll"), std::string::npos);
  EXPECT_EQ(symtab, nullptr);
  EXPECT_FALSE(stack[inner].getLibOffset(library, offset, symtab)) << "the JIT's code is in no library";
  EXPECT_EQ(getLastError(), err_nofile);
}

}  // namespace
}  // namespace Dyninst::Stackwalker
