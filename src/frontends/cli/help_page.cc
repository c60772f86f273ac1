#include "frontends/cli/help_page.h"

#include <algorithm>
#include <sstream>

namespace mixstack::cli {
namespace {

std::size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = indent_of(text);
  const std::size_t end = text.find_last_not_of(' ');
  return end == std::string_view::npos ? std::string_view() : text.substr(begin, end + 1 - begin);
}

/// Reads names and value from "-n, --name NAME".
void read_left(HelpEntry& entry) {
  std::istringstream words(entry.left);
  for (std::string word; words >> word;) {
    while (!word.empty() && (word.back() == ',' || word.back() == '.')) word.pop_back();
    if (word.starts_with("-")) {
      entry.names.push_back(word);
    } else if (!entry.names.empty() && entry.value.empty()) {
      entry.value = word;
    }
  }
}

/// Least indent of a continuation line, more than that of any entry.
constexpr std::size_t kContinuation = 9;

std::vector<HelpEntry> entries_of(const std::vector<std::string>& lines) {
  std::vector<HelpEntry> entries;
  for (const std::string& line : lines) {
    if (indent_of(line) >= kContinuation && !entries.empty()) {
      std::string& description = entries.back().description;
      description += (description.empty() ? "" : " ") + std::string(trimmed(line));
      continue;
    }
    const std::string_view text = trimmed(line);
    const std::size_t gap = text.find("  ");
    HelpEntry entry;
    entry.left = std::string(text.substr(0, gap));
    if (gap != std::string_view::npos) entry.description = std::string(trimmed(text.substr(gap)));
    if (entry.left.starts_with("-")) read_left(entry);
    entries.push_back(std::move(entry));
  }
  return entries;
}

HelpBlock::Kind kind_of(const HelpBlock& block) {
  using Kind = HelpBlock::Kind;
  if (block.heading == "Usage") return Kind::usage;
  const bool has_options = std::any_of(block.lines.begin(), block.lines.end(), [](const std::string& line) {
    return indent_of(line) < kContinuation && trimmed(line).starts_with("-");
  });
  if (has_options) return Kind::options;
  const bool has_columns = std::any_of(block.lines.begin(), block.lines.end(), [](const std::string& line) {
    return indent_of(line) > 0 || trimmed(line).find("  ") != std::string_view::npos;
  });
  return has_columns ? Kind::table : Kind::prose;
}

HelpBlock block_of(std::vector<std::string> lines) {
  HelpBlock block;
  constexpr std::string_view kUsage = "Usage:";
  if (lines.front().starts_with(kUsage)) {
    block.heading = "Usage";
    lines.front().erase(0, kUsage.size());
    for (std::string& line : lines) line = std::string(trimmed(line));
    std::erase(lines, "");
  } else if (indent_of(lines.front()) == 0 && lines.front().ends_with(':') && lines.size() > 1 &&
             indent_of(lines[1]) > 0) {
    block.heading = lines.front().substr(0, lines.front().size() - 1);
    lines.erase(lines.begin());
  }
  block.lines = std::move(lines);
  block.kind = kind_of(block);
  if (block.kind == HelpBlock::Kind::options) block.entries = entries_of(block.lines);
  return block;
}

}  // namespace

std::vector<HelpBlock> help_blocks(std::string_view text) {
  std::vector<HelpBlock> blocks;
  std::vector<std::string> lines;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) {
      lines.push_back(line);
    } else if (!lines.empty()) {
      blocks.push_back(block_of(std::move(lines)));
      lines.clear();
    }
  }
  if (!lines.empty()) blocks.push_back(block_of(std::move(lines)));
  return blocks;
}

const HelpEntry* find_entry(const std::vector<HelpBlock>& blocks, std::string_view name) {
  for (const HelpBlock& block : blocks)
    for (const HelpEntry& entry : block.entries)
      if (std::find(entry.names.begin(), entry.names.end(), name) != entry.names.end()) return &entry;
  return nullptr;
}

std::string brief(const HelpEntry& entry) {
  const std::string& text = entry.description;
  return text.substr(0, std::min({text.find(". "), text.find("; "), text.size()}));
}

}  // namespace mixstack::cli
