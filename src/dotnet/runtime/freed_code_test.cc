#include "dotnet/runtime/freed_code.h"

#include <gtest/gtest.h>

#include "support/sparse_memory.h"

namespace mixstack::dotnet {
namespace {

constexpr Address kStack = 0x7000, kFinalizerStack = 0x9000, kPlain = 0x1000, kDynamic = 0x2000;
constexpr ThreadId kThread = 5, kFinalizer = 6;

// A thread whose stack is Dynamic <- Plain, and a waiting finalizer thread, with 64 bytes of stack each.
struct Process {
  test::SparseMemory now;
  std::vector<std::byte> stack = std::vector<std::byte>(64, std::byte{1});
  std::vector<std::byte> finalizer_stack = std::vector<std::byte>(64, std::byte{2});
  Capture capture;
  ProcessDump dump;
  bool is_same = true;
  FreeableCode code{[](const Frame& f) { return f.pc.raw() == kDynamic; }, [this](const Frame&) { return is_same; },
                    kFinalizer};

  Process() {
    now.map(kStack, 64);
    now.map(kFinalizerStack, 64);
    now.put_bytes(kStack, stack);
    now.put_bytes(kFinalizerStack, finalizer_stack);
    capture.threads = {thread(kThread, kStack, stack), thread(kFinalizer, kFinalizerStack, finalizer_stack)};
    dump.symbols.resize(3);
    ThreadDump t;
    t.tid = kThread;
    t.trace.frames = {Frame{.pc = CodeAddress::exact(0x3000), .sp = kStack + 8, .cfa = kStack + 16},
                      frame(kDynamic, kStack + 16, kStack + 32), frame(kPlain, kStack + 32, kStack + 48),
                      frame(kPlain, kStack + 48, 0)};
    t.symbols = {0, 1, 2, 2};
    dump.threads = {t};
  }
  static ThreadCapture thread(ThreadId tid, Address base, std::span<const std::byte> bytes) {
    ThreadCapture t;
    t.tid = t.ns_tid = tid;
    t.captured = true;
    t.syscall = 202;
    t.stack = {base, bytes};
    return t;
  }
  static Frame frame(Address pc, Address sp, Address cfa) {
    return Frame{.pc = CodeAddress::after_call(pc), .sp = sp, .cfa = cfa, .kind = FrameKind::managed};
  }
  void let_finalizer_run() { now.put_u64(kFinalizerStack + 32, 7); }
  /// Note of the dynamic method's frame.
  std::string mark() {
    mark_freed_code(dump, find_freed_code(dump, capture, code, now));
    const ThreadDump& t = dump.threads[0];
    EXPECT_EQ(t.trace.frames[0].trust, Trust::certain);
    EXPECT_EQ(t.trace.frames[3].trust, Trust::certain);
    EXPECT_EQ(dump.symbols[1].note, "") << "others may have the same symbol";
    const std::string note = dump.symbols[t.symbols[1]].note;
    // The step out of it is as doubtful as its name.
    EXPECT_EQ(t.trace.frames[1].trust, note.empty() ? Trust::certain : Trust::inferred);
    EXPECT_EQ(t.trace.frames[2].trust, t.trace.frames[1].trust);
    return note;
  }
};

TEST(FreedCode, NothingIsDoubtedWhileTheFinalizerThreadWaits) {
  Process p;
  p.now.put_u64(kStack + 16, 7);
  EXPECT_EQ(p.mark(), "");
}

TEST(FreedCode, NorOnAStackThatIsAsItWas) {
  Process p;
  p.let_finalizer_run();
  p.now.put_u64(kStack + 40, 7);  // beyond the frame
  EXPECT_EQ(p.mark(), "");
}

TEST(FreedCode, AFrameThatWasLeftMayHaveBeenFreed) {
  Process p;
  p.let_finalizer_run();
  p.now.put_u64(kStack + 8, 7);
  EXPECT_EQ(p.mark(), "may have been freed while named");
}

TEST(FreedCode, CodeThatIsNoMoreWasFreed) {
  Process p;
  p.let_finalizer_run();
  p.now.put_u64(kStack + 8, 7);
  p.is_same = false;
  EXPECT_EQ(p.mark(), "freed while named");
}

TEST(FreedCode, AFinalizerThreadThatWasNotCopiedOrRanMayHaveFreedAnything) {
  for (int i = 0; i < 3; i++) {
    Process p;
    p.now.put_u64(kStack + 8, 7);
    if (i == 0) p.code.finalizer_os_id = 0;
    if (i == 1) p.capture.threads.pop_back();
    if (i == 2) p.capture.threads[1].syscall = -1;
    EXPECT_EQ(p.mark(), "may have been freed while named") << i;
  }
}

}  // namespace
}  // namespace mixstack::dotnet
