// `mixstack top` at a terminal. Only this and terminal_type.h use ncurses. Its state is global, so only one of these
// may exist.
#pragma once

#include <memory>
#include <string>

#include "features/top/screen.h"

namespace mixstack::cli {

/// Its destruction restores the terminal. Not thread-safe. The owner must block the terminal's signals, so that nothing
/// here runs in a handler.
class TopScreen {
 public:
  /// `type` is from terminal_type.h. Null: ncurses does not know it, or is out of memory.
  [[nodiscard]] static std::unique_ptr<TopScreen> open(const std::string& type, int in, int out);
  ~TopScreen();
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;

  /// Handles all pressed keys. False: the user quits.
  [[nodiscard]] bool read_keys(top::Browser& browser);
  void draw(top::Browser& browser, const TopFacts& facts);
  /// Takes over the new size of the terminal.
  void resize();
  /// Restores the terminal until `resume`.
  void suspend();
  void resume();

 private:
  struct Terminal;
  explicit TopScreen(std::unique_ptr<Terminal> terminal);

  std::unique_ptr<Terminal> terminal_;
  top::Screen screen_;
};

}  // namespace mixstack::cli
