// A dump of threads whose stacks are given as names.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "support/sample_dump.h"

namespace mixstack::testing {

/// Names of one kind and image: {"M", "Shop", "Shop.Cart.Add(int)"}; an empty name is a frame without a symbol.
struct NamedFrame {
  char kind = 'M';
  std::string module, name;
};

class ThreadBuilder {
 public:
  ThreadBuilder() {
    dump_.target.pid = 100;
    dump_.target.arch = Arch::x86_64;
    dump_.target.executable = "/srv/shop/shop";
    dump_.runtimes.push_back({"CoreCLR",
                              "10.0.12",
                              "/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.12/libcoreclr.so",
                              0,
                              true,
                              false,
                              {}});
    dump_.symbols.resize(1);
  }

  /// Frames innermost first.
  ThreadDump& add(ThreadId tid, std::string comm, std::initializer_list<NamedFrame> frames) {
    ThreadDump& thread = dump_.threads.emplace_back();
    thread.tid = thread.ns_tid = tid;
    thread.comm = std::move(comm);
    thread.kernel_state = 'S';
    thread.syscall = 202;
    thread.captured = true;
    for (const NamedFrame& frame : frames) {
      const Address pc = 0x7f0000001000 + (dump_.symbols.size() << 8);
      SymbolInfo symbol = named(frame.name, frame.module);
      const bool is_framework = frame.module.starts_with("System.") || frame.module.starts_with("libcoreclr");
      const std::string folder = is_framework ? "/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.12/"
                                 : frame.module.starts_with("libc.") ? "/usr/lib/"
                                                                     : "/srv/shop/";
      symbol.module_path = folder + frame.module + (frame.kind == 'M' ? ".dll" : "");
      thread.symbols.push_back(static_cast<std::uint32_t>(dump_.symbols.size()));
      dump_.symbols.push_back(symbol);
      thread.trace.frames.push_back(frame_at(pc, 0x7ff000000000 + thread.trace.frames.size() * 64,
                                             frame.kind == 'M' ? FrameKind::managed : FrameKind::native,
                                             frame.kind == 'M' ? kNoModule : 0));
    }
    return thread;
  }
  [[nodiscard]] SymbolInfo& last_symbol() { return dump_.symbols.back(); }
  [[nodiscard]] ProcessDump& dump() { return dump_; }

 private:
  ProcessDump dump_;
};

}  // namespace mixstack::testing
