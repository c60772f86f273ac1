// The repeating parts of a stack: endless recursion is a few frames, many thousand times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "mixstack/dump.h"
#include "output/report/options.h"
#include "output/report/stack_rows.h"

namespace mixstack::report {

/// `count` times the same `period` elements, from `first` on.
struct Repeat {
  std::size_t first = 0;
  std::size_t period = 0;
  std::size_t count = 0;
  [[nodiscard]] std::size_t length() const { return period * count; }
  [[nodiscard]] std::size_t end() const { return first + length(); }
  friend bool operator==(const Repeat&, const Repeat&) = default;
};

/// Which repetitions are worth a remark. Recursion of a few levels reads better frame by frame.
struct FoldLimits {
  std::size_t longest_period = 32;
  std::size_t fewest_times = 3;
  std::size_t shortest = 12;  ///< elements of all times together
};

/// The repeating parts of a sequence, ascending and disjoint; where several periods fit, the one that covers most, of
/// equals the shortest. Only whole times count. Linear in `keys` for a given longest period.
[[nodiscard]] std::vector<Repeat> find_repeats(std::span<const std::uint32_t> keys, const FoldLimits& limits = {});

/// Finds the repeating parts of the stacks of one dump, which must outlive it: frames that read the same are the same,
/// whatever their addresses; marks count as text.
class Folder {
 public:
  Folder(const ProcessDump& dump, const ReportOptions& options);

  /// Numbers are those of shown frames (`is_shown`), in order.
  [[nodiscard]] std::vector<Repeat> repeats(const ThreadDump& thread);
  /// The same of rows: numbers are those of rows.
  [[nodiscard]] std::vector<Repeat> repeats(const ThreadDump& thread, std::span<const StackRow> rows);
  [[nodiscard]] std::vector<Repeat> repeats(std::span<const ThrowFrame> frames);

 private:
  [[nodiscard]] std::uint32_t number_of(const std::string& text);
  [[nodiscard]] std::uint32_t symbol_key(std::uint32_t symbol, Address pc);
  [[nodiscard]] std::uint32_t key_of(const ThreadDump& thread, std::size_t index);

  const ProcessDump& dump_;
  ReportOptions options_;
  std::vector<std::uint32_t> by_symbol_;  ///< key of a symbol, 0: not yet made
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::unordered_map<std::uint64_t, std::uint32_t> marked_;  ///< symbol key and marks of a frame
};

}  // namespace mixstack::report
