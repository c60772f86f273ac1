#include "output/report/crash_text.h"

#include <gtest/gtest.h>
#include <memory>

namespace mixstack::report {
namespace {

std::string written(const std::function<void(Painter&)>& write) {
  std::string text;
  Writer writer([&text](std::string_view piece) { text += piece; });
  Painter painter(writer, false);
  write(painter);
  writer.flush();
  return text;
}

ProcessDump crashed(const CrashFacts& crash) {
  ProcessDump dump;
  dump.target.arch = Arch::x86_64;
  dump.target.crash = crash;
  return dump;
}

TEST(CrashText, ARunningProcessHasNone) {
  EXPECT_EQ(written([](Painter& out) { write_crash(out, {}); }), "");
  EXPECT_EQ(written([](Painter& out) { write_crash_registers(out, {}, {}); }), "");
}

TEST(CrashText, TellsSignalAddressAndSender) {
  const auto line = [](const CrashFacts& facts) {
    return written([&](Painter& out) { write_crash(out, crashed(facts)); });
  };
  EXPECT_EQ(line({7, 11, 1, Address{0x18}, {}}), "  Thread 7 got SIGSEGV at 0x18: nothing is mapped there\n");
  EXPECT_EQ(line({7, 6, -6, {}, 7}),
            "  Thread 7 got SIGABRT from process 7: sent to the thread: raise, abort or tgkill\n");
  EXPECT_EQ(line({0, 9, 99, {}, {}}), "  The process got SIGKILL\n");
}

TEST(CrashText, RegistersAreThoseOfTheThreadThatCrashed) {
  const ProcessDump dump = crashed({7, 11, 1, Address{0}, {}});
  ThreadDump thread;
  thread.tid = 7;
  thread.captured = true;
  thread.registers = Registers(Arch::x86_64);
  thread.registers.set(x86_64_reg::rax, 0x10);
  thread.registers.set_pc(0x401000);
  EXPECT_EQ(written([&](Painter& out) { write_crash_registers(out, dump, thread); }),
            "  rax 0000000000000010  rip 0000000000401000\n");
  thread.tid = 8;
  EXPECT_EQ(written([&](Painter& out) { write_crash_registers(out, dump, thread); }), "");
}

TEST(CrashText, RegistersOfTheFaultAreThoseOfItsSignalFrame) {
  const ProcessDump dump = crashed({7, 11, 1, Address{0}, {}});
  ThreadDump thread;
  thread.tid = 7;
  thread.captured = true;
  thread.registers = Registers(Arch::x86_64);
  thread.registers.set_pc(0x401000);  // the handler's
  Registers at_fault(Arch::x86_64);
  at_fault.set_pc(0x402000);
  thread.fault_registers = std::make_shared<const Registers>(at_fault);
  EXPECT_EQ(written([&](Painter& out) { write_crash_registers(out, dump, thread); }),
            "  at the fault, by its signal frame (the thread itself waits in the handler):\n  rip 0000000000402000\n");
}

}  // namespace
}  // namespace mixstack::report
