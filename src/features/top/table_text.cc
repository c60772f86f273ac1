#include "features/top/table_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "output/report/escape.h"
#include "output/report/words.h"

namespace mixstack::top {
namespace {

constexpr std::string_view kEllipsis = "…";
constexpr std::size_t kModuleColumns = 24;

/// Blocks of Unicode 15 whose East_Asian_Width is W or F, and of combining characters, as far as names have them.
struct Range {
  std::uint32_t first, last;
};
constexpr Range kWide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},  {0x3400, 0x4dbf},
                           {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xa960, 0xa97f},  {0xac00, 0xd7a3},
                           {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},  {0xffe0, 0xffe6},
                           {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
constexpr Range kCombining[] = {{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x064b, 0x065f},
                                {0x093c, 0x093c}, {0x0941, 0x0948}, {0x0e34, 0x0e3a}, {0x200b, 0x200d},
                                {0x20d0, 0x20f0}, {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};

template <std::size_t N>
bool is_in(const Range (&ranges)[N], std::uint32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges), [c](const Range& r) { return c >= r.first && c <= r.last; });
}

std::size_t width_of(const report::CodePoint& c) {
  if (!c.valid || c.value < 0x300) return 1;
  return is_in(kCombining, c.value) ? 0 : is_in(kWide, c.value) ? 2 : 1;
}

/// The longest prefix of whole characters that fits.
std::string_view first_of(std::string_view text, std::size_t most) {
  std::size_t at = 0;
  for (std::size_t used = 0; at < text.size();) {
    const report::CodePoint c = report::first_code_point(text.substr(at));
    used += width_of(c);
    if (used > most) break;
    at += c.size;
  }
  return text.substr(0, at);
}

/// The longest suffix of whole characters that fits.
std::string_view last_of(std::string_view text, std::size_t most) {
  std::size_t all = columns_of(text);
  while (!text.empty() && all > most) {
    const report::CodePoint c = report::first_code_point(text);
    all -= width_of(c);
    text.remove_prefix(c.size);
  }
  return text;
}

/// Pads with spaces; a longer text stays whole.
std::string filled(std::string text, std::size_t columns) {
  text.append(columns - std::min(columns, columns_of(text)), ' ');
  return text;
}

std::string padded(std::string_view text, std::size_t columns) { return filled(shorten(text, columns), columns); }

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

double seconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }

std::string fitted(const std::string& text, std::size_t width) { return width == 0 ? text : shorten(text, width); }

std::string_view word_of(StateFilter filter) {
  constexpr std::string_view kWords[] = {"busy", "running", "runnable", "waiting", "in GC"};
  return kWords[static_cast<std::size_t>(filter)];
}

/// Adds name and module in the columns that remain: at a terminal the name first. In a pipe both are whole, and the
/// name comes last because it is longer and has spaces.
std::string with_names(std::string numbers, std::string_view name, std::string_view module, std::size_t width) {
  if (width == 0)
    return numbers + fmt::format("  {}  {}", filled(std::string(module.empty() ? "-" : module), kModuleColumns), name);
  const std::size_t left = width > numbers.size() + 2 ? width - numbers.size() - 2 : 0;
  const std::size_t beside = left > 2 * kModuleColumns ? kModuleColumns : 0;
  if (beside == 0) return shorten(numbers + "  " + shorten(name, left), width);
  return numbers + "  " + padded(name, left - beside - 2) + "  " + shorten(module, beside);
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const report::CodePoint c = report::first_code_point(text);
    columns += width_of(c);
    text.remove_prefix(c.size);
  }
  return columns;
}

std::string shorten(std::string_view text, std::size_t most) {
  if (columns_of(text) <= most) return std::string(text);
  if (most < 2) return std::string(kEllipsis.substr(0, most == 0 ? 0 : kEllipsis.size()));
  const std::size_t front = (most - 1) / 3;
  return std::string(first_of(text, front)).append(kEllipsis).append(last_of(text, most - 1 - front));
}

