#include <dlfcn.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <cstring>

#include "frontends/stackwalker/test_stacks.h"
#include "stackwalker/frame.h"
#include "stackwalker/framestepper.h"
#include "stackwalker/procstate.h"
#include "stackwalker/swk_errors.h"
#include "support/host_cpu.h"

namespace Dyninst::Stackwalker {
namespace {

using mixstack::process::test::eventually;
using mixstack::process::test::is_untraced;
using mixstack::stackwalker::test::has_known_stack;
using mixstack::stackwalker::test::outer_function;
using mixstack::stackwalker::test::standing_child;
using mixstack::stackwalker::test::TestProcess;
using Owned = std::unique_ptr<Walker>;

constexpr Architecture kHost = mixstack::test::kHostCpu == mixstack::Arch::aarch64 ? Arch_aarch64 : Arch_x86_64;

/// A child that counts.
std::unique_ptr<TestProcess> counting_child() {
  return std::make_unique<TestProcess>([](auto& shared) {
    shared.ready = 1;
    for (;;) shared.counter++;
  });
}

bool runs(const TestProcess& child) {
  const long before = child.shared().counter;
  return eventually([&] { return child.shared().counter > before; }, std::chrono::seconds(5));
}

bool stands(const TestProcess& child) {
  const long before = child.shared().counter;
  mixstack::process::test::nap(std::chrono::milliseconds(20));
  return child.shared().counter == before;
}

TEST(StackwalkerProcDebug, PausesResumesAndDetaches) {
  const auto child = counting_child();
  const std::unique_ptr<ProcDebug> debugger(ProcDebug::newProcDebug(child->pid()));
  ASSERT_NE(debugger, nullptr) << getLastErrorMsg();
  EXPECT_TRUE(runs(*child)) << "attaching does not stop it";
  ASSERT_TRUE(debugger->pause()) << getLastErrorMsg();
  EXPECT_TRUE(stands(*child));
  ASSERT_TRUE(debugger->resume());
  EXPECT_TRUE(runs(*child));
  ASSERT_TRUE(debugger->pause(child->pid()));
  EXPECT_TRUE(stands(*child));
  ASSERT_TRUE(debugger->resume(child->pid()));
  EXPECT_TRUE(runs(*child));
  EXPECT_FALSE(debugger->pause(0x7ffffff0));
  EXPECT_EQ(getLastError(), err_nothrd);
  EXPECT_FALSE(debugger->isTerminated());
  EXPECT_EQ(debugger->getProcessId(), child->pid());
  EXPECT_EQ(debugger->getProc()->getPid(), child->pid());
  EXPECT_EQ(ProcessState::getProcessStateByPid(child->pid()), debugger.get());
  EXPECT_TRUE(debugger->detach());
  EXPECT_TRUE(eventually([&] { return is_untraced(child->pid()); }));
  EXPECT_TRUE(runs(*child));
  // Everything after it fails in order.
  EXPECT_FALSE(debugger->detach());
  EXPECT_EQ(getLastError(), err_proccontrol);
  EXPECT_FALSE(debugger->pause());
  EXPECT_EQ(getLastError(), err_proccontrol);
  EXPECT_FALSE(debugger->isTerminated());
}

TEST(StackwalkerProcDebug, DestroyingDetaches) {
  const auto child = counting_child();
  {
    const Owned walker(Walker::newWalker(child->pid()));
    ASSERT_NE(walker, nullptr);
    ASSERT_TRUE(dynamic_cast<ProcDebug*>(walker->getProcessState())->pause());
    EXPECT_TRUE(stands(*child));
  }
  EXPECT_TRUE(eventually([&] { return is_untraced(child->pid()); }));
  EXPECT_TRUE(runs(*child));
  EXPECT_EQ(ProcessState::getProcessStateByPid(child->pid()), nullptr);
  EXPECT_EQ(getLastError(), err_noproc);
}

TEST(StackwalkerProcDebug, SetsOfProcesses) {
  const auto one = counting_child(), two = counting_child();
  std::vector<ProcDebug*> set;
  ASSERT_TRUE(ProcDebug::newProcDebugSet({one->pid(), two->pid()}, set)) << getLastErrorMsg();
  ASSERT_EQ(set.size(), 2U);
  delete set[0];
  delete set[1];
  EXPECT_FALSE(ProcDebug::newProcDebugSet({one->pid(), 0x3ffffff0}, set));
  EXPECT_EQ(set.size(), 2U);
  EXPECT_TRUE(eventually([&] { return is_untraced(one->pid()); }));
}

TEST(StackwalkerProcDebug, ReadsRegistersAndMemory) {
  const auto child = standing_child();
  const std::unique_ptr<ProcDebug> debugger(ProcDebug::newProcDebug(child->pid()));
  ASSERT_NE(debugger, nullptr);
  MachRegisterVal sp = 0, pc = 0;
  const Architecture host = debugger->getArchitecture();
  EXPECT_EQ(host, kHost);
  ASSERT_TRUE(debugger->getRegValue(MachRegister::getStackPointer(host), child->pid(), sp)) << getLastErrorMsg();
  ASSERT_TRUE(debugger->getRegValue(MachRegister::getPC(host), NULL_THR_ID, pc));
  EXPECT_NE(pc, 0U);
  char bytes[16];
  EXPECT_TRUE(debugger->readMem(bytes, sp, sizeof bytes));
  EXPECT_FALSE(debugger->readMem(bytes, 8, sizeof bytes));
  EXPECT_EQ(getLastError(), err_procread);
  EXPECT_FALSE(debugger->readMem(nullptr, sp, 8));
  EXPECT_EQ(getLastError(), err_badparam);
  const MachRegister of_another_cpu = host == Arch_aarch64 ? x86_64::rax : aarch64::x0;
  EXPECT_FALSE(debugger->getRegValue(of_another_cpu, child->pid(), sp));
  EXPECT_EQ(getLastError(), err_badparam);
  EXPECT_EQ(debugger->getAddressWidth(), 8U);
  EXPECT_FALSE(debugger->isFirstParty());
  std::vector<THR_ID> threads;
  ASSERT_TRUE(debugger->getThreadIds(threads));
  EXPECT_EQ(threads, std::vector<THR_ID>{child->pid()});
  THR_ID initial = 0;
  ASSERT_TRUE(debugger->getDefaultThread(initial));
  EXPECT_EQ(initial, child->pid());
  EXPECT_TRUE(debugger->preStackwalk(child->pid()));
  EXPECT_TRUE(debugger->postStackwalk(child->pid()));
  EXPECT_FALSE(debugger->postStackwalk(child->pid()));
}

/// The descriptor is readable exactly while events wait, and the end of a process is one.
TEST(StackwalkerProcDebug, NotifiesOfEvents) {
  const auto child = standing_child();
  const Owned walker(Walker::newWalker(child->pid()));
  ASSERT_NE(walker, nullptr);
  auto* debugger = dynamic_cast<ProcDebug*>(walker->getProcessState());
  const int fd = ProcDebug::getNotificationFD();
  ASSERT_GE(fd, 0);
  while (ProcDebug::handleDebugEvent()) {
  }
  pollfd ready{fd, POLLIN, 0};
  EXPECT_EQ(::poll(&ready, 1, 0), 0);
  ::kill(child->pid(), SIGKILL);
  ASSERT_EQ(::poll(&ready, 1, 10000), 1);
  // "StackwalkerAPI will write a single byte to this file descriptor"; who reads it loses no event.
  char byte = 0;
  EXPECT_EQ(::read(fd, &byte, 1), 1);
  EXPECT_TRUE(ProcDebug::handleDebugEvent());
  EXPECT_TRUE(eventually([&] { return debugger->isTerminated(); }));
  while (ProcDebug::handleDebugEvent()) {
  }
  EXPECT_EQ(::poll(&ready, 1, 0), 0);
  // A dead process.
  std::vector<Frame> stack;
  EXPECT_FALSE(walker->walkStack(stack, child->pid()));
  EXPECT_EQ(getLastError(), err_procexit) << getLastErrorMsg();
  EXPECT_FALSE(walker->getAvailableThreads(*std::make_unique<std::vector<THR_ID>>()));
  EXPECT_EQ(getLastError(), err_procexit);
  EXPECT_FALSE(debugger->pause());
  EXPECT_FALSE(debugger->detach());
}

/// Waits for its order and loads a library.
void load_library(mixstack::process::test::Shared& shared) {
  shared.ready = 1;
  while (shared.go == 0) mixstack::process::test::nap(std::chrono::milliseconds(1));
  if (void* library = ::dlopen("libthread_db.so.1", RTLD_LAZY))
    shared.values[0] = reinterpret_cast<long>(::dlsym(library, "td_init"));
  // Nothing tells a debugger that plants no trap; it looks when a thread stops.
  ::signal(SIGUSR1, [](int) {});
  ::raise(SIGUSR1);
  shared.ready = 2;
  for (;;) ::pause();
}

class ListeningStepper : public FrameStepper {
 public:
  using FrameStepper::FrameStepper;
  gcframe_ret_t getCallerFrame(const Frame&, Frame&) override { return gcf_not_me; }
  unsigned getPriority() const override { return 0x3000; }
  const char* getName() const override { return "ListeningStepper"; }
  void newLibraryNotification(LibAddrPair* library, lib_change_t change) override {
    if (change == library_load) loaded.push_back(*library);
  }
  std::vector<LibAddrPair> loaded;
};

/// The steppers learn of a library when its event is handled, before any walk, and not again at the next one.
TEST(StackwalkerProcDebug, TellsOfLibrariesWithTheirEvent) {
  const TestProcess child(load_library);
  const Owned walker(Walker::newWalker(child.pid()));
  ASSERT_NE(walker, nullptr) << getLastErrorMsg();
  ListeningStepper listener(walker.get());
  ASSERT_TRUE(walker->addStepper(&listener));
  while (ProcDebug::handleDebugEvent()) {
  }
  EXPECT_TRUE(listener.loaded.empty()) << "what was there before is no news";
  child.shared().go = 1;
  EXPECT_TRUE(eventually([&] {
    (void)ProcDebug::handleDebugEvent();
    return !listener.loaded.empty();
  }));
  ASSERT_EQ(listener.loaded.size(), 1U);
  EXPECT_NE(listener.loaded[0].first.find("libthread_db"), std::string::npos);
  LibAddrPair at;
  ASSERT_TRUE(eventually([&] { return child.shared().ready == 2; }));
  ASSERT_TRUE(walker->getProcessState()->getLibraryTracker()->getLibraryAtAddr(
      static_cast<Address>(child.shared().values[0]), at));
  EXPECT_EQ(at.second, listener.loaded[0].second);
  std::vector<Frame> stack;
  EXPECT_TRUE(walker->walkStack(stack)) << getLastErrorMsg();
  EXPECT_EQ(listener.loaded.size(), 1U);
}

TEST(StackwalkerLibraries, ALibraryThatCameAfterTheLastWalk) {
  const TestProcess child(load_library);
  const Owned walker(Walker::newWalker(child.pid()));
  ASSERT_NE(walker, nullptr) << getLastErrorMsg();
  std::vector<Frame> stack;
  ASSERT_TRUE(walker->walkStack(stack));
  child.shared().go = 1;
  ASSERT_TRUE(eventually([&] { return child.shared().ready == 2; }));
  ASSERT_NE(child.shared().values[0], 0);
  LibAddrPair at;
  ASSERT_TRUE(walker->getProcessState()->getLibraryTracker()->getLibraryAtAddr(
      static_cast<Address>(child.shared().values[0]), at))
      << getLastErrorMsg();
  EXPECT_NE(at.first.find("libthread_db"), std::string::npos);
}

/// Another program in the same process: the Walker follows, old frames only lose their names.
TEST(StackwalkerProcDebug, FollowsAnExec) {
  const TestProcess child([](auto& shared) {
    shared.ready = 1;
    while (shared.go == 0) mixstack::process::test::nap(std::chrono::milliseconds(1));
    ::execl("/bin/sleep", "sleep", "100", nullptr);
  });
  const Owned walker(Walker::newWalker(child.pid()));
  ASSERT_NE(walker, nullptr) << getLastErrorMsg();
  std::vector<Frame> before, after;
  ASSERT_TRUE(walker->walkStack(before)) << getLastErrorMsg();
  void* object = nullptr;
  ASSERT_TRUE(before.back().getObject(object));
  child.shared().go = 1;
  const auto is_another_program = [&] {
    LibAddrPair program;
    return walker->walkStack(after) && walker->getProcessState()->getLibraryTracker()->getAOut(program) &&
           program.first.find("sleep") != std::string::npos;
  };
  EXPECT_TRUE(eventually(is_another_program)) << getLastErrorMsg();
  std::string name;
  (void)before[0].getName(name);
  Frame caller;
  (void)walker->walkSingleFrame(before[0], caller);
  EXPECT_TRUE(walker->walkStack(after)) << getLastErrorMsg();
}

TEST(StackwalkerProcSelf, ReadsItself) {
  const Owned walker(Walker::newWalker());
  ProcessState* self = walker->getProcessState();
  MachRegisterVal sp = 0, pc = 0, value = 0;
  ASSERT_TRUE(self->getRegValue(MachRegister::getStackPointer(kHost), NULL_THR_ID, sp)) << getLastErrorMsg();
  ASSERT_TRUE(self->getRegValue(MachRegister::getPC(kHost), NULL_THR_ID, pc));
  const auto here = reinterpret_cast<Address>(__builtin_frame_address(0));
  EXPECT_LE(sp, here);
  EXPECT_GT(sp + 65536, here);
  const MachRegister volatile_one = kHost == Arch_aarch64 ? aarch64::x0 : x86_64::rax;
  EXPECT_FALSE(self->getRegValue(volatile_one, NULL_THR_ID, value));
  EXPECT_EQ(getLastError(), err_unsupported);
  const std::uint64_t source = 0x1122334455667788;
  EXPECT_TRUE(self->readMem(&value, reinterpret_cast<Address>(&source), sizeof value));
  EXPECT_EQ(value, source);
  EXPECT_FALSE(self->readMem(&value, 8, sizeof value)) << "and it does not fault";
  EXPECT_EQ(getLastError(), err_procread);
  EXPECT_EQ(self->getAddressWidth(), sizeof(void*));
  EXPECT_EQ(self->getProcessId(), ::getpid());
  EXPECT_NE(self->getExecutablePath().find("mixstack_frontends_stackwalker_test"), std::string::npos);
  THR_ID tid = 0;
  EXPECT_TRUE(self->getDefaultThread(tid));
  EXPECT_EQ(tid, mixstack::process::test::gettid_now());
  ProcSelf("/proc/self/exe").initialize();
}

TEST(StackwalkerProcSelf, ByItsClass) {
  ProcSelf self;
  EXPECT_TRUE(self.isFirstParty());
  EXPECT_EQ(self.getAddressWidth(), sizeof(void*));
  EXPECT_EQ(getArchAddressWidth(self.getArchitecture()), sizeof(void*));
  THR_ID tid = 0;
  ASSERT_TRUE(self.getDefaultThread(tid));
  EXPECT_EQ(tid, mixstack::process::test::gettid_now());
  std::vector<THR_ID> threads;
  ASSERT_TRUE(self.getThreadIds(threads));
  EXPECT_EQ(threads, std::vector<THR_ID>{tid}) << "the calling one alone";
  MachRegisterVal sp = 0, copy = 0;
  ASSERT_TRUE(self.getRegValue(MachRegister::getStackPointer(self.getArchitecture()), tid, sp)) << getLastErrorMsg();
  EXPECT_LT(sp - reinterpret_cast<Address>(&copy) + 65536, 131072U);
  EXPECT_TRUE(self.readMem(&copy, reinterpret_cast<Address>(&sp), sizeof copy));
  EXPECT_EQ(copy, sp);
}

/// As programs have it of a Walker: the same questions to our own process and to another.
TEST(StackwalkerProcessState, ThroughTheInterface) {
  const auto child = standing_child();
  const Owned own(Walker::newWalker()), other(Walker::newWalker(child->pid()));
  ASSERT_TRUE(own != nullptr && other != nullptr);
  for (const auto& [walker, thread] :
       {std::pair{own.get(), mixstack::process::test::gettid_now()}, {other.get(), child->pid()}}) {
    ProcessState& state = *walker->getProcessState();
    EXPECT_EQ(state.getAddressWidth(), getArchAddressWidth(state.getArchitecture()));
    THR_ID tid = 0;
    ASSERT_TRUE(state.getDefaultThread(tid)) << getLastErrorMsg();
    EXPECT_EQ(tid, thread);
    std::vector<THR_ID> threads;
    ASSERT_TRUE(state.getThreadIds(threads));
    EXPECT_EQ(threads, std::vector<THR_ID>{thread});
    EXPECT_TRUE(state.preStackwalk(tid));
    MachRegisterVal sp = 0, word = 0;
    EXPECT_TRUE(state.getRegValue(MachRegister::getStackPointer(state.getArchitecture()), tid, sp));
    EXPECT_TRUE(state.readMem(&word, sp, sizeof word)) << getLastErrorMsg();
    EXPECT_TRUE(state.postStackwalk(tid));
  }
}

TEST(StackwalkerLibraries, OfAProcess) {
  const auto child = standing_child();
  for (const bool own : {true, false}) {
    const Owned walker(own ? Walker::newWalker() : Walker::newWalker(child->pid()));
    LibraryState* libraries = walker->getProcessState()->getLibraryTracker();
    ASSERT_NE(libraries, nullptr);
    std::vector<LibAddrPair> all, cached;
    ASSERT_TRUE(libraries->getLibraries(all)) << getLastErrorMsg();
    ASSERT_TRUE(libraries->getLibraries(cached, false));
    EXPECT_EQ(all, cached);
    LibAddrPair program, c, threads, at;
    ASSERT_TRUE(libraries->getAOut(program)) << getLastErrorMsg();
    EXPECT_NE(program.first.find("mixstack_frontends_stackwalker_test"), std::string::npos);
    ASSERT_TRUE(libraries->getLibc(c)) << getLastErrorMsg();
    EXPECT_NE(c.first.find("libc"), std::string::npos);
    EXPECT_TRUE(libraries->getLibthread(threads));
    const auto code = reinterpret_cast<Address>(&::getpid);
    ASSERT_TRUE(libraries->getLibraryAtAddr(code, at));
    EXPECT_EQ(at, c) << "a fork has its libraries where its parent has them";
    EXPECT_FALSE(libraries->getLibraryAtAddr(8, at));
    EXPECT_EQ(getLastError(), err_nofile);
    // r_brk is code of the dynamic linker.
    const Address trap = libraries->getLibTrapAddress();
    ASSERT_TRUE(libraries->getLibraryAtAddr(trap, at)) << getLastErrorMsg() << trap;
    EXPECT_NE(at.first.find("ld"), std::string::npos) << at.first;
    libraries->notifyOfUpdate();
  }
}

/// Another way to the same process: everything by the documented virtual functions of a user's class.
class BorrowedState : public ProcessState {
 public:
  explicit BorrowedState(ProcDebug* behind, PID pid = 0) : ProcessState(pid), behind_(behind) {}
  bool getRegValue(MachRegister reg, THR_ID thread, MachRegisterVal& val) override {
    if (throws) throw std::runtime_error("state");
    // As the original answers: yes to everything.
    const bool is_needed = reg.isPC() || reg.isStackPointer() || reg.isFramePointer() || all_registers;
    return !is_needed || behind_->getRegValue(reg, thread, val);
  }
  bool readMem(void* dest, Address source, std::size_t size) override {
    if (throws) throw std::runtime_error("state");
    return behind_->readMem(dest, source, size);
  }
  bool getThreadIds(std::vector<THR_ID>& threads) override { return behind_->getThreadIds(threads); }
  bool getDefaultThread(THR_ID& tid) override { return behind_->getDefaultThread(tid); }
  unsigned getAddressWidth() override { return 8; }
  Architecture getArchitecture() override { return architecture; }
  bool preStackwalk(THR_ID tid) override {
    stops++;
    return behind_->preStackwalk(tid);
  }
  bool postStackwalk(THR_ID tid) override {
    stops--;
    walks++;
    return behind_->postStackwalk(tid);
  }
  LibraryState* getLibraryTracker() override { return tracker ? tracker.get() : ProcessState::getLibraryTracker(); }

