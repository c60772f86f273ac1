// A live view as lines for a screen of any size, and the effect of keys on it. No terminal here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "features/top/browser.h"
#include "features/top/table_text.h"

namespace mixstack::top {

enum class LineLook : std::uint8_t { plain, title, chosen };

/// One line of the screen, fit for it: cut, and where it has a look filled up to its end.
struct ScreenLine {
  std::size_t at = 0;  ///< from the upper edge
  std::string text;
  LineLook look = LineLook::plain;
};

/// A key, or a character that was typed.
struct Key {
  enum class Kind : std::uint8_t { character, up, down, page_up, page_down, home, end, enter, backspace, other };
  Kind kind = Kind::character;
  char32_t character = 0;  ///< of Kind::character
};

/// The mode of the screen: the list, its help, or a filter that is being typed. The list itself is the browser's.
class Screen {
 public:
  enum class Effect : std::uint8_t { shown, repaint, quit };

  /// `is_utf8`: what the terminal takes; else other characters than those of ASCII are shown as '?'.
  explicit Screen(bool is_utf8) : is_utf8_(is_utf8) {}

  [[nodiscard]] Effect press(const Key& key, Browser& browser);
  /// From top to bottom; the browser's page becomes what fits.
  [[nodiscard]] std::vector<ScreenLine> lines(Browser& browser, const TopFacts& facts, std::size_t rows,
                                              std::size_t columns) const;

 private:
  enum class Mode : std::uint8_t { list, help, filter };
  void type(const Key& key, Browser& browser);
  [[nodiscard]] ScreenLine line(std::size_t at, std::string_view text, LineLook look, std::size_t columns) const;
  [[nodiscard]] std::vector<ScreenLine> help_lines(const TopFacts& facts, std::size_t rows, std::size_t columns) const;
  void add_list(Browser& browser, std::vector<ScreenLine>& shown, std::size_t rows, std::size_t columns) const;

  bool is_utf8_;
  Mode mode_ = Mode::list;
  std::string typed_;   ///< while a filter is typed
  std::string before_;  ///< the previous filter, restored by Escape
};

}  // namespace mixstack::top