std::vector<std::string> head_lines(const TopFacts& facts, std::size_t width) {
  std::vector<std::string> lines;
  lines.push_back(fitted(fmt::format("mixstack top: pid {} {}", facts.pid, facts.command), width));
  constexpr std::uint64_t kLeast = 500'000'000;  // ns; over less a percentage means nothing
  const std::string cpu =
      facts.elapsed_ns < kLeast ? "-" : fmt::format("{:.1f} %", percent(facts.own_cpu_ns, facts.elapsed_ns));
  std::string lost = fmt::format("{} lost", facts.lost);
  if (facts.rounds_left_out != 0) lost += ", " + report::counted(facts.rounds_left_out, "round") + " left out";
  lines.push_back(
      fitted(fmt::format("{:.1f} s, {}, {}, own CPU {}, {}", seconds(facts.elapsed_ns),
                         report::counted(facts.samples, "sample"), lost, cpu, report::counted(facts.threads, "thread")),
             width));
  lines.push_back(fitted("by " + facts.source, width));
  for (const std::string& note : facts.notes) lines.push_back(fitted("  " + report::escape_for_terminal(note), width));
  return lines;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (width != 0 && columns_of(text) > width) {
    std::string_view line = first_of(text, width);
    if (line.empty()) break;  // a character that is wider than a line
    if (const std::size_t space = line.rfind(' ');
        text[line.size()] != ' ' && space != std::string_view::npos && space != 0)
      line = line.substr(0, space);
    lines.emplace_back(line);
    text.remove_prefix(line.size());
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
  return lines;
}

std::string view_line(Browser& browser) {
  constexpr std::string_view kSortWords[] = {"self", "total", "name", "module"};
  const std::string place = browser.place();
  const Selection& selection = browser.selection();
  const std::string_view states =
      selection.states == StateFilter::busy && selection.idle ? "all" : word_of(selection.states);
  std::string text =
      fmt::format("{}{}, {}, {} threads, {:.2f} s, by {}", browser.is_paused() ? "paused: " : "",
                  browser.shows_whole() ? "whole run" : "last interval",
                  !place.empty()            ? place
                  : browser.shows_threads() ? "threads"
                                            : "functions",
                  states, seconds(browser.list().selected), kSortWords[static_cast<std::size_t>(browser.sort_key())]);
  if (!browser.filter().empty()) text += ", only " + report::escape_for_terminal(browser.filter());
  return text;
}

std::string title_line(const Browser& browser, std::size_t width) {
  if (browser.shows_threads())
    return with_names(
        fmt::format("{:>7} {:>9} {:>6} {:>6} {:>6} {:>6}", "total%", "seconds", "run%", "ready%", "wait%", "gc%"),
        "thread", "hottest function", width);
  return with_names(fmt::format("{:>7} {:>7} {:>9}", "self%", "total%", "self s"), "function", "module", width);
}

std::string row_line(const Browser& browser, const Row& row, std::uint64_t selected, std::size_t width) {
  if (!browser.shows_threads())
    return with_names(fmt::format("{:>7.2f} {:>7.2f} {:>9.3f}", percent(row.self, selected),
                                  percent(row.total, selected), seconds(row.self)),
                      row.name, row.module, width);
  std::uint64_t all = 0;
  for (const std::uint64_t time : row.states) all += time;
  const auto share = [&](ListedState state) { return percent(row.states[static_cast<std::size_t>(state)], all); };
  return with_names(fmt::format("{:>7.2f} {:>9.3f} {:>6.1f} {:>6.1f} {:>6.1f} {:>6.1f}", percent(row.total, selected),
                                seconds(row.total), share(ListedState::running), share(ListedState::runnable),
                                share(ListedState::waiting), percent(row.gc, all)),
                    row.name, row.module, width);
}

std::string table_text(Browser& browser, const TopFacts& facts, std::size_t most_rows) {
  std::string text;
  for (const std::string& line : head_lines(facts, 0)) text += line + "\n";
  text += view_line(browser) + "\n" + title_line(browser, 0) + "\n";
  const RowList& list = browser.list();
  for (std::size_t i = 0; i < list.rows.size() && i < most_rows; i++)
    text += row_line(browser, list.rows[i], list.selected, 0) + "\n";
  return text;
}

}  // namespace mixstack::top
