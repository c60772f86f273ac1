// The lines of a table: the same at a terminal and in a pipe, where nothing is cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "top/browser.h"

namespace mixstack::top {

/// Columns that a text takes at a terminal: two for a wide character, none for one that combines with its neighbour.
[[nodiscard]] std::size_t columns_of(std::string_view text);
/// At most so many columns: the middle becomes "…". The end tells more than the begin: the method, the file.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t most);

/// What the head says, beside the list.
struct HeadFacts {
  std::uint32_t pid = 0;
  std::string command{};  ///< fit for a terminal
  std::uint64_t elapsed_ns = 0;
  std::uint64_t samples = 0, lost = 0;
  std::uint64_t rounds_left_out = 0;  ///< of all threads, because the last one took too long
  std::uint64_t own_cpu_ns = 0;
  std::size_t threads = 0;           ///< of the process, now
  std::string source{};              ///< how it samples
  std::vector<std::string> notes{};  ///< why not better
};

/// Some lines: who, how long, how much, how. Each at most `width` columns; 0: as long as they are.
[[nodiscard]] std::vector<std::string> head_lines(const HeadFacts& facts, std::size_t width);
/// In lines of at most `width` columns, at spaces where there are any; 0: one line.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width);
/// What is shown, in words: "last interval, functions, busy threads, by self".
[[nodiscard]] std::string view_line(Browser& browser);
/// The names of the columns.
[[nodiscard]] std::string title_line(const Browser& browser, std::size_t width);
[[nodiscard]] std::string row_line(const Browser& browser, const Row& row, std::uint64_t selected, std::size_t width);

}  // namespace mixstack::top
