// The lines of a table, at a terminal and in a pipe; in a pipe nothing is cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "features/top/browser.h"
#include "mixstack/top.h"

namespace mixstack::top {

/// Columns that a text takes at a terminal: two for a wide character, none for a combining one.
[[nodiscard]] std::size_t columns_of(std::string_view text);
/// Cuts to `most` columns: the middle becomes "…". The end keeps more than the begin: it names the method or file.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t most);

/// Process, time, sample counts, source and notes. Each line has at most `width` columns; 0: nothing is cut.
[[nodiscard]] std::vector<std::string> head_lines(const TopFacts& facts, std::size_t width);
/// Breaks a text into lines of at most `width` columns, at spaces where there are any; 0: one line.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width);
/// The current view in words: "last interval, functions, busy threads, 1.50 s, by self".
[[nodiscard]] std::string view_line(Browser& browser);
/// The names of the columns.
[[nodiscard]] std::string title_line(const Browser& browser, std::size_t width);
[[nodiscard]] std::string row_line(const Browser& browser, const Row& row, std::uint64_t selected, std::size_t width);

/// The whole table as text, in lines as long as they are, with at most so many rows.
[[nodiscard]] std::string table_text(Browser& browser, const TopFacts& facts, std::size_t most_rows);

}  // namespace mixstack::top
