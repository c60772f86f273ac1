// Names of frames in the columns there are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mixstack::report {

/// Columns of a terminal: one for each code point.
[[nodiscard]] std::size_t columns(std::string_view text);

/// At most `most` columns: the middle becomes "…".
[[nodiscard]] std::string shorten_middle(std::string_view text, std::size_t most);

/// The longest begin of whole characters that has at most `most` columns.
[[nodiscard]] std::string cut_to(std::string text, std::size_t most);

/// "Shop.Cart.Add(…)" of "Shop.Cart.Add(int, Item)", with `open` and `close` '(' and ')': the contents of the outermost
/// pairs are left out. Empty pairs stay.
[[nodiscard]] std::string without_contents(std::string_view name, char open, char close);

/// The parts of a frame's line. Empty ones are left out.
struct FrameWords {
  std::string name;   ///< with its remarks
  std::string place;  ///< the module, "libc.so.6+0x10"
  std::string file;   ///< of the source
  std::string line;   ///< ":42"
};

/// Shortens the line to `width` columns where that is possible, by leaving out, in this order: the folders of the file,
/// the parameters, the place, the type arguments, the middle of the name. `fixed` columns are taken by parts that
/// cannot be left out. 0: no limit.
void fit(FrameWords& words, std::size_t fixed, std::size_t width);

}  // namespace mixstack::report
