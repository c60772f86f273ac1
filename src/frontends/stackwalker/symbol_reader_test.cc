#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "frontends/stackwalker/test_stacks.h"
#include "stackwalker/frame.h"
#include "stackwalker/procstate.h"
#include "stackwalker/swk_errors.h"
#include "stackwalker/symlookup.h"
#include "support/elf_builder.h"

#if defined(__x86_64__)
asm(R"(
  .text
  .globl ends_in_a_call, begins_after_it
  .type ends_in_a_call, @function
ends_in_a_call:
  .cfi_startproc
  sub $8, %rsp
  .cfi_adjust_cfa_offset 8
  call *%rdi
  .cfi_endproc
  .size ends_in_a_call, . - ends_in_a_call
  .type begins_after_it, @function
begins_after_it:
  ret
  .size begins_after_it, . - begins_after_it
)");
extern "C" void ends_in_a_call(void (*)());
extern "C" void begins_after_it();
#endif

namespace Dyninst::Stackwalker {
namespace {

using Owned = std::unique_ptr<Walker>;

TEST(StackwalkerSymbolReader, ReadsFiles) {
  SymbolReaderFactory* factory = Walker::getSymbolReader();
  ASSERT_NE(factory, nullptr);
  SymReader* reader = factory->openSymbolReader("/proc/self/exe");
  ASSERT_NE(reader, nullptr) << getLastErrorMsg();
  const Symbol_t main_symbol = reader->getSymbolByName("main");
  ASSERT_TRUE(reader->isValidSymbol(main_symbol));
  EXPECT_EQ(reader->getSymbolName(main_symbol), "main");
  EXPECT_EQ(reader->getDemangledName(main_symbol), "main");
  EXPECT_GT(reader->getSymbolSize(main_symbol), 0U);
  const Symbol_t again = reader->getContainingSymbol(reader->getSymbolOffset(main_symbol) + 1);
  EXPECT_EQ(reader->getSymbolOffset(again), reader->getSymbolOffset(main_symbol));
  EXPECT_FALSE(reader->isValidSymbol(reader->getSymbolByName("no such symbol")));
  EXPECT_FALSE(reader->isValidSymbol(Symbol_t()));
  EXPECT_EQ(reader->getSymbolName(Symbol_t()), "");
  EXPECT_EQ(reader->getAddressWidth(), sizeof(void*));
  EXPECT_NE(reader->getArchitecture(), Arch_none);
  EXPECT_NE(reader->getInterpreterName().find("ld-linux"), std::string::npos);
  EXPECT_TRUE(factory->closeSymbolReader(reader));
  EXPECT_EQ(factory->openSymbolReader("/no/such/file"), nullptr);
  EXPECT_EQ(getLastError(), err_nofile);
  EXPECT_EQ(factory->openSymbolReader("/etc/passwd"), nullptr);
  EXPECT_EQ(getLastError(), err_symtab);
  EXPECT_EQ(factory->openSymbolReader(nullptr, 0), nullptr);
  std::ifstream file("/bin/sleep", std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  SymReader* from_memory = factory->openSymbolReader(bytes.str().data(), bytes.str().size());
  ASSERT_NE(from_memory, nullptr) << getLastErrorMsg();
  EXPECT_TRUE(factory->closeSymbolReader(from_memory));
}

// The name of its interpreter lies where the file has nothing: with sanitizers this was a fault.
TEST(StackwalkerSymbolReader, AnInterpreterOutsideTheFileHasNoName) {
  auto bytes = mixstack::test::build_elf();
  constexpr std::size_t kRelro = sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Phdr);
  mixstack::test::put(bytes, kRelro, std::uint32_t{PT_INTERP});
  mixstack::test::put(bytes, kRelro + offsetof(Elf64_Phdr, p_vaddr), std::uint64_t{0x999000});
  SymbolReaderFactory* factory = Walker::getSymbolReader();
  SymReader* reader = factory->openSymbolReader(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  ASSERT_NE(reader, nullptr) << getLastErrorMsg();
  EXPECT_EQ(reader->getInterpreterName(), "");
  EXPECT_TRUE(factory->closeSymbolReader(reader));
}

/// Calls everything the same, or throws.
class OneNameFactory : public SymbolReaderFactory {
 public:
  class Reader : public SymReader {
   public:
    Symbol_t getSymbolByName(std::string) override { return {}; }
    Symbol_t getContainingSymbol(Offset) override { return {}; }
    std::string getInterpreterName() override { return {}; }
    unsigned getAddressWidth() override { return 8; }
    Architecture getArchitecture() const override { return Arch_x86_64; }
    Offset getSymbolOffset(const Symbol_t&) override { return 0; }
    std::string getSymbolName(const Symbol_t&) override { return "users"; }
    std::string getDemangledName(const Symbol_t&) override { return "users name"; }
    unsigned long getSymbolSize(const Symbol_t&) override { return 1; }
    bool isValidSymbol(const Symbol_t&) override { return true; }
  };
  SymReader* openSymbolReader(std::string) override {
    if (throws) throw 1;
    opened++;
    return new Reader;
  }
  SymReader* openSymbolReader(const char*, unsigned long) override { return nullptr; }
  bool closeSymbolReader(SymReader* reader) override {
    opened--;
    delete reader;
    return true;
  }
  int opened = 0;
  bool throws = false;
};

TEST(StackwalkerSymbolReader, AUsersFactoryNamesFrames) {
  OneNameFactory factory;
  SymbolReaderFactory* before = Walker::getSymbolReader();
  const Owned older(Walker::newWalker());
  Walker::setSymbolReader(&factory);
  EXPECT_EQ(Walker::getSymbolReader(), &factory);
  const Owned walker(Walker::newWalker());
  std::vector<Frame> stack;
  ASSERT_TRUE(walker->walkStack(stack));
  std::string name;
  ASSERT_TRUE(stack[0].getName(name));
  EXPECT_EQ(name, "users name");
  EXPECT_EQ(factory.opened, 0) << "closed again";
  // It is used "when creating Walker objects": those that were there keep theirs, and new ones are not asked again.
  std::vector<Frame> old_stack;
  ASSERT_TRUE(older->walkStack(old_stack));
  ASSERT_TRUE(old_stack[0].getName(name));
  EXPECT_NE(name, "users name");
  Walker::setSymbolReader(nullptr);
  ASSERT_TRUE(stack[0].getName(name));
  EXPECT_EQ(name, "users name");
  factory.throws = true;
  ASSERT_TRUE(stack[0].getName(name));
  EXPECT_NE(name, "users name");
  Walker::setSymbolReader(nullptr);
  EXPECT_EQ(Walker::getSymbolReader(), before);
}

#if defined(__x86_64__)
/// A lookup is given the frame's RA, which behind a call that never returns is another function's. The default knows,
/// also when it is asked by a class derived from it.
TEST(StackwalkerSymbolLookup, IsGivenTheReturnAddress) {
  class Listening : public SwkSymtab {
   public:
    bool lookupAtAddr(Address addr, std::string& name, void*& value) override {
      asked = addr;
      return SwkSymtab::lookupAtAddr(addr, name, value);
    }
    Address asked = 0;
  };
  const mixstack::process::test::TestProcess child([](auto& shared) {
    static auto* page = &shared;
    ends_in_a_call([] {
      page->ready = 1;
      for (;;) ::pause();
    });
  });
  auto* lookup = new Listening;
  const Owned walker(Walker::newWalker(ProcDebug::newProcDebug(child.pid()), nullptr, lookup));
  ASSERT_NE(walker, nullptr) << getLastErrorMsg();
  std::vector<Frame> stack;
  EXPECT_TRUE(walker->walkStack(stack)) << getLastErrorMsg();
  std::string name;
  for (const Frame& frame : stack) {
    if (frame.getRA() != reinterpret_cast<Address>(&begins_after_it)) continue;
    ASSERT_TRUE(frame.getName(name));
    EXPECT_EQ(lookup->asked, frame.getRA());
  }
  EXPECT_EQ(name, "ends_in_a_call");
  void* value = nullptr;
  ASSERT_TRUE(lookup->lookupAtAddr(reinterpret_cast<Address>(&begins_after_it), name, value));
  EXPECT_EQ(name, "begins_after_it") << "an address alone is what it is";
}
#endif

TEST(StackwalkerSymbolLookup, BothDefaultsByName) {
  for (SymbolLookup* lookup : std::initializer_list<SymbolLookup*>{new SymDefaultLookup(""), new SwkSymtab("")}) {
    std::string name;
    void* value = nullptr;
    EXPECT_FALSE(lookup->lookupAtAddr(8, name, value)) << "it has no Walker yet";
    const Owned walker(Walker::newWalker(new ProcSelf, nullptr, lookup));
    ASSERT_NE(walker, nullptr);
    EXPECT_TRUE(lookup->lookupAtAddr(reinterpret_cast<Address>(&::getpid), name, value));
    EXPECT_NE(name.find("getpid"), std::string::npos);
    EXPECT_FALSE(lookup->lookupAtAddr(8, name, value));
    EXPECT_EQ(getLastError(), err_nosymbol);
  }
}

}  // namespace
}  // namespace Dyninst::Stackwalker