  Architecture architecture = kHost;
  bool throws = false, all_registers = true;
  int stops = 0, walks = 0;
  std::unique_ptr<LibraryState> tracker;

 private:
  std::unique_ptr<ProcDebug> behind_;
};

TEST(StackwalkerProcessState, AUsersOwnThatNamesItsProcess) {
  const auto child = standing_child();
  auto* state = new BorrowedState(ProcDebug::newProcDebug(child->pid()), child->pid());
  const Owned walker(Walker::newWalker(state));
  ASSERT_NE(walker, nullptr) << getLastErrorMsg();
  EXPECT_FALSE(state->isFirstParty());
  std::vector<Frame> stack;
  EXPECT_TRUE(walker->walkStack(stack)) << getLastErrorMsg();
  EXPECT_TRUE(has_known_stack(stack));
  EXPECT_EQ(state->stops, 0);
  EXPECT_EQ(state->walks, 1);
  state->all_registers = false;
  EXPECT_TRUE(walker->walkStack(stack)) << "three registers are enough for this stack: " << getLastErrorMsg();
  state->throws = true;
  EXPECT_FALSE(walker->walkStack(stack));
  EXPECT_NE(getLastError(), 0U);
  EXPECT_EQ(state->stops, 0);
}

/// Calls its threads by what pthread_self() might say.
class LongNamesState : public BorrowedState {
 public:
  static constexpr THR_ID kMore = 0x7f0000000000;
  using BorrowedState::BorrowedState;
  bool getRegValue(MachRegister reg, THR_ID thread, MachRegisterVal& val) override {
    return thread >= kMore && BorrowedState::getRegValue(reg, thread - kMore, val);
  }
  bool getThreadIds(std::vector<THR_ID>& threads) override {
    const bool answer = BorrowedState::getThreadIds(threads);
    for (THR_ID& thread : threads) thread += kMore;
    return answer;
  }
  bool getDefaultThread(THR_ID& tid) override {
    const bool answer = BorrowedState::getDefaultThread(tid);
    tid += kMore;
    return answer;
  }
  bool preStackwalk(THR_ID tid) override { return BorrowedState::preStackwalk(tid - kMore); }
  bool postStackwalk(THR_ID tid) override { return BorrowedState::postStackwalk(tid - kMore); }
};

TEST(StackwalkerProcessState, ThreadsWhoseNamesAreLong) {
  const auto child = standing_child();
  auto* state = new LongNamesState(ProcDebug::newProcDebug(child->pid()), child->pid());
  const Owned walker(Walker::newWalker(state));
  ASSERT_NE(walker, nullptr) << getLastErrorMsg();
  std::vector<Frame> stack;
  ASSERT_TRUE(walker->walkStack(stack)) << getLastErrorMsg();
  EXPECT_TRUE(has_known_stack(stack));
  EXPECT_EQ(stack.front().getThread(), LongNamesState::kMore + child->pid());
  std::vector<THR_ID> threads;
  ASSERT_TRUE(walker->getAvailableThreads(threads));
  EXPECT_EQ(threads.front(), LongNamesState::kMore + child->pid());
  std::vector<Frame> again;
  ASSERT_TRUE(walker->walkStack(again, threads.front())) << getLastErrorMsg();
  EXPECT_EQ(again.size(), stack.size());
}

/// Libraries told by hand, from another process' list.
class ListedLibraries : public LibraryState {
 public:
  ListedLibraries(ProcessState* parent, std::vector<LibAddrPair> list) : LibraryState(parent), list_(std::move(list)) {}
  bool getLibraryAtAddr(Address, LibAddrPair& lib) override {
    lib = list_.front();
    return true;
  }
  bool getLibraries(std::vector<LibAddrPair>& libs, bool) override {
    libs = list_;
    return true;
  }
  void notifyOfUpdate() override {}
  Address getLibTrapAddress() override { return 0; }
  bool getAOut(LibAddrPair& ao) override { return getLibraryAtAddr(0, ao); }

