// The lines of a table, at a terminal and in a pipe; in a pipe nothing is cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "features/top/browser.h"

namespace mixstack::top {

/// Columns that a text takes at a terminal: two for a wide character, none for a combining one.
[[nodiscard]] std::size_t columns_of(std::string_view text);
/// Cuts to `most` columns: the middle becomes "…". The end keeps more than the begin: it names the method or file.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t most);

/// The facts of the lines above the list.
struct HeadFacts {
  std::uint32_t pid = 0;
  std::string command{};  ///< fit for a terminal
  std::uint64_t elapsed_ns = 0;
  std::uint64_t samples = 0, lost = 0;
  std::uint64_t rounds_left_out = 0;  ///< rounds over all threads, skipped because the last one took too long
  std::uint64_t own_cpu_ns = 0;
  std::size_t threads = 0;           ///< of the process, now
  std::string source{};              ///< how samples are taken
  std::vector<std::string> notes{};  ///< why no better source is used
};

/// Process, time, sample counts, source and notes. Each line has at most `width` columns; 0: nothing is cut.
[[nodiscard]] std::vector<std::string> head_lines(const HeadFacts& facts, std::size_t width);
/// Breaks a text into lines of at most `width` columns, at spaces where there are any; 0: one line.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width);
/// The current view in words: "last interval, functions, busy threads, 1.50 s, by self".
[[nodiscard]] std::string view_line(Browser& browser);
/// The names of the columns.
[[nodiscard]] std::string title_line(const Browser& browser, std::size_t width);
[[nodiscard]] std::string row_line(const Browser& browser, const Row& row, std::uint64_t selected, std::size_t width);

}  // namespace mixstack::top
