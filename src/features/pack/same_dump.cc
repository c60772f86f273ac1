#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "features/pack/packing.h"

namespace mixstack::packing {
namespace {

void add_symbol(std::string& out, const ProcessDump& dump, std::uint32_t symbol) {
  for (const std::uint32_t one : logical_frames(dump.symbols, symbol)) {
    const SymbolInfo& s = dump.symbols[one];
    out += fmt::format(" {}|{}|{}+{:x}|{}:{}", s.name, s.raw_name, s.module, s.offset, s.file, s.line);
  }
  out += '\n';
}

void add_exceptions(std::string& out, const ProcessDump& dump, const ManagedThreadFacts& facts) {
  for (const ExceptionInFlight& flight : facts.exceptions) {
    for (const ManagedException& e : flight.chain) {
      out += fmt::format("exception {} {} {:x}\n", e.type, e.message, e.hresult);
      for (const ThrowFrame& thrown : e.thrown_at) {
        out += fmt::format("at {:x}", thrown.ip);
        add_symbol(out, dump, thrown.symbol);
      }
    }
  }
}

/// All that a person is told of a thread, but for how long things took.
[[nodiscard]] std::string told_of(const ProcessDump& dump, const ThreadDump& t) {
  std::string out = fmt::format("{} {} {} {} {}\n", t.ns_tid, t.comm, t.kernel_state, t.syscall, t.captured);
  if (t.managed) {
    out += fmt::format("{} {} {} {}\n", t.managed->managed_id, t.managed->name, t.managed->cooperative,
                       t.managed->is_only_listed);
    add_exceptions(out, dump, *t.managed);
  }
  for (std::size_t i = 0; i < t.trace.frames.size(); i++) {
    const Frame& f = t.trace.frames[i];
    out += fmt::format("{:x} {:x} {} {}", f.pc.raw(), f.sp, static_cast<int>(f.kind), static_cast<int>(f.trust));
    add_symbol(out, dump, i < t.symbols.size() ? t.symbols[i] : 0);
  }
  return out + fmt::format("{}", static_cast<int>(t.trace.stop));
}

}  // namespace

std::vector<ThreadId> different_threads(const ProcessDump& a, const ProcessDump& b) {
  std::unordered_map<ThreadId, const ThreadDump*> others;
  for (const ThreadDump& t : b.threads) others[t.tid] = &t;
  std::vector<ThreadId> different;
  for (const ThreadDump& t : a.threads) {
    if (!t.captured) continue;
    const auto other = others.find(t.tid);
    if (other == others.end() || told_of(a, t) != told_of(b, *other->second)) different.push_back(t.tid);
  }
  return different;
}

}  // namespace mixstack::packing
