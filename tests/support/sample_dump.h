// A small dump with one of everything a report must show.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mixstack/dump.h"

namespace mixstack::testing {

inline SymbolInfo named(std::string name, std::string module, std::uint64_t offset = 0) {
  SymbolInfo symbol;
  symbol.name = name;
  symbol.raw_name = std::move(name);
  symbol.module_path = "/usr/lib/" + module;
  symbol.module = std::move(module);
  symbol.offset = offset;
  return symbol;
}

inline Frame frame_at(Address pc, Address sp, FrameKind kind, ModuleIndex module = kNoModule,
                      std::uint64_t offset = 0) {
  Frame frame;
  frame.pc = CodeAddress::after_call(pc);
  frame.sp = sp;
  frame.cfa = sp + 0x40;
  frame.kind = kind;
  frame.found_by = kind == FrameKind::managed ? StepperId::managed : StepperId::eh_frame;
  frame.module = module;
  frame.module_offset = offset;
  return frame;
}

/// The symbols of the sample; the numbers in `ThreadDump::symbols` index them.
inline std::vector<SymbolInfo> sample_symbols() {
  std::vector<SymbolInfo> symbols(1);
  symbols.push_back(named("syscall", "libc.so.6", 0x1d));
  symbols.back().build_id = "0123456789abcdef";
  symbols.push_back(named("System.Threading.Monitor.Wait(System.Object, Int32)", "System.Private.CoreLib"));
  symbols.push_back(named("Shop.Cart.<Add>b__0(Int32) + lambda in Add", "Shop"));
  symbols.back().name = "Shop.Cart.Add(Int32)";
  symbols.back().note = "lambda";
  symbols.back().file = "/src/Shop/Cart.cs";
  symbols.back().line = 42;
  symbols.push_back(SymbolInfo{});
  symbols.back().module = "libcoreclr.so";
  symbols.back().module_path = "/usr/share/dotnet/libcoreclr.so";
  symbols.back().offset = 0x6fa1c5;
  symbols.push_back(named("InlinedCallFrame", ""));
  symbols.back().module_path.clear();
  return symbols;
}

inline ThreadDump sample_thread(ThreadId tid) {
  ThreadDump thread;
  thread.tid = thread.ns_tid = tid;
  thread.comm = ".NET TP Worker";
  thread.kernel_state = 'S';
  thread.syscall = 202;
  thread.captured = true;
  thread.managed = ManagedThreadFacts{7, "cart", false, 0x1020, {}, false, {}, false};
  auto& frames = thread.trace.frames;
  frames.push_back(frame_at(0x7f12ab10d19d, 0x7f0000001000, FrameKind::native, 0, 0x10d19d));
  frames.back().found_by = StepperId::initial;
  frames.back().pc = CodeAddress::exact(0x7f12ab10d19d);
  frames.back().is_interrupted = true;
  frames.push_back(frame_at(0, 0x7f0000001040, FrameKind::runtime_frame));
  frames.back().explicit_frame = 0x7f0000001060;
  frames.back().found_by = StepperId::explicit_frame;
  frames.push_back(frame_at(0x7f12a0001234, 0x7f0000001080, FrameKind::managed));
  frames.back().method = 0x7f1299990000;
  frames.back().method_start = 0x7f12a0001200;
  frames.back().trust = Trust::checkpoint;
  frames.push_back(frame_at(0x7f12a0005678, 0x7f00000010c0, FrameKind::managed));
  frames.push_back(frame_at(0x7f12a06fa1c5, 0x7f0000001100, FrameKind::native, 1, 0x6fa1c4));
  frames.back().cfa = 0;
  thread.symbols = {1, 5, 2, 3, 4};
  return thread;
}

/// An exception with two inner ones, thrown while another one was handled. Symbols are those of `sample_symbols`.
inline std::vector<ExceptionInFlight> sample_exceptions() {
  ManagedException outer;
  outer.object = 0x7f1000000018;
  outer.type = "System.InvalidOperationException";
  outer.message = "the cart is\nclosed";
  outer.has_message = true;
  outer.hresult = 0x80131509;
  outer.thrown_at = {{0x7f12a0005677, 0x7f00000010c0, 0x7f1299990000, 0x77, 3, true},
                     {0x7f12a0001233, 0x7f0000001080, 0x7f1299990008, 0x33, 2, false}};
  ManagedException inner;
  inner.object = 0x7f1000000118;
  inner.type = "System.AggregateException";
  inner.hresult = 0x80131500;
  inner.inner_of = 0;
  ManagedException torn;
  torn.object = 0x7f1000000218;
  torn.inner_of = 1;
  torn.error = {ErrorCode::mismatch, 0, 0x7f1000000218};
  ManagedException handled = inner;
  handled.inner_of = ManagedException::kOutermost;
  handled.thrown_at_is_cut = true;
  for (std::uint64_t i = 0; i < 30; i++)
    handled.thrown_at.push_back({0x7f12a0005677 + i, 0x7f0000002000 + 16 * i, 0x7f1299990000, 0x77 + i, 3, false});
  return {{{outer, inner, torn}, true}, {{handled}, false}};
}

inline ProcessDump sample_dump() {
  ProcessDump dump;
  dump.target.pid = 4711;
  dump.target.arch = Arch::x86_64;
  dump.target.executable = "/usr/bin/dotnet";
  dump.target.command_line = {"dotnet", "shop.dll", "--port=80"};
  dump.runtimes.push_back({"CoreCLR", "10.0.12", "/usr/share/dotnet/libcoreclr.so", 0x7f12a0000000, true, false, {}});
  dump.pause = std::chrono::microseconds(412);
  dump.symbols = sample_symbols();
  dump.threads = {sample_thread(4711), sample_thread(4712), sample_thread(4713)};
  ThreadDump& cut = dump.threads[1];
  cut.trace.frames.resize(1);
  cut.symbols.resize(1);
  cut.trace.stop = StopReason::no_unwind_info;
  cut.trace.stop_error = {ErrorCode::no_unwind_info, 0, 0x7f12ab10d19d};
  cut.managed->exceptions = sample_exceptions();
  cut.managed->abort = RuntimeAbort{RuntimeAbort::Kind::unhandled_exception, {}, false};
  ThreadDump& stuck = dump.threads.emplace_back();
  stuck.tid = stuck.ns_tid = 4714;
  stuck.comm = "stuck";
  stuck.kernel_state = 'D';
  stuck.syscall = 58;
  stuck.capture_error = {ErrorCode::thread_not_stopped, 0, 0};
  stuck.trace.stop = StopReason::not_captured;
  dump.threads_not_stopped = 1;
  dump.diagnoses.push_back(
      {{ErrorCode::mismatch, 0, 0}, "/usr/lib/libold.so", "the file was replaced since it was loaded"});
  return dump;
}

/// One thread whose stack ends in two methods that call each other 24,500 times.
inline ProcessDump endless_recursion() {
  ProcessDump dump = sample_dump();
  dump.threads.resize(1);
  ThreadDump& thread = dump.threads[0];
  for (std::uint32_t i = 0; i < 49'000; i++) {
    thread.trace.frames.push_back(frame_at(0x7f12a0001234 + i % 2, 0x7f0000002000 + 16 * i, FrameKind::managed));
    thread.symbols.push_back(2 + i % 2);
  }
  return dump;
}

}  // namespace mixstack::testing