 private:
  std::vector<LibAddrPair> list_;
};

TEST(StackwalkerProcessState, AUsersOwnWithoutAProcessNumber) {
  const auto child = standing_child();
  std::vector<LibAddrPair> list;
  {
    const Owned known(Walker::newWalker(child->pid()));
    ASSERT_NE(known, nullptr);
    ASSERT_TRUE(known->getProcessState()->getLibraryTracker()->getLibraries(list));
  }
  auto* state = new BorrowedState(ProcDebug::newProcDebug(child->pid()));
  state->tracker = std::make_unique<ListedLibraries>(state, list);
  const Owned walker(Walker::newWalker(state));
  ASSERT_NE(walker, nullptr) << getLastErrorMsg();
  std::vector<Frame> stack;
  ASSERT_TRUE(walker->walkStack(stack)) << getLastErrorMsg();
  EXPECT_TRUE(has_known_stack(stack));
  std::string library;
  Offset offset = 0;
  void* symtab = nullptr;
  EXPECT_TRUE(stack[0].getLibOffset(library, offset, symtab));
  EXPECT_EQ(library, list.front().first) << "the user's answer";
}

TEST(StackwalkerProcessState, OfACpuNobodyKnows) {
  const auto child = standing_child();
  BorrowedState state(ProcDebug::newProcDebug(child->pid()));
  state.architecture = Arch_ppc64;
  EXPECT_EQ(Walker::newWalker(&state), nullptr);
  EXPECT_EQ(getLastError(), err_unsupported);
}

}  // namespace
}  // namespace Dyninst::Stackwalker
