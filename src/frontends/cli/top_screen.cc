// Input: keys of the terminal, its size, a Browser with the list, the facts of the head.
// Output: the screen, through ncurses.
// Algorithm: `open`: UTF-8 locale if there is one, since ncurses draws by it; own descriptors, so that ncurses closes
// none of the caller's; no echo, no waiting for keys. `read_keys`: by mode, a key is a command of the browser, text of
// the filter, or leaves the help. `draw`: erase, head (fewer lines on a small screen), list, hints; ncurses writes only
// the differences. Destruction restores the terminal before the files are closed.
// Bounds: 2000 lines and columns (a hostile terminal may report more), 4096 keys per call, kLongestFilter, kMostNotes.
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
#include <optional>
#include <string_view>

#include "output/report/escape.h"

namespace mixstack::cli {

using top::Command;

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

constexpr wchar_t kEscape = 27;
constexpr std::size_t kLongestFilter = 256;
constexpr std::size_t kMostNotes = 2;  // in the head; the help shows all

constexpr std::string_view kKeys[] = {
    "up down k j       choose a row; PgUp PgDn a page, Home End the ends",
    "Enter             callers of the function; functions of the thread",
    "c                 callees of the function",
    "Esc Backspace     back to where Enter or c came from",
    "t                 threads or functions",
    "w                 the last interval or the whole run",
    "s                 threads that are busy, run, are ready, wait, or in GC",
    "i                 with idle threads or without",
    "< > o             sort by another column: self, total, name, module",
    "/                 only names with a text, or like a pattern with * and ?",
    "space             hold the picture, while sampling goes on",
    "r                 forget what was counted",
    "h ?               this text; any key leaves it",
    "q                 quit",
};

std::optional<Command> command_of_key(wchar_t key) {
  switch (key) {
    case KEY_UP:
      return Command::up;
    case KEY_DOWN:
      return Command::down;
    case KEY_PPAGE:
      return Command::page_up;
    case KEY_NPAGE:
      return Command::page_down;
    case KEY_HOME:
      return Command::first;
    case KEY_END:
      return Command::last;
    case KEY_ENTER:
      return Command::enter;
    case KEY_BACKSPACE:
      return Command::back;
    default:
      return std::nullopt;
  }
}

std::optional<Command> command_of_character(wchar_t character) {
  struct Entry {
    wchar_t character;
    Command command;
  };
  constexpr Entry kEntries[] = {
      {L'k', Command::up},     {L'j', Command::down},      {L'g', Command::first},     {L'G', Command::last},
      {L'\n', Command::enter}, {L'\r', Command::enter},    {kEscape, Command::back},   {127, Command::back},
      {8, Command::back},      {L'c', Command::callees},   {L't', Command::threads},   {L's', Command::states},
      {L'i', Command::idle},   {L'o', Command::sort_next}, {L'>', Command::sort_next}, {L'<', Command::sort_previous},
      {L'w', Command::whole},  {L' ', Command::pause},     {L'r', Command::reset}};
  for (const Entry& entry : kEntries)
    if (entry.character == character) return entry.command;
  return std::nullopt;
}

std::string utf8_of(wchar_t character) {
  const auto c = static_cast<std::uint32_t>(character);
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xc0 | c >> 6), byte(0x80 | (c & 0x3f))};
  if (c < 0x10000) return {byte(0xe0 | c >> 12), byte(0x80 | (c >> 6 & 0x3f)), byte(0x80 | (c & 0x3f))};
  return {byte(0xf0 | c >> 18), byte(0x80 | (c >> 12 & 0x3f)), byte(0x80 | (c >> 6 & 0x3f)), byte(0x80 | (c & 0x3f))};
}

/// For terminals without UTF-8.
std::string ascii_of(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const report::CodePoint c = report::first_code_point(text);
    out += c.value < 0x80 ? static_cast<char>(c.value) : '?';
    text.remove_prefix(c.size);
  }
  return out;
}

/// C.UTF-8 needs no locale files; its name differs from system to system.
bool use_utf8() {
  for (const char* name : {"C.UTF-8", "C.utf8", "en_US.UTF-8"})
    if (std::setlocale(LC_CTYPE, name) != nullptr) return true;
  return false;
}

void put(std::size_t line, std::string_view text, attr_t look, bool is_utf8, std::size_t columns) {
  std::string shown = top::shorten(is_utf8 ? std::string(text) : ascii_of(text), columns);
  if (!is_utf8) shown = ascii_of(shown);
  if (look != A_NORMAL) shown.append(columns - std::min(columns, top::columns_of(shown)), ' ');
  (void)::attrset(static_cast<int>(look));
  (void)::mvaddnstr(static_cast<int>(line), 0, shown.data(), static_cast<int>(shown.size()));
  (void)::attrset(A_NORMAL);
}

std::size_t lines_of_screen() { return static_cast<std::size_t>(std::max(::getmaxy(stdscr), 1)); }
std::size_t columns_of_screen() { return static_cast<std::size_t>(std::max(::getmaxx(stdscr), 1)); }

}  // namespace

