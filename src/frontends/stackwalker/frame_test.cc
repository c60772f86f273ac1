#include "stackwalker/frame.h"

#include <gtest/gtest.h>

#include "frontends/stackwalker/test_stacks.h"
#include "stackwalker/Symtab.h"
#include "stackwalker/framestepper.h"
#include "stackwalker/steppergroup.h"
#include "stackwalker/swk_errors.h"
#include "stackwalker/symlookup.h"

namespace Dyninst::Stackwalker {
namespace {

using mixstack::stackwalker::test::find_name;
using mixstack::stackwalker::test::names_of;
using mixstack::stackwalker::test::outer_function;
using Owned = std::unique_ptr<Walker>;

TEST(StackwalkerFrame, HoldsWhatIsSet) {
  const Owned walker(Walker::newWalker());
  const std::unique_ptr<Frame> frame(Frame::newFrame(1, 2, 3, walker.get()));
  ASSERT_NE(frame, nullptr);
  EXPECT_EQ(frame->getRA(), 1U);
  EXPECT_EQ(frame->getSP(), 2U);
  EXPECT_EQ(frame->getFP(), 3U);
  EXPECT_EQ(frame->getWalker(), walker.get());
  EXPECT_EQ(frame->getStepper(), nullptr);
  EXPECT_FALSE(frame->isTopFrame() || frame->isBottomFrame() || frame->nonCall());
  location_t place;
  place.location = loc_address;
  place.val.addr = 0x40;
  frame->setRALocation(place);
  EXPECT_EQ(frame->getRALocation(), place);
  EXPECT_EQ(frame->getRALocation().format(), "<loc: addr 40>");
  place.location = loc_register;
  place.val.reg = x86_64::rsp;  // a number, whatever the host is
  frame->setSPLocation(place);
  frame->setFPLocation(place);
  EXPECT_EQ(frame->getSPLocation(), place);
  EXPECT_EQ(frame->getFPLocation().format(), "<loc: reg x86_64::rsp>");
  Frame copy = *frame;
  EXPECT_TRUE(copy == *frame);
  copy.setRA(9);
  EXPECT_FALSE(copy == *frame);
  copy.setRA(1);
  copy.setSP(8);
  copy.setFP(7);
  copy.setThread(77);
  copy.setNonCall();
  EXPECT_EQ(copy.getSP() + copy.getFP(), 15U);
  EXPECT_EQ(copy.getThread(), 77);
  EXPECT_TRUE(copy.nonCall());
}

TEST(StackwalkerFrame, NeedsAWalker) {
  EXPECT_EQ(Frame::newFrame(1, 2, 3, nullptr), nullptr);
  EXPECT_EQ(getLastError(), err_badparam);
  std::string name = "untouched";
  void* value = nullptr;
  Offset offset = 0;
  EXPECT_FALSE(Frame().getName(name));
  EXPECT_FALSE(Frame().getObject(value));
  EXPECT_FALSE(Frame().getLibOffset(name, offset, value));
  EXPECT_EQ(getLastError(), err_badparam);
  EXPECT_EQ(name, "untouched");
}

TEST(StackwalkerFrame, OutlivesItsWalker) {
  std::vector<Frame> stack;
  {
    const Owned walker(Walker::newWalker());
    ASSERT_TRUE(walker->walkStack(stack));
  }
  ASSERT_FALSE(stack.empty());
  EXPECT_NE(stack[0].getRA(), 0U);
  EXPECT_EQ(stack[0].getWalker(), nullptr);
  EXPECT_EQ(stack.back().getStepper(), nullptr);
  std::string name;
  EXPECT_FALSE(stack[0].getName(name));
  EXPECT_EQ(getLastError(), err_badparam);
}

TEST(StackwalkerFrame, KnowsNameObjectAndLibrary) {
  const Owned walker(Walker::newWalker());
  std::vector<Frame> stack;
  outer_function([&] { ASSERT_TRUE(walker->walkStack(stack)); });
  const auto names = names_of(stack);
  const std::size_t at = find_name(names, "middle_function");
  ASSERT_LT(at, stack.size());
  void* object = nullptr;
  ASSERT_TRUE(stack[at].getObject(object));
  ASSERT_NE(object, nullptr);
  auto* symbol = static_cast<SymtabAPI::Symbol*>(object);
  EXPECT_EQ(symbol->getPrettyName(), names[at]);
  EXPECT_NE(symbol->getMangledName().find("middle_function"), std::string::npos);
  EXPECT_NE(symbol->getMangledName(), symbol->getPrettyName());
  EXPECT_TRUE(symbol->isFunction());
  EXPECT_EQ(symbol->getType(), SymtabAPI::Symbol::ST_FUNCTION);
  std::string library;
  Offset offset = 0;
  void* symtab = nullptr;
  ASSERT_TRUE(stack[at].getLibOffset(library, offset, symtab)) << getLastErrorMsg();
  EXPECT_NE(library.find("mixstack_frontends_stackwalker_test"), std::string::npos);
  EXPECT_EQ(symtab, symbol->getSymtab());
  EXPECT_EQ(symbol->getSymtab()->file(), library);
  EXPECT_GE(offset, symbol->getOffset());
  EXPECT_LE(offset, symbol->getOffset() + symbol->getSize());
  SymtabAPI::Function* function = nullptr;
  ASSERT_TRUE(symbol->getSymtab()->getContainingFunction(offset - 1, function));
  EXPECT_EQ(function, symbol->getFunction());
  EXPECT_EQ(function->getName(), names[at]);
  EXPECT_EQ(function->getOffset(), symbol->getOffset());
}

TEST(StackwalkerFrame, SaysWhenNothingIsKnown) {
  const Owned walker(Walker::newWalker());
  const std::unique_ptr<Frame> frame(Frame::newFrame(0x1000, 2, 3, walker.get()));
  std::string name = "untouched";
  EXPECT_FALSE(frame->getName(name));
  EXPECT_EQ(getLastError(), err_nosymbol);
  EXPECT_EQ(name, "untouched");
  void* object = &name;
  EXPECT_TRUE(frame->getObject(object));
  EXPECT_EQ(object, nullptr);
  Offset offset = 0;
  EXPECT_FALSE(frame->getLibOffset(name, offset, object));
  EXPECT_EQ(getLastError(), err_nofile);
}

/// Constant names, and one that throws.
class FixedLookup : public SymbolLookup {
 public:
  bool lookupAtAddr(Address addr, std::string& out_name, void*& out_value) override {
    if (throws) throw 1;
    out_name = "code at " + std::to_string(addr);
    out_value = this;
    return addr != 0x42;
  }
  bool throws = false;
};

TEST(StackwalkerFrame, AsksAUsersSymbolLookup) {
  auto* lookup = new FixedLookup;
  const Owned walker(Walker::newWalker(new ProcSelf, nullptr, lookup));
  ASSERT_NE(walker, nullptr);
  EXPECT_EQ(lookup->getWalker(), walker.get());
  std::vector<Frame> stack;
  ASSERT_TRUE(walker->walkStack(stack));
  std::string name;
  ASSERT_TRUE(stack[1].getName(name));
  EXPECT_EQ(name, "code at " + std::to_string(stack[1].getRA())) << "the RA, as the manual says";
  void* object = nullptr;
  ASSERT_TRUE(stack[1].getObject(object));
  EXPECT_EQ(object, lookup);
  const std::unique_ptr<Frame> refused(Frame::newFrame(0x42, 2, 3, walker.get()));
  EXPECT_FALSE(refused->getName(name));
  EXPECT_EQ(getLastError(), err_nosymbol);
  lookup->throws = true;
  EXPECT_FALSE(stack[1].getName(name));
  EXPECT_EQ(getLastError(), err_internal);
}

TEST(StackwalkerRegisters, HaveNames) {
  EXPECT_EQ(x86_64::rax.name(), "x86_64::rax");
  EXPECT_EQ(aarch64::x29.name(), "aarch64::x29");
  EXPECT_EQ(aarch64::sp.name(), "aarch64::sp");
  EXPECT_EQ(MachRegister().name(), "InvalidReg");
  EXPECT_EQ(MachRegister(Arch_x86_64 + 200).name(), "InvalidReg");
  EXPECT_EQ(MachRegister::getPC(Arch_x86_64), x86_64::rip);
  EXPECT_EQ(MachRegister::getStackPointer(Arch_aarch64), aarch64::sp);
  EXPECT_EQ(MachRegister::getFramePointer(Arch_aarch64), aarch64::x29);
  EXPECT_EQ(MachRegister::getReturnAddress(Arch_aarch64), aarch64::x30);
  EXPECT_FALSE(MachRegister::getReturnAddress(Arch_x86_64).isValid());
  EXPECT_TRUE(x86_64::rip.isPC() && x86_64::rsp.isStackPointer() && x86_64::rbp.isFramePointer());
  EXPECT_EQ(x86_64::rip.getArchitecture(), Arch_x86_64);
  EXPECT_EQ(x86_64::rip.size(), 8U);
  EXPECT_EQ(x86_64::rip.val(), x86_64::irip);
  EXPECT_EQ(getArchAddressWidth(Arch_x86), 4U);
}

TEST(StackwalkerErrors, BelongToTheThread) {
  setLastError(err_procread, "one");
  EXPECT_EQ(getLastError(), err_procread);
  EXPECT_STREQ(getLastErrorMsg(), "one");
  setLastError(err_perm);
  EXPECT_EQ(err_perm, err_prem);
  EXPECT_STRNE(getLastErrorMsg(), "");
  setLastError(err_nogroup, std::string(1000, 'x').c_str());
  EXPECT_EQ(std::string(getLastErrorMsg()).size(), 255U);
  clearLastError();
  EXPECT_EQ(getLastError(), 0U);
  EXPECT_STREQ(getLastErrorMsg(), "");
}

TEST(StackwalkerErrors, DebugChannel) {
  EXPECT_EQ(getDebugChannel(), stderr);
  char text[4096] = {};
  FILE* memory = ::fmemopen(text, sizeof text, "w");
  setDebugChannel(memory);
  setDebug(true);
  EXPECT_EQ(getDebugChannel(), memory);
  const Owned walker(Walker::newWalker(new ProcSelf, new AddrRangeGroup(nullptr)));
  std::vector<Frame> stack;
  EXPECT_TRUE(walker->walkStack(stack)) << getLastErrorMsg();
  setDebug(false);
  setDebugChannel(nullptr);
  ::fclose(memory);
  EXPECT_NE(std::string(text).find("DebugStepper"), std::string::npos);
}

}  // namespace
}  // namespace Dyninst::Stackwalker
