#include "output/help/help_page.h"

#include <algorithm>
#include <sstream>

namespace mixstack::help {
namespace {

constexpr std::size_t kWidth = 79;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Words in lines of at most `width` columns; a longer word has a line of its own.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::istringstream in{std::string(text)};
  for (std::string word; in >> word;) {
    if (lines.empty() || lines.back().size() + 1 + word.size() > width)
      lines.push_back(word);
    else
      lines.back() += " " + word;
  }
  return lines;
}

/// A description begins behind what it describes, or below it where that is long.
std::string entry_text(const HelpEntry& entry, std::size_t column) {
  std::string text(entry.left.starts_with("--") ? 6 : 2, ' ');
  text += entry.shown();
  if (text.size() >= column && !entry.description.empty()) {
    text += "\n";
    text.append(column, ' ');
  } else {
    text.resize(column, ' ');
  }
  bool is_first = true;
  for (const std::string& line : wrapped(entry.description, kWidth - column)) {
    if (!is_first) text += "\n" + std::string(column, ' ');
    text += line;
    is_first = false;
  }
  return text + "\n";
}

std::string block_text(const HelpBlock& block, std::size_t column) {
  std::string text;
  if (block.kind == HelpBlock::Kind::usage) {
    for (const std::string& line : block.lines) text += (text.empty() ? "Usage: " : "       ") + line + "\n";
    return text;
  }
  if (!block.heading.empty())
    for (const std::string& line : wrapped(block.heading + ":", kWidth)) text += line + "\n";
  for (const std::string& line : block.lines) text += line + "\n";
  for (const HelpEntry& entry : block.entries) text += entry_text(entry, column);
  return text;
}

}  // namespace

std::vector<std::string> HelpEntry::names() const {
  std::vector<std::string> names;
  if (!left.starts_with('-')) return names;
  std::istringstream in(left);
  for (std::string name; in >> name;) names.push_back(name.substr(0, name.find(',')));
  return names;
}

HelpBlock prose(std::string_view text) { return {HelpBlock::Kind::prose, "", lines_of(text)}; }
HelpBlock usage(std::vector<std::string> lines) { return {HelpBlock::Kind::usage, "Usage", std::move(lines)}; }
HelpBlock table(std::string heading, std::string_view text) {
  return {HelpBlock::Kind::table, std::move(heading), lines_of(text)};
}
HelpBlock options(std::string heading, std::vector<HelpEntry> entries) {
  return {HelpBlock::Kind::options, std::move(heading), {}, std::move(entries)};
}
HelpBlock commands(std::string heading, std::vector<HelpEntry> entries) {
  return {HelpBlock::Kind::commands, std::move(heading), {}, std::move(entries)};
}

std::vector<HelpEntry> joined(std::vector<HelpEntry> first, const std::vector<HelpEntry>& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

std::string help_text(const HelpPage& page) {
  std::string text;
  for (const HelpBlock& block : page.blocks) text += (text.empty() ? "" : "\n") + block_text(block, page.column);
  return text;
}

const HelpEntry* find_entry(const std::vector<HelpBlock>& blocks, std::string_view name) {
  for (const HelpBlock& block : blocks)
    for (const HelpEntry& entry : block.entries) {
      const std::vector<std::string> names = entry.names();
      if (std::find(names.begin(), names.end(), name) != names.end()) return &entry;
    }
  return nullptr;
}

std::string brief(const HelpEntry& entry) {
  const std::string& text = entry.description;
  return text.substr(0, std::min({text.find(". "), text.find("; "), text.size()}));
}

}  // namespace mixstack::help
