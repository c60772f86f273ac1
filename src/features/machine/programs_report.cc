#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include "features/machine/not_readable.h"
#include "mixstack/machine.h"
#include "output/report/escape.h"
#include "output/report/fit.h"
#include "output/report/json_fields.h"
#include "output/report/words.h"

namespace mixstack {
namespace {

std::string command_text(const RunningProgram& program) {
  std::string text;
  for (const std::string& word : program.command_line)
    text += (text.empty() ? "" : " ") + report::escape_for_terminal(word);
  return text.empty() ? "[" + report::escape_for_terminal(program.comm) + "]" : text;
}

/// Columns are as wide as their contents; the last one takes the rest of the terminal.
std::string table_text(const std::vector<std::vector<std::string>>& rows, std::size_t width) {
  constexpr std::size_t kMostInCell = 24;
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows)
    for (std::size_t i = 0; i + 1 < row.size(); i++)
      widths[i] = std::max(widths[i], std::min(report::columns(row[i]), kMostInCell));
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i + 1 < row.size(); i++) {
      const std::string cell = report::shorten_middle(row[i], kMostInCell);
      line += cell + std::string(widths[i] + 2 - std::min(report::columns(cell), widths[i]), ' ');
    }
    const std::size_t taken = report::columns(line);
    line += width == 0 ? row.back() : report::shorten_middle(row.back(), std::max(width, taken + 20) - taken);
    out += line + '\n';
  }
  return out;
}

std::string text_of(const RunningPrograms& found, std::size_t width) {
  std::string out;
  if (found.programs.empty()) {
    out = "no .NET process\n";
  } else {
    std::vector<std::vector<std::string>> rows{
        {"PID", "RUNTIME", "HOSTING", "USER", "CONTAINER", "THREADS", "CPU", "UP", "COMMAND"}};
    for (const RunningProgram& p : found.programs)
      rows.push_back({std::to_string(p.pid), p.version.empty() ? "?" : report::escape_for_terminal(p.version),
                      std::string(hosting_name(p.hosting)),
                      p.user.empty() ? std::to_string(p.uid) : report::escape_for_terminal(p.user),
                      p.container.empty() ? "-" : p.container, std::to_string(p.threads),
                      fmt::format("{:.0f}%", p.cpu_percent), report::age_words(p.uptime), command_text(p)});
    out = table_text(rows, width);
  }
  return out + machine::not_readable_text(found);
}

/// Malformed UTF-8 becomes U+FFFD.
void write_program(report::Writer& out, const RunningProgram& p) {
  report::JsonObject one(out);
  one.number("pid", std::uint64_t{p.pid});
  one.text_or_null("runtime", p.version);
  one.word("hosting", hosting_name(p.hosting));
  one.number("uid", std::uint64_t{p.uid});
  one.text_or_null("user", p.user);
  one.text_or_null("container", p.container);
  one.number("threads", std::uint64_t{p.threads});
  one.key("cpu_percent") << fmt::format("{:.1f}", p.cpu_percent);
  one.key("cpu_seconds") << fmt::format("{:.2f}", p.cpu_seconds);
  one.number("uptime_seconds", std::int64_t{p.uptime.count()});
  one.text("name", p.comm);
  one.text("executable", p.executable);
  one.key("command_line");
  report::json_array(out, p.command_line, "", [&](const std::string& word) { out << report::json_string(word); });
  one.close();
}

}  // namespace

std::string machine::not_readable_text(const RunningPrograms& found) {
  const std::size_t count = found.not_readable.size();
  if (count == 0) return {};
  std::string text = fmt::format("{} process{} could not be looked into", count, count == 1 ? "" : "es");
  if (!found.as_root) return text + ": run as root to see those of other users\n";
  constexpr std::size_t kMostNamed = 5;
  for (std::size_t i = 0; i < std::min(count, kMostNamed); i++) {
    const UnreadableProcess& p = found.not_readable[i];
    text += fmt::format("{}{} ({}, {})", i == 0 ? ": " : ", ", p.pid, report::escape_for_terminal(p.comm),
                        std::generic_category().message(p.os_error));
  }
  if (count > kMostNamed) text += fmt::format(" and {} more", count - kMostNamed);
  return text + fmt::format("\n  mixstack doctor {} says what forbids it\n", found.not_readable.front().pid);
}

void write_text(const RunningPrograms& found, const ReportSink& sink, std::size_t width) {
  sink(text_of(found, width));
}

void write_json(const RunningPrograms& found, const ReportSink& sink) {
  report::Writer out(sink);
  report::JsonObject document(out);
  document.word("format", "mixstack-ps");
  document.number("format_version", std::uint64_t{1});
  document.key("processes");
  report::json_array(out, found.programs, "\n ", [&](const RunningProgram& p) { write_program(out, p); });
  document.number("not_readable", std::uint64_t{found.not_readable.size()});
  document.close();
  out << '\n';
  out.flush();
}

}  // namespace mixstack
