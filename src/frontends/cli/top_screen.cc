// Input: keys of the terminal, its size. Output: lines of top::Screen, through ncurses.
// Destruction restores the terminal before its files are closed.
#include "frontends/cli/top_screen.h"

#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <curses.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdio>

namespace mixstack::cli {

using top::Key;

/// The screen of ncurses and its files.
struct TopScreen::Terminal {
  struct Close {
    void operator()(std::FILE* file) const { (void)std::fclose(file); }
  };
  struct End {
    void operator()(SCREEN* screen) const {
      (void)::endwin();
      ::delscreen(screen);
    }
  };
  int out = 1;
  bool is_utf8 = false;
  std::unique_ptr<std::FILE, Close> input, output;
  std::unique_ptr<SCREEN, End> screen;  // last, so that it is destroyed first
};

namespace {

/// C.UTF-8 needs no locale files; its name differs from system to system.
bool use_utf8() {
  for (const char* name : {"C.UTF-8", "C.utf8", "en_US.UTF-8"})
    if (std::setlocale(LC_CTYPE, name) != nullptr) return true;
  return false;
}

Key::Kind kind_of_key(wint_t key) {
  switch (key) {
    case KEY_UP:
      return Key::Kind::up;
    case KEY_DOWN:
      return Key::Kind::down;
    case KEY_PPAGE:
      return Key::Kind::page_up;
    case KEY_NPAGE:
      return Key::Kind::page_down;
    case KEY_HOME:
      return Key::Kind::home;
    case KEY_END:
      return Key::Kind::end;
    case KEY_ENTER:
      return Key::Kind::enter;
    case KEY_BACKSPACE:
      return Key::Kind::backspace;
    default:
      return Key::Kind::other;
  }
}

attr_t attributes_of(top::LineLook look) {
  return look == top::LineLook::title ? A_BOLD | A_UNDERLINE : look == top::LineLook::chosen ? A_REVERSE : A_NORMAL;
}

std::size_t lines_of_screen() { return static_cast<std::size_t>(std::max(::getmaxy(stdscr), 1)); }
std::size_t columns_of_screen() { return static_cast<std::size_t>(std::max(::getmaxx(stdscr), 1)); }

}  // namespace

TopScreen::TopScreen(std::unique_ptr<Terminal> terminal)
    : terminal_(std::move(terminal)), screen_(terminal_->is_utf8) {}
TopScreen::~TopScreen() = default;

std::unique_ptr<TopScreen> TopScreen::open(const std::string& type, int in, int out) {
  auto terminal = std::make_unique<Terminal>();
  terminal->out = out;
  terminal->is_utf8 = use_utf8();
  terminal->input.reset(::fdopen(::fcntl(in, F_DUPFD_CLOEXEC, 3), "r"));
  terminal->output.reset(::fdopen(::fcntl(out, F_DUPFD_CLOEXEC, 3), "w"));
  if (!terminal->input || !terminal->output) return nullptr;
  terminal->screen.reset(::newterm(type.c_str(), terminal->output.get(), terminal->input.get()));
  if (!terminal->screen) return nullptr;
  (void)::cbreak();
  (void)::noecho();
  (void)::nonl();
  (void)::keypad(stdscr, true);
  (void)::nodelay(stdscr, true);
  (void)::set_escdelay(50);
  (void)::curs_set(0);
  std::unique_ptr<TopScreen> screen(new TopScreen(std::move(terminal)));
  screen->resize();
  return screen;
}

void TopScreen::suspend() { (void)::endwin(); }

void TopScreen::resume() {
  resize();
  (void)::clearok(stdscr, true);
  (void)::refresh();
}

void TopScreen::resize() {
  winsize size{};
  if (::ioctl(terminal_->out, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return;
  // Larger sizes are useless, and a hostile terminal could report one that takes gigabytes.
  constexpr int kMost = 2000;
  (void)::resizeterm(std::min<int>(size.ws_row, kMost), std::min<int>(size.ws_col, kMost));
}

bool TopScreen::read_keys(top::Browser& browser) {
  constexpr int kMost = 4096;  // so that pasted text cannot delay drawing for long
  for (int i = 0; i < kMost; i++) {
    wint_t character = 0;
    const int kind = ::get_wch(&character);
    if (kind == ERR) return true;
    if (kind == KEY_CODE_YES && character == KEY_RESIZE) continue;
    const Key key = kind == KEY_CODE_YES ? Key{kind_of_key(character)} : Key{Key::Kind::character, character};
    const auto effect = screen_.press(key, browser);
    if (effect == top::Screen::Effect::quit) return false;
    if (effect == top::Screen::Effect::repaint) (void)::clearok(stdscr, true);
  }
  return true;
}

void TopScreen::draw(top::Browser& browser, const TopFacts& facts) {
  (void)::erase();
  for (const top::ScreenLine& line : screen_.lines(browser, facts, lines_of_screen(), columns_of_screen())) {
    (void)::attrset(static_cast<int>(attributes_of(line.look)));
    (void)::mvaddnstr(static_cast<int>(line.at), 0, line.text.data(), static_cast<int>(line.text.size()));
  }
  (void)::attrset(A_NORMAL);
  (void)::refresh();
}

}  // namespace mixstack::cli
