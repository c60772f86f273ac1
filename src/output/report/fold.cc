#include "output/report/fold.h"

#include <algorithm>

#include "output/report/frame_view.h"

namespace mixstack::report {
namespace {

/// For one period: how far from a position on each element equals the one a period later. Asked for ascending
/// positions, so that no element is compared twice.
class Matches {
 public:
  Matches(std::span<const std::uint32_t> keys, std::size_t period) : keys_(keys), period_(period) {}

  /// How often the `period` elements at `at` stand there in a row: at least 1.
  [[nodiscard]] std::size_t times(std::size_t at) {
    if (at >= end_) {
      end_ = at;
      while (end_ + period_ < keys_.size() && keys_[end_] == keys_[end_ + period_]) end_++;
    }
    return (end_ - at) / period_ + 1;
  }

 private:
  std::span<const std::uint32_t> keys_;
  std::size_t period_;
  std::size_t end_ = 0;
};

/// Everything about a frame beside its name that a reader sees.
std::uint32_t marks_of(const Frame& frame) {
  return static_cast<std::uint32_t>(frame.kind) | static_cast<std::uint32_t>(frame.trust) << 8 |
         static_cast<std::uint32_t>(frame.funclet) << 24 | std::uint32_t{frame.is_interrupted} << 17 |
         std::uint32_t{frame.witness_disagrees} << 18;
}

}  // namespace

std::vector<Repeat> find_repeats(std::span<const std::uint32_t> keys, const FoldLimits& limits) {
  std::vector<Repeat> repeats;
  if (keys.size() < limits.shortest) return repeats;
  std::vector<Matches> periods;
  for (std::size_t p = 1; p <= limits.longest_period; p++) periods.emplace_back(keys, p);
  for (std::size_t at = 0; at + limits.shortest <= keys.size();) {
    Repeat best;
    for (std::size_t p = 1; p <= limits.longest_period && at + p < keys.size(); p++) {
      const Repeat r{at, p, periods[p - 1].times(at)};
      if (r.count >= limits.fewest_times && r.length() >= limits.shortest && r.length() > best.length()) best = r;
    }
    if (best.count == 0) {
      at++;
      continue;
    }
    repeats.push_back(best);
    at = best.end();
  }
  return repeats;
}

Folder::Folder(const ProcessDump& dump, const ReportOptions& options)
    : dump_(dump), options_(options), by_symbol_(dump.symbols.size(), 0) {}

std::uint32_t Folder::number_of(const std::string& text) {
  return numbers_.try_emplace(text, static_cast<std::uint32_t>(numbers_.size() + 1)).first->second;
}

std::uint32_t Folder::symbol_key(std::uint32_t symbol, Address pc) {
  Frame frame;
  frame.pc = CodeAddress::exact(pc);
  static const SymbolInfo unnamed;
  const bool known = symbol < dump_.symbols.size();
  const SymbolInfo& info = known ? dump_.symbols[symbol] : unnamed;
  // Without a symbol the name is the address.
  if (!known || (info.name.empty() && info.module.empty())) return number_of(shown_name(frame, unnamed, false));
  std::uint32_t& key = by_symbol_[symbol];
  if (key != 0) return key;
  std::string text = shown_name(frame, info, options_.raw_names) + '\0' + info.module + '\0' + info.note;
  for (std::uint32_t outer : logical_frames(dump_.symbols, symbol))
    if (outer != symbol && outer < dump_.symbols.size()) text += '\0' + dump_.symbols[outer].name;
  key = number_of(text);
  return key;
}

std::uint32_t Folder::key_of(const ThreadDump& thread, std::size_t index) {
  const Frame& frame = thread.trace.frames[index];
  const std::uint32_t symbol = index < thread.symbols.size() ? thread.symbols[index] : 0;
  const std::uint64_t whole = std::uint64_t{symbol_key(symbol, frame.pc.raw())} << 32 | marks_of(frame);
  return marked_.try_emplace(whole, static_cast<std::uint32_t>(marked_.size())).first->second;
}

std::vector<Repeat> Folder::repeats(const ThreadDump& thread) {
  const std::vector<Frame>& frames = thread.trace.frames;
  if (frames.size() < FoldLimits{}.shortest) return {};
  std::vector<std::uint32_t> keys;
  keys.reserve(frames.size());
  for (std::size_t i = 0; i < frames.size(); i++)
    if (is_shown(frames[i], options_)) keys.push_back(key_of(thread, i));
  return find_repeats(keys);
}

std::vector<Repeat> Folder::repeats(const ThreadDump& thread, std::span<const StackRow> rows) {
  if (rows.size() < FoldLimits{}.shortest) return {};
  std::vector<std::uint32_t> keys;
  keys.reserve(rows.size());
  for (const StackRow& row : rows) {
    if (row.kind == StackRow::Kind::frame) {
      keys.push_back(key_of(thread, row.first));
      continue;
    }
    // As many frames of the same image read the same, whatever their offsets.
    const SymbolInfo& symbol = symbol_of(dump_, thread, row.first);
    const std::string text = (row.kind == StackRow::Kind::nameless ? symbol.module : symbol.name) + '\0' +
                             std::to_string(row.size()) + '\0' + std::to_string(static_cast<int>(row.kind));
    const std::uint64_t whole = std::uint64_t{number_of(text)} << 32 | 0xffffffffu;
    keys.push_back(marked_.try_emplace(whole, static_cast<std::uint32_t>(marked_.size())).first->second);
  }
  return find_repeats(keys);
}

std::vector<Repeat> Folder::repeats(std::span<const ThrowFrame> frames) {
  if (frames.size() < FoldLimits{}.shortest) return {};
  std::vector<std::uint32_t> keys;
  keys.reserve(frames.size());
  for (const ThrowFrame& f : frames) keys.push_back(symbol_key(f.symbol, f.ip) << 1 | std::uint32_t{f.ends_first_part});
  return find_repeats(keys);
}

}  // namespace mixstack::report