TopScreen::TopScreen(std::unique_ptr<Terminal> terminal) : terminal_(std::move(terminal)) {}
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
    if (!press(static_cast<wchar_t>(character), kind == KEY_CODE_YES, browser)) return false;
  }
  return true;
}

bool TopScreen::press(wchar_t character, bool is_key, top::Browser& browser) {
  if (is_key && character == KEY_RESIZE) return true;
  if (mode_ == Mode::filter) {
    type(character, is_key, browser);
    return true;
  }
  if (mode_ == Mode::help) {
    mode_ = Mode::list;
    return is_key || character != L'q';
  }
  if (const auto command = is_key ? command_of_key(character) : command_of_character(character)) {
    browser.press(*command);
    return true;
  }
  if (is_key) return true;
  if (character == L'q') return false;
  if (character == L'h' || character == L'?') mode_ = Mode::help;
  if (character == L'\f') (void)::clearok(stdscr, true);
  if (character == L'/') {
    mode_ = Mode::filter;
    typed_ = before_ = browser.filter();
  }
  return true;
}

/// Edits the filter; the list is filtered at each key.
void TopScreen::type(wchar_t character, bool is_key, top::Browser& browser) {
  const bool is_back = is_key ? character == KEY_BACKSPACE : character == 127 || character == 8;
  const bool is_enter = is_key ? character == KEY_ENTER : character == L'\n' || character == L'\r';
  if (is_enter) {
    mode_ = Mode::list;
  } else if (!is_key && character == kEscape) {
    mode_ = Mode::list;
    typed_ = before_;
  } else if (is_back) {
    while (!typed_.empty() && (static_cast<unsigned char>(typed_.back()) & 0xc0u) == 0x80u) typed_.pop_back();
    if (!typed_.empty()) typed_.pop_back();
  } else if (!is_key && character == 21) {  // Ctrl-U
    typed_.clear();
  } else if (!is_key && character >= L' ' && typed_.size() < kLongestFilter) {
    typed_ += utf8_of(character);
  }
  browser.set_filter(typed_);
}

void TopScreen::draw(top::Browser& browser, const top::HeadFacts& facts) {
  const std::size_t rows = lines_of_screen(), columns = columns_of_screen();
  (void)::erase();
  if (mode_ == Mode::help) {
    draw_help(facts, rows, columns);
  } else {
    std::vector<std::string> head = top::head_lines(facts, columns);
    const std::size_t plain = head.size() - std::min(head.size(), facts.notes.size());
    head.resize(plain + std::min(facts.notes.size(), kMostNotes));
    if (rows < 16) head.resize(std::min<std::size_t>(head.size(), rows < 8 ? 0 : 2));
    for (std::size_t line = 0; line < head.size(); line++) put(line, head[line], A_NORMAL, terminal_->is_utf8, columns);
    draw_list(browser, head.size(), rows, columns);
  }
  (void)::refresh();
}

void TopScreen::draw_list(top::Browser& browser, std::size_t line, std::size_t rows, std::size_t columns) {
  constexpr std::string_view kHints =
      "h help  q quit  t threads  s states  i idle  w whole run  o sort  / filter  Enter callers  c callees  space "
      "pause";
  const bool is_utf8 = terminal_->is_utf8;
  browser.set_page(rows > line + 3 ? rows - line - 3 : 1);
  const top::RowList& list = browser.list();
  put(line++, top::view_line(browser), A_NORMAL, is_utf8, columns);
  if (line < rows) put(line++, top::title_line(browser, columns), A_BOLD | A_UNDERLINE, is_utf8, columns);
  const std::size_t chosen = browser.chosen_row();
  for (std::size_t i = browser.top_row(); i < list.rows.size() && line + 1 < rows; i++)
    put(line++, top::row_line(browser, list.rows[i], list.selected, columns), i == chosen ? A_REVERSE : A_NORMAL,
        is_utf8, columns);
  if (list.rows.empty() && line + 1 < rows)
    put(line, "  nothing that is asked for was seen", A_NORMAL, is_utf8, columns);
  // Not the last column: writing there makes some terminals scroll.
  const std::string below =
      mode_ == Mode::filter ? "only names with: " + report::escape_for_terminal(typed_) + "_" : std::string(kHints);
  put(rows - 1, below, A_NORMAL, is_utf8, columns - std::min<std::size_t>(columns, 1));
}

void TopScreen::draw_help(const top::HeadFacts& facts, std::size_t rows, std::size_t columns) {
  std::size_t line = 0;
  const auto add = [&](std::string_view text) {
    if (line + 1 < rows) put(line++, text, A_NORMAL, terminal_->is_utf8, columns);
  };
  for (const std::string_view key : kKeys) add(key);
  add("");
  const auto add_whole = [&](const std::string& text) {
    for (const std::string& part : top::wrapped(text, columns)) add(part);
  };
  add_whole("samples by " + facts.source);
  for (const std::string& note : facts.notes) add_whole(report::escape_for_terminal(note));
}

}  // namespace mixstack::cli
