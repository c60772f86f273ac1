#include "output/report/merge.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "output/report/frame_view.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

void append_part(std::string& key, std::string_view part) {
  key.append(part);
  key.push_back('\0');
}

/// A managed method is one name for many places: which call a thread is in tells its return address alone, also where
/// native frames between differ by the way they were found (a core has no files, a running process has). An interrupted
/// instruction is no call: threads that run in the same method stay together.
void append_call(std::string& key, const Frame& frame) {
  if (frame.kind != FrameKind::managed || frame.is_interrupted) return;
  for (unsigned shift = 0; shift < 64; shift += 8) key.push_back(static_cast<char>(frame.pc.raw() >> shift));
}

/// Everything that must be equal for two stacks to read the same.
std::string reading_of(const ProcessDump& dump, const ThreadDump& thread, const ReportOptions& options) {
  std::string key;
  append_part(key, to_string(thread.captured ? thread.trace.stop : StopReason::not_captured));
  append_part(key, thread.managed ? thread.managed->exception_type() : std::string_view());
  for (std::size_t i = 0; i < thread.trace.frames.size(); i++) {
    const Frame& frame = thread.trace.frames[i];
    if (!is_shown(frame, options)) continue;
    const SymbolInfo& symbol = symbol_of(dump, thread, i);
    append_part(key, to_string(frame.kind));
    append_part(key, shown_name(frame, symbol, options.raw_names));
    append_part(key, symbol.module_path.empty() ? symbol.module : symbol.module_path);
    append_part(key, symbol.note);
    for (const std::uint32_t s : inlined_of(dump, thread, i)) append_part(key, dump.symbols[s].name);
    append_call(key, frame);
  }
  for (const AsyncCaller& caller : thread.async_callers) {
    append_part(key, caller.symbol < dump.symbols.size() ? dump.symbols[caller.symbol].name : std::string());
    append_call(key, caller.frame);
  }
  return key;
}

bool same_addresses(const ThreadDump& a, const ThreadDump& b) {
  return std::equal(a.trace.frames.begin(), a.trace.frames.end(), b.trace.frames.begin(), b.trace.frames.end(),
                    [](const Frame& x, const Frame& y) { return x.pc == y.pc; });
}

}  // namespace

std::vector<StackGroup> merge_stacks(const ProcessDump& dump, const ReportOptions& options) {
  std::vector<StackGroup> groups;
  std::unordered_map<std::string, std::size_t> known;
  for (const ThreadDump& thread : dump.threads) {
    const auto [place, is_new] = known.try_emplace(reading_of(dump, thread, options), groups.size());
    if (is_new) groups.emplace_back();
    StackGroup& group = groups[place->second];
    if (!is_new && !same_addresses(*group.threads.front(), thread)) group.same_addresses = false;
    group.threads.push_back(&thread);
  }
  for (StackGroup& group : groups)
    std::sort(group.threads.begin(), group.threads.end(), [](auto* a, auto* b) { return a->tid < b->tid; });
  std::stable_sort(groups.begin(), groups.end(),
                   [](const StackGroup& a, const StackGroup& b) { return a.threads.size() > b.threads.size(); });
  return groups;
}

}  // namespace mixstack::report
