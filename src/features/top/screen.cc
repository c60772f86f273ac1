#include "features/top/screen.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "output/report/escape.h"

namespace mixstack::top {
namespace {

constexpr char32_t kEscape = 27;
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

std::optional<Command> command_of_kind(Key::Kind kind) {
  switch (kind) {
    case Key::Kind::up:
      return Command::up;
    case Key::Kind::down:
      return Command::down;
    case Key::Kind::page_up:
      return Command::page_up;
    case Key::Kind::page_down:
      return Command::page_down;
    case Key::Kind::home:
      return Command::first;
    case Key::Kind::end:
      return Command::last;
    case Key::Kind::enter:
      return Command::enter;
    case Key::Kind::backspace:
      return Command::back;
    case Key::Kind::character:
    case Key::Kind::other:
      break;
  }
  return std::nullopt;
}

std::optional<Command> command_of_character(char32_t character) {
  struct Entry {
    char32_t character;
    Command command;
  };
  constexpr Entry kEntries[] = {
      {U'k', Command::up},     {U'j', Command::down},      {U'g', Command::first},     {U'G', Command::last},
      {U'\n', Command::enter}, {U'\r', Command::enter},    {kEscape, Command::back},   {127, Command::back},
      {8, Command::back},      {U'c', Command::callees},   {U't', Command::threads},   {U's', Command::states},
      {U'i', Command::idle},   {U'o', Command::sort_next}, {U'>', Command::sort_next}, {U'<', Command::sort_previous},
      {U'w', Command::whole},  {U' ', Command::pause},     {U'r', Command::reset}};
  for (const Entry& entry : kEntries)
    if (entry.character == character) return entry.command;
  return std::nullopt;
}

std::string utf8_of(char32_t character) {
  const std::uint32_t c = character;
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

}  // namespace

Screen::Effect Screen::press(const Key& key, Browser& browser) {
  const bool is_character = key.kind == Key::Kind::character;
  if (mode_ == Mode::filter) {
    type(key, browser);
    return Effect::shown;
  }
  if (mode_ == Mode::help) {
    mode_ = Mode::list;
    return is_character && key.character == U'q' ? Effect::quit : Effect::shown;
  }
  if (const auto command = is_character ? command_of_character(key.character) : command_of_kind(key.kind)) {
    browser.press(*command);
    return Effect::shown;
  }
  if (!is_character) return Effect::shown;
  if (key.character == U'q') return Effect::quit;
  if (key.character == U'\f') return Effect::repaint;
  if (key.character == U'h' || key.character == U'?') mode_ = Mode::help;
  if (key.character == U'/') {
    mode_ = Mode::filter;
    typed_ = before_ = browser.filter();
  }
  return Effect::shown;
}

/// Edits the filter; the list is filtered at each key.
void Screen::type(const Key& key, Browser& browser) {
  const char32_t character = key.kind == Key::Kind::character ? key.character : 0;
  const bool is_back = key.kind == Key::Kind::backspace || character == 127 || character == 8;
  const bool is_enter = key.kind == Key::Kind::enter || character == U'\n' || character == U'\r';
  if (is_enter) {
    mode_ = Mode::list;
  } else if (character == kEscape) {
    mode_ = Mode::list;
    typed_ = before_;
  } else if (is_back) {
    while (!typed_.empty() && (static_cast<unsigned char>(typed_.back()) & 0xc0u) == 0x80u) typed_.pop_back();
    if (!typed_.empty()) typed_.pop_back();
  } else if (character == 21) {  // Ctrl-U
    typed_.clear();
  } else if (character >= U' ' && typed_.size() < kLongestFilter) {
    typed_ += utf8_of(character);
  }
  browser.set_filter(typed_);
}

ScreenLine Screen::line(std::size_t at, std::string_view text, LineLook look, std::size_t columns) const {
  std::string shown = shorten(is_utf8_ ? std::string(text) : ascii_of(text), columns);
  if (!is_utf8_) shown = ascii_of(shown);
  if (look != LineLook::plain) shown.append(columns - std::min(columns, columns_of(shown)), ' ');
  return {at, std::move(shown), look};
}

std::vector<ScreenLine> Screen::lines(Browser& browser, const TopFacts& facts, std::size_t rows,
                                      std::size_t columns) const {
  if (mode_ == Mode::help) return help_lines(facts, rows, columns);
  std::vector<std::string> head = head_lines(facts, columns);
  const std::size_t plain = head.size() - std::min(head.size(), facts.notes.size());
  head.resize(plain + std::min(facts.notes.size(), kMostNotes));
  if (rows < 16) head.resize(std::min<std::size_t>(head.size(), rows < 8 ? 0 : 2));
  std::vector<ScreenLine> shown;
  shown.reserve(head.size());
  for (const std::string& text : head) shown.push_back(line(shown.size(), text, LineLook::plain, columns));
  add_list(browser, shown, rows, columns);
  return shown;
}

void Screen::add_list(Browser& browser, std::vector<ScreenLine>& shown, std::size_t rows, std::size_t columns) const {
  constexpr std::string_view kHints =
      "h help  q quit  t threads  s states  i idle  w whole run  o sort  / filter  Enter callers  c callees  space "
      "pause";
  std::size_t at = shown.size();
  const auto add = [&](std::string_view text, LineLook look) { shown.push_back(line(at++, text, look, columns)); };
  browser.set_page(rows > at + 3 ? rows - at - 3 : 1);
  const RowList& list = browser.list();
  add(view_line(browser), LineLook::plain);
  if (at < rows) add(title_line(browser, columns), LineLook::title);
  const std::size_t chosen = browser.chosen_row();
  for (std::size_t i = browser.top_row(); i < list.rows.size() && at + 1 < rows; i++)
    add(row_line(browser, list.rows[i], list.selected, columns), i == chosen ? LineLook::chosen : LineLook::plain);
  if (list.rows.empty() && at + 1 < rows) add("  nothing that is asked for was seen", LineLook::plain);
  // Not the last column: writing there makes some terminals scroll.
  const std::string below =
      mode_ == Mode::filter ? "only names with: " + report::escape_for_terminal(typed_) + "_" : std::string(kHints);
  shown.push_back(line(rows - 1, below, LineLook::plain, columns - std::min<std::size_t>(columns, 1)));
}

std::vector<ScreenLine> Screen::help_lines(const TopFacts& facts, std::size_t rows, std::size_t columns) const {
  std::vector<ScreenLine> shown;
  const auto add = [&](std::string_view text) {
    if (shown.size() + 1 < rows) shown.push_back(line(shown.size(), text, LineLook::plain, columns));
  };
  for (const std::string_view key : kKeys) add(key);
  add("");
  const auto add_whole = [&](const std::string& text) {
    for (const std::string& part : wrapped(text, columns)) add(part);
  };
  add_whole("samples by " + facts.source);
  for (const std::string& note : facts.notes) add_whole(report::escape_for_terminal(note));
  return shown;
}

}  // namespace mixstack::top
