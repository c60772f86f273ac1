// The article's mixed walker: attaches to a process without invading it and prints what the article wanted, its full
// native and managed stack. Once, or sampled.
//   mixed_walker PID [--clrstack] [--every MS --times N]
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>

#include "mixstack/report.h"
#include "mixstack/session.h"

namespace {

using namespace mixstack;

struct Arguments {
  std::uint32_t pid = 0;
  bool clrstack = false;
  int every_ms = 0, times = 1;
};

bool parse(int argc, char** argv, Arguments& out) {
  for (int i = 1; i < argc; i++) {
    const std::string a = argv[i];
    if (a == "--clrstack")
      out.clrstack = true;
    else if (a == "--every" && i + 1 < argc)
      out.every_ms = std::atoi(argv[++i]);
    else if (a == "--times" && i + 1 < argc)
      out.times = std::atoi(argv[++i]);
    else
      out.pid = static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 10));
  }
  return out.pid != 0 && out.times > 0;
}

std::string call_site(const SymbolInfo& symbol, const Frame& frame) {
  if (symbol.name.empty()) return symbol.module.empty() ? "0x" + std::to_string(frame.pc.raw()) : symbol.module;
  if (frame.kind == FrameKind::managed || symbol.module.empty()) return symbol.name;
  char offset[32];
  std::snprintf(offset, sizeof offset, "+0x%08" PRIX64, symbol.offset);
  return symbol.module + "!" + symbol.name + offset;
}

/// As WinDbg's !clrstack prints it: managed frames and explicit Frames only.
void print_clrstack(Walker& walker, const ThreadCapture& thread) {
  const auto managed = walker.managed(thread);
  if (!managed) return;
  std::printf("OS Thread Id: 0x%x (%u)\n        Child SP               IP Call Site\n", thread.tid,
              managed->managed_id);
  for (const Frame& f : walker.walk(thread).frames) {
    const SymbolInfo& symbol = walker.name(f);
    if (f.kind == FrameKind::runtime_frame) {
      // "[InlinedCallFrame] Method" becomes "[InlinedCallFrame: address] Method".
      const std::size_t end = symbol.name.find(']');
      const std::string type = symbol.name.substr(1, end - 1),
                        rest = symbol.name.substr(std::min(end + 1, symbol.name.size()));
      std::printf("%016" PRIX64 " %016" PRIX64 " [%s: %016" PRIx64 "]%s\n", f.sp, f.pc.raw(), type.c_str(),
                  f.explicit_frame, rest.c_str());
    }
    if (f.kind == FrameKind::managed)
      std::printf("%016" PRIX64 " %016" PRIX64 " %s\n", f.sp, f.pc.raw(), symbol.name.c_str());
  }
  std::printf("\n");
}

/// The article's walker says first what kind of process it has found.
void print_kind(Walker& walker, std::uint32_t pid) {
  const auto runtimes = walker.runtimes();
  if (runtimes.empty()) std::printf("Process %u: native\n", pid);
  for (const dotnet::Runtime& runtime : runtimes) {
    const std::string& version = runtime.version();
    std::printf("Process %u: managed, CLR %s\n", pid, version.empty() ? "of an unknown version" : version.c_str());
  }
}

/// The article's own form, with nothing left out: callstack of both worlds, innermost first.
void print_mixed(Walker& walker, const ThreadCapture& thread) {
  std::printf("Thread %u\n", thread.tid);
  const Trace trace = walker.walk(thread);
  for (const Frame& f : trace.frames) std::printf("%s\n", call_site(walker.name(f), f).c_str());
  if (trace.stop != StopReason::end_of_stack)
    std::printf("(the stack goes on: %s)\n", std::string(to_string(trace.stop)).c_str());
  std::printf("\n");
}

int look_once(Session& session, const Arguments& arguments, std::map<std::string, int>* leaves) {
  DumpOptions options;
  options.stop_timeout = std::chrono::milliseconds(200);
  auto capture = session.capture(options);
  if (!capture) return 1;
  WalkOptions walk;
  walk.explicit_frames = arguments.clrstack;
  auto walker = session.walker(std::move(*capture), walk);
  if (!walker) return 1;
  if (leaves == nullptr && !arguments.clrstack) print_kind(*walker, arguments.pid);
  for (const ThreadCapture& thread : walker->capture().threads) {
    if (!thread.captured) continue;
    if (leaves != nullptr) {
      for (const Frame& f : walker->frames(thread)) {
        if (f.kind != FrameKind::managed) continue;
        (*leaves)[walker->name(f).name]++;  // the innermost managed method of each thread
        break;
      }
    } else if (arguments.clrstack) {
      print_clrstack(*walker, thread);
    } else {
      print_mixed(*walker, thread);
    }
  }
  return 0;
}

int sample(Session& session, const Arguments& arguments) {
  std::map<std::string, int> leaves;
  for (int i = 0; i < arguments.times; i++) {
    if (look_once(session, arguments, &leaves) != 0) return 1;
    std::this_thread::sleep_for(std::chrono::milliseconds(arguments.every_ms));
  }
  std::printf("%d samples, one every %d ms; innermost managed methods:\n", arguments.times, arguments.every_ms);
  for (const auto& [name, count] : leaves) std::printf("%6d  %s\n", count, name.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) {
    std::fprintf(stderr, "usage: mixed_walker PID [--clrstack] [--every MS --times N]\n");
    return 2;
  }
  auto session = Session::open_process(arguments.pid);
  if (!session) {
    std::fprintf(stderr, "mixed_walker: process %u cannot be opened: %s\n", arguments.pid,
                 mixstack::describe(session.error()).c_str());
    return 1;
  }
  return arguments.every_ms > 0 ? sample(**session, arguments) : look_once(**session, arguments, nullptr);
}
