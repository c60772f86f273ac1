// `mixstack top` at a terminal. Here and in terminal_type.h ncurses is known, whose state is the process's: there is
// one of these.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "top/browser.h"
#include "top/table_text.h"

namespace mixstack::cli {

/// The terminal is given back when it is destroyed. One thread; signals of the terminal are the owner's to hold back,
/// so that nothing here runs in a handler.
class TopScreen {
 public:
  /// `type` is of terminal_type.h. Null: that is none, or there is no memory.
  [[nodiscard]] static std::unique_ptr<TopScreen> open(const std::string& type, int in, int out);
  ~TopScreen();
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;

  /// All keys that were pressed. False: the reader wants to leave.
  [[nodiscard]] bool read_keys(top::Browser& browser);
  void draw(top::Browser& browser, const top::HeadFacts& facts);
  /// The terminal has another size now.
  void resize();
  /// Gives the terminal back until `resume`.
  void suspend();
  void resume();

 private:
  struct Terminal;
  enum class Mode : unsigned char { list, help, filter };
  explicit TopScreen(std::unique_ptr<Terminal> terminal);
  [[nodiscard]] bool press(wchar_t character, bool is_key, top::Browser& browser);
  void type(wchar_t character, bool is_key, top::Browser& browser);
  void draw_list(top::Browser& browser, std::size_t line, std::size_t rows, std::size_t columns);
  void draw_help(const top::HeadFacts& facts, std::size_t rows, std::size_t columns);

  std::unique_ptr<Terminal> terminal_;
  Mode mode_ = Mode::list;
  std::string typed_;   ///< while a filter is typed
  std::string before_;  ///< the filter that was there
};

}  // namespace mixstack::cli
