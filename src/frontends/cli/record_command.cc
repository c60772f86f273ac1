// Input: RecordArguments: processes by PID or name, or a program to start; times, output, page and push options.
// Output: one file, or one per --rotate; the page, the pushed pieces, a summary; an exit code or the program's status.
// Algorithm: 1. Check the place of the output before recording, so that no recording is lost. Block signals before any
// thread starts. 2. For each part (`record::RecordingParts`): open all processes (`open_all`, `open_again`), record
// until time, signal or the last process's end, write. 3. Report how a started program ended (`say_end`).
// Bounds: kUntilReaped; waits of 100 ms per loop; the page is copied at most once a second and for a twentieth of the
// time; memory is bounded by Recording.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <system_error>

#include "base/system/asking_user.h"
#include "base/system/file_limit.h"
#include "features/machine/named_programs.h"
#include "features/machine/refused_recording.h"
#include "features/record/launched_program.h"
#include "features/record/recorded_facts.h"
#include "features/record/recording_parts.h"
#include "features/symbols/usual_places.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/output.h"
#include "frontends/cli/targets.h"
#include "frontends/cli/terminal.h"
#include "frontends/cli/version.h"
#include "output/files/end_signals.h"
#include "output/formats/recording_output.h"
#include "output/push/piece_sender.h"
#include "output/report/escape.h"
#include "output/report/fit.h"
#include "output/report/recording_summary.h"
#include "output/serve/page_server.h"

namespace mixstack::cli {
namespace {

using formats::RecordingOutput;
using record::LaunchedProgram;
using record::RecordingParts;
using record::Recordings;
using record::RunEnd;

constexpr std::chrono::milliseconds kUntilReaped{1000};  // we see a process end a little before waitpid can reap it

ExitCode complain_of(const Environment& environment, const record::NotOpened& fault, std::uint32_t pid) {
  return complain(environment, machine::refused_recording(fault, pid));
}

record::RecordingsOptions recordings_options(const RecordArguments& arguments, const Environment& environment) {
  record::RecordingsOptions options;
  options.recorder = record::recorder_options(arguments.options);
  options.native_names = !arguments.no_names;
  options.subprocesses = arguments.subprocesses;
  options.has_launched = !arguments.command.empty();
  options.keeps_pieces = !arguments.push.url.empty();
  options.open_process = environment.open_process;
  return options;
}

/// Reports that a program ended before a sample was taken.
ExitCode complain_of_nothing(const LaunchedProgram& program, const Environment& environment) {
  return complain(environment, {"no_sample"},
                  program.end_words() + " before a sample could be taken; nothing is written",
                  ExitCode::process_changed);
}

std::string user_words(const base::User& user) {
  if (user.name.empty()) return fmt::format("uid {}", user.uid);
  return fmt::format("uid {} ({})", user.uid, report::escape_for_terminal(user.name));
}

ExitCode open_program(const RecordArguments& arguments, const Environment& environment, Recordings& recordings,
                      std::optional<LaunchedProgram>& program) {
  const auto user = base::asking_user();
  if (user && !arguments.quiet)
    remark(
        environment, {"runs_as_user"},
        fmt::format("sudo: the program runs as {}, who asked; as root: sudo env -u SUDO_UID ...", user_words(*user)));
  auto started = LaunchedProgram::start(arguments.command, arguments.subprocesses, user);
  if (!started)
    return complain(environment, {"not_started", {}, started.error().os_error},
                    fmt::format("cannot start {}: {}", report::escape_for_terminal(arguments.command.front()),
                                std::generic_category().message(started.error().os_error)),
                    ExitCode::no_such_process);
  program = std::move(*started);
  base::raise_file_limit();  // after the start, so that the program does not inherit it
  const auto begun = program->begin(recordings, recordings_options(arguments, environment));
  if (begun) return ExitCode::ok;
  // An error of a program that is ending, or has ended, is not worth reporting.
  if (program->has_ended(kUntilReaped)) return complain_of_nothing(*program, environment);
  const ExitCode code = complain_of(environment, begun.error(), program->pid());
  return complain(environment, fmt::format("{} (pid {}) runs on", program->name(), program->pid()), code);
}

/// Opens the processes of a later part.
ExitCode open_again(RecordingParts& parts, const Environment& environment) {
  const auto reopened = parts.open_again();
  for (const std::uint32_t pid : reopened.ended)
    remark(environment, {"process_ended", {}, 0, std::to_string(pid)},
           fmt::format("process {} has ended: it is not recorded any more", pid));
  if (reopened.failed_pid != 0) return complain_of(environment, reopened.fault, reopened.failed_pid);
  return reopened.is_any ? ExitCode::ok : ExitCode::process_changed;
}

ExitCode open_all(const RecordArguments& arguments, const Environment& environment, Recordings& recordings,
                  std::optional<LaunchedProgram>& program) {
  if (!arguments.command.empty()) return open_program(arguments, environment, recordings, program);
  base::raise_file_limit();  // recording needs several open files per thread
  auto pids = arguments.pids;
  if (!arguments.name.empty()) {
    auto called = pids_called(arguments.name, environment);
    if (!called) return called.error();
    pids = std::move(*called);
  }
  for (const std::uint32_t pid : pids) {
    auto session = machine::is_thread(pid) ? fail(ErrorCode::no_such_process) : environment.open_process(pid);
    if (!session) return complain_of(environment, {session.error()}, pid);
    if (const auto begun = recordings.begin(std::move(*session)); !begun)
      return complain_of(environment, begun.error(), pid);
  }
  return ExitCode::ok;
}

/// One line that is overwritten, if standard error is a terminal.
class ProgressLine {
 public:
  ProgressLine(int fd, bool quiet) : fd_(fd), columns_(quiet ? 0 : terminal_size(fd).columns) {}
  /// At most four times a second.
  void show(Recordings& recordings) {
    constexpr std::uint64_t kInterval = 250'000'000;
    const std::uint64_t elapsed_ns = recordings.elapsed_ns();
    if (columns_ == 0 || elapsed_ns - shown_ns_ < kInterval) return;
    shown_ns_ = elapsed_ns;
    FdOutput(fd_).write("\r" + report::cut_to(words_of(recordings), columns_ - 1) + "\033[K");
    is_there_ = true;
  }
  /// Erases the line.
  void end() {
    if (is_there_) FdOutput(fd_).write("\r\033[K");
    is_there_ = false;
  }

