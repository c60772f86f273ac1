#include "frontends/cli/pack_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <system_error>

#include "features/machine/refusal_facts.h"
#include "frontends/cli/dump_command.h"
#include "frontends/cli/fd_output.h"
#include "frontends/cli/version.h"
#include "mixstack/pack.h"
#include "output/report/core_errors.h"
#include "output/report/escape.h"
#include "output/report/words.h"
#include "process/pack/output_file.h"

namespace mixstack::cli {
namespace {

ExitCode cannot_write(const Environment& environment, const std::string& path, const Error& error) {
  const std::string name = path == "-" ? "standard output" : report::escape_for_terminal(path);
  std::string text = fmt::format("mixstack: {} could not be written: {}; nothing is left of it\n", name,
                                 std::generic_category().message(error.os_error));
  if (error.code == ErrorCode::invalid_argument && error.os_error == EEXIST)
    text = fmt::format("mixstack: {} is there already: --force replaces a file, and nothing else\n", name);
  FdOutput(environment.err).write(text);
  return ExitCode::output;
}

std::string size_words(std::uint64_t bytes) {
  return bytes < (1 << 20) ? fmt::format("{} KiB", (bytes + 1023) >> 10)
                           : fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string read_back_text(const PackSummary& s, const std::string& path) {
  constexpr std::size_t kMostNamed = 16;
  if (s.different.empty())
    return fmt::format("Read back: {} as now. Read it with: mixstack dump --core {}\n",
                       s.threads == 1 ? std::string("its thread") : fmt::format("all {} threads", s.threads), path);
  if (s.different.front() == 0) return "Read back: it cannot be read. This is a fault of mixstack\n";
  std::string text = "Read back: not as now are the stacks of threads";
  for (std::size_t i = 0; i < std::min(s.different.size(), kMostNamed); i++) text += fmt::format(" {}", s.different[i]);
  return text + (s.different.size() > kMostNamed ? " ...\n" : "\n");
}

std::string summary_text(const PackArguments& arguments, const PackSummary& s) {
  const std::string path = arguments.out == "-" ? "standard output" : report::escape_for_terminal(arguments.out);
  std::string text = fmt::format("{}: {}, with {}, {} core of {}, {} of {}\n", path, size_words(s.written),
                                 report::counted(s.threads, "thread"), s.full ? "a full" : "a small",
                                 size_words(s.core_bytes), report::counted(s.files, "file"), size_words(s.file_bytes));
  if (s.full && !arguments.full) text += "  the whole core: a small one did not tell the same as the core itself\n";
  if (s.pause.count() != 0) text += fmt::format("  the process stood still for {}\n", report::duration_words(s.pause));
  if (!s.diagnoses.empty()) text += "Missing already in a dump made here:\n";
  for (const Diagnosis& d : s.diagnoses)
    text += fmt::format("  {}: {}\n", report::escape_for_terminal(d.subject), report::escape_for_terminal(d.text));
  text += "Not in it:\n";
  for (const std::string& sentence : s.left_out) text += "  " + report::escape_for_terminal(sentence) + '\n';
  for (const std::string& sentence : s.warnings) text += "Careful: " + report::escape_for_terminal(sentence) + '\n';
  text +=
      "Still in it, as in every dump: what stacks hold (arguments, local variables), names and messages of\n"
      "exceptions" +
      std::string(s.full ? ", and whatever else lies in the process's memory" : "") + ". Mail it to whom you trust.\n";
  return arguments.out == "-" ? text : text + read_back_text(s, path);
}

PackOptions options_of(const PackArguments& arguments) {
  PackOptions options;
  options.full = arguments.full;
  options.with_environment = arguments.with_environment;
  options.with_command_line = arguments.with_command_line;
  options.read_back = arguments.out != "-";
  options.tool = version_text().substr(0, version_text().find('\n'));
  return options;
}

/// Nothing: the failure was reported.
std::optional<PackSummary> pack_process(const PackArguments& arguments, const Environment& environment, int fd,
                                        ExitCode& code) {
  report::RefusalFacts facts = machine::read_refusal_facts(arguments.pid);
  report::Problem problem = report::foreseen_problem(facts);
  Error error;
  if (problem == report::Problem::none) {
    auto summary = mixstack::pack_process(arguments.pid, options_of(arguments), fd);
    if (summary) return std::move(*summary);
    error = summary.error();
    if (error.code == ErrorCode::io_error && error.value == kPackNotWritten) {
      code = cannot_write(environment, arguments.out, error);
      return std::nullopt;
    }
    facts = machine::read_refusal_facts(arguments.pid);
    problem = report::problem_of(error, facts);
  }
  FdOutput(environment.err).write("mixstack: " + report::problem_text(problem, error, facts));
  code = exit_code_of(problem);
  return std::nullopt;
}

std::optional<PackSummary> pack_core(const PackArguments& arguments, const Environment& environment, int fd,
                                     ExitCode& code) {
  auto summary = mixstack::pack_core(arguments.core, options_of(arguments), fd);
  if (summary) return std::move(*summary);
  const Error& error = summary.error();
  if (error.code == ErrorCode::io_error && error.value == kPackNotWritten) {
    code = cannot_write(environment, arguments.out, error);
  } else {
    FdOutput(environment.err).write("mixstack: " + report::core_problem_text(error, arguments.core.path));
    code = exit_code_of_core(error);
  }
  return std::nullopt;
}

}  // namespace

ExitCode run_pack(const PackArguments& arguments, const Environment& environment) {
  (void)std::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit becomes an error, like a full disk
  (void)std::signal(SIGPIPE, SIG_IGN);
  std::optional<pack::OutputFile> file;
  if (arguments.out != "-") {
    auto made = pack::OutputFile::create(arguments.out, arguments.force);
    if (!made) return cannot_write(environment, arguments.out, made.error());
    file.emplace(std::move(*made));
  } else if (::isatty(environment.out) == 1) {
    FdOutput(environment.err).write("mixstack: a pack is nothing for a terminal: -o FILE\n");
    return ExitCode::usage;
  }
  const int fd = file ? file->fd() : environment.out;
  ExitCode code = ExitCode::internal;
  const auto summary = arguments.core.path.empty() ? pack_process(arguments, environment, fd, code)
                                                   : pack_core(arguments, environment, fd, code);
  if (!summary) return code;
  if (file)
    if (const auto published = file->publish(); !published)
      return cannot_write(environment, arguments.out, published.error());
  FdOutput(file ? environment.out : environment.err).write(summary_text(arguments, *summary));
  return summary->different.empty() ? ExitCode::ok : ExitCode::partial;
}

}  // namespace mixstack::cli