 private:
  static std::string words_of(Recordings& recordings) {
    const std::lock_guard lock(recordings.shared().mutex);
    return report::progress_words(recordings.shared().recording, recordings.elapsed_ns(), recordings.own_cpu());
  }

  int fd_;
  std::size_t columns_;  ///< of the terminal; 0: nothing is shown
  std::uint64_t shown_ns_ = 0;
  bool is_there_ = false;
};

/// Consumers of a running recording: progress line, page, push.
struct Onlookers {
  ProgressLine progress;
  std::optional<serve::PageServer> page{};
  std::optional<push::PieceSender> push{};

  void show(Recordings& recordings) {
    progress.show(recordings);
    if (page) page->publish_rarely([&recordings] { return recordings.snapshot(); });
    if (push) push->go_on([&recordings] { return recordings.take_piece(); });
  }
  /// Shows the finished recording until a signal comes.
  void keep_page(Recordings& recordings, const files::EndSignals& signals, const Environment& environment) {
    page->publish(std::make_shared<const Recording>(recordings.shared().recording), true);
    remark(environment, {"page_stays"}, "the page is there until Ctrl-C");
    while (signals.wait(1000) == 0) {
    }
  }
};

record::RunHooks hooks_of(const files::EndSignals& signals, Recordings& recordings, Onlookers& onlookers) {
  record::RunHooks hooks;
  hooks.wait = [&signals](std::chrono::milliseconds most) { return signals.wait(static_cast<int>(most.count())) == 0; };
  hooks.look = [&onlookers, &recordings] {
    onlookers.show(recordings);
    return true;
  };
  return hooks;
}

/// Nothing: with --push and without -o or --format no file is written.
tl::expected<std::optional<RecordingOutput>, formats::RecordingOutputFault> output_for(const RecordArguments& arguments,
                                                                                       const Environment& environment) {
  if (!arguments.push.url.empty() && arguments.out.empty() && arguments.format.empty()) return std::nullopt;
  auto output = RecordingOutput::make({arguments.out, arguments.format, arguments.shown, environment.out});
  if (!output) return tl::unexpected(output.error());
  return std::move(*output);
}

ExitCode write_file(const RecordingOutput& output, const Recording& recording, unsigned part, bool quiet,
                    const Environment& environment) {
  const formats::WrittenRecording written = output.write(recording, part);
  if (written.fault) {
    const ExitCode code = complain(environment, *written.fault);
    if (written.rescued.empty()) return code;
    return complain(environment, {"kept", {}, 0, written.rescued},
                    fmt::format("the recording is kept as {0}: mixstack convert {0} -o FILE", written.rescued), code);
  }
  if (quiet) return ExitCode::ok;
  remark(environment, {"nothing_to_show"}, output.empty_words(recording));
  if (written.path != "-")
    remark(environment, {"wrote", {}, 0, written.path},
           fmt::format("wrote {}", report::escape_for_terminal(written.path)));
  return ExitCode::ok;
}

ExitCode write_one(const RecordArguments& arguments, const std::optional<RecordingOutput>& output,
                   RecordingParts& parts, const Environment& environment) {
  const Recording& recording = parts.now().shared().recording;
  ExitCode written = ExitCode::ok;
  if (output)
    written = write_file(*output, recording, arguments.rotate.count() == 0 ? 0 : parts.number(), arguments.quiet,
                         environment);
  if (!arguments.quiet)
    remark(environment, {"recorded"}, report::summary_text(recording, arguments.stats, parts.now().is_throttled()));
  return written;
}

/// Reports how the program that we started ended, and which processes run on. Returns our exit status: the program's,
/// if it ended by itself.
int say_end(LaunchedProgram& program, RunEnd end, const std::vector<std::uint32_t>& living, bool quiet,
            const Environment& environment) {
  const bool has_ended = program.has_ended(end == RunEnd::process ? kUntilReaped : std::chrono::milliseconds(0));
  if (has_ended && !quiet) remark(environment, {"program_ended"}, fmt::format("{}", program.end_words()));
  if (!living.empty() && !quiet)
    remark(environment, {"run_on", {}, 0, fmt::format("{}", fmt::join(living, ","))},
           fmt::format("running on: {}", record::names_of(living)));
  return has_ended && end != RunEnd::caller ? program.exit_status() : 0;
}

record::PartsOptions parts_options(const RecordArguments& arguments, const Environment& environment) {
  record::PartsOptions options;
  options.recordings = recordings_options(arguments, environment);
  options.pids = arguments.pids;
  if (!arguments.name.empty()) options.find = [name = arguments.name] { return machine::pids_called(name); };
  options.has_gone = machine::has_gone;
  options.duration = arguments.options.duration;
  options.length = arguments.rotate;
  return options;
}

/// Records part after part; without --rotate there is one.
int record_parts(const RecordArguments& arguments, const std::optional<RecordingOutput>& output,
                 const files::EndSignals& signals, Onlookers& onlookers, const Environment& environment) {
  std::optional<LaunchedProgram> program;
  for (RecordingParts parts(parts_options(arguments, environment));;) {
    const bool is_first = parts.number() == 1;
    if (!parts.is_open()) {
      Recordings& made = parts.make();
      const ExitCode code = is_first ? open_all(arguments, environment, made, program) : open_again(parts, environment);
      if (!is_first && program && code == ExitCode::process_changed)
        return say_end(*program, RunEnd::process, {}, arguments.quiet, environment);
      if (code != ExitCode::ok) return static_cast<int>(code);
      parts.start();
    }
    Recordings& now = parts.now();
    const RunEnd end = parts.run(hooks_of(signals, now, onlookers));
    const std::vector<std::uint32_t> living = parts.finish(end, !program);
    onlookers.progress.end();
    if (is_first && program && end == RunEnd::process && now.shared().recording.facts.account.samples == 0 &&
        program->has_ended(kUntilReaped))
      return static_cast<int>(complain_of_nothing(*program, environment));
    if (onlookers.push) onlookers.push->send(now.take_piece());
    const ExitCode written = write_one(arguments, output, parts, environment);
    if (onlookers.page && end != RunEnd::caller) onlookers.keep_page(now, signals, environment);
    if (written != ExitCode::ok) return static_cast<int>(written);
    if (const auto [failure, failed_pid] = now.failure(); failure.code != ErrorCode::none)
      return static_cast<int>(complain_of(environment, {failure}, failed_pid));
    if (end == RunEnd::process && !program) return static_cast<int>(ExitCode::process_changed);
    if (parts.is_last() || end != RunEnd::time)
      return program ? say_end(*program, end, living, arguments.quiet, environment) : 0;
    parts.advance(program || arguments.subprocesses ? living : std::vector<std::uint32_t>());
  }
}

/// A store gets all states, and no threads.
push::PieceSenderOptions push_options(const RecordArguments& arguments, const Environment& environment,
                                      ProgressLine& progress) {
  push::PieceSenderOptions options = arguments.push;
  options.shown = arguments.shown;
  options.shown.activities = 0;
  options.shown.gc_only = options.shown.by_thread = false;
  options.version = version_number();
  options.usual_spool = symbol_answers::user_cache_folder("push");
  options.proxies = symbol_answers::proxies_of_environment();
  options.say = [&environment, &progress](const push::PushNews& news, const std::string& text) {
    progress.end();
    remark(environment, {news.code, news.reason}, text);
  };
  return options;
}

/// Starts what looks on: the push first, since what is wrong with it is known at once. `ok`: the recording may begin.
ExitCode start_onlookers(const RecordArguments& arguments, Onlookers& onlookers, const Environment& environment) {
  if (!arguments.push.url.empty()) {
    auto push = push::PieceSender::make(push_options(arguments, environment, onlookers.progress));
    if (!push) return complain(environment, push.error(), ExitCode::usage);
    onlookers.push = std::move(*push);
    if (const auto started = onlookers.push->start(); !started)
      return complain(environment, started.error(), ExitCode::output);
  }
  if (!arguments.serve) return ExitCode::ok;
  const report::PageLook look{.clock = {}, .idle = arguments.shown.idle};
  const auto address = start_page(onlookers.page.emplace("mixstack", look), arguments.port, environment);
  if (!address) return address.error();
  remark(environment, {"serves", {}, 0, *address}, fmt::format("{}\nmixstack: {}", *address, kOpenThis));
  return ExitCode::ok;
}

}  // namespace

int run_record(const RecordArguments& arguments, const Environment& environment) {
  const auto output = output_for(arguments, environment);
  if (!output)
    return static_cast<int>(complain(environment, {"no_output", {}, output.error().os_error}, output.error().words,
                                     output.error().is_usage ? ExitCode::usage : ExitCode::output));
  const files::EndSignals signals;
  Onlookers onlookers{ProgressLine(environment.err, arguments.quiet)};
  if (const ExitCode code = start_onlookers(arguments, onlookers, environment); code != ExitCode::ok)
    return static_cast<int>(code);
  const int recorded = record_parts(arguments, *output, signals, onlookers, environment);
  const bool all_sent = !onlookers.push || onlookers.push->finish(!arguments.quiet);
  return recorded != 0 || all_sent ? recorded : static_cast<int>(ExitCode::output);
}

}  // namespace mixstack::cli
