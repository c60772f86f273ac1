// Input: RecordArguments: processes by PID or name, or a program to start; times, output, page and push options.
// Output: one file, or one per --rotate; the page, the pushed pieces, a summary; an exit code or the program's status.
// Algorithm: 1. Check the place of the output before recording, so that no recording is lost. Block signals before any
// thread starts. 2. `record_parts`, for each part: open all processes (`open_all`, `open_again`), start, wait for time,
// signal or the last process's end (`wait_for_end`), finish, write. 3. The next part is opened a second before the end
// (NextPart), if both can record at once, and starts exactly at the end, so that no time is missing between files.
// Otherwise it is opened after the file was written. 4. Report how a started program ended (`say_end`).
// Bounds: kTriesToFollow; waits of 100 ms per loop; kUntilReaped; the page is copied at most once a second and for a
// twentieth of the time; memory is bounded by Recording.
#include "frontends/cli/record_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "base/system/file_limit.h"
#include "features/record/launched_program.h"
#include "features/record/recorded_facts.h"
#include "features/record/recordings.h"
#include "frontends/cli/asking_user.h"
#include "frontends/cli/end_signals.h"
#include "frontends/cli/fd_output.h"
#include "frontends/cli/ps_command.h"
#include "frontends/cli/record_output.h"
#include "frontends/cli/record_progress.h"
#include "frontends/cli/record_push.h"
#include "frontends/cli/recorded_process.h"
#include "output/report/escape.h"
#include "output/report/recording_summary.h"
#include "output/serve/page_server.h"

namespace mixstack::cli {
namespace {

using record::LaunchedProgram;
using record::Recordings;

constexpr int kTriesToFollow = 10;
constexpr std::chrono::milliseconds kBetweenTries{20};
constexpr std::chrono::milliseconds kUntilReaped{1000};  // we see a process end a little before waitpid can reap it

/// Reports that a program ended before a sample was taken.
ExitCode complain_of_nothing(const LaunchedProgram& program, const Environment& environment) {
  FdOutput(environment.err)
      .write(fmt::format("mixstack: {} before a sample could be taken; nothing is written\n", program.end_words()));
  return ExitCode::process_changed;
}

tl::expected<void, record::NotOpened> begin(Recordings& recordings, Result<std::unique_ptr<Session>>& session) {
  if (!session) return tl::unexpected(record::NotOpened{session.error()});
  return recordings.begin(std::move(*session));
}

ExitCode open_program(const RecordArguments& arguments, const Environment& environment, Recordings& recordings,
                      std::optional<LaunchedProgram>& program) {
  const auto user = asking_user();
  if (user && !arguments.quiet)
    FdOutput(environment.err)
        .write(fmt::format("mixstack: sudo: the program runs as {}, who asked; as root: sudo env -u SUDO_UID ...\n",
                           user_words(*user)));
  auto started = LaunchedProgram::start(arguments.command, arguments.subprocesses, user);
  if (!started) {
    FdOutput(environment.err)
        .write(fmt::format("mixstack: cannot start {}: {}\n", report::escape_for_terminal(arguments.command.front()),
                           std::generic_category().message(started.error().os_error)));
    return ExitCode::no_such_process;
  }
  program = std::move(*started);
  base::raise_file_limit();  // after the start, so that the program does not inherit it
  auto session = environment.open_process(program->pid());
  const auto begun = begin(recordings, session);
  if (begun) return ExitCode::ok;
  // It may have left child processes behind; one that is in the middle of an exec cannot be opened yet: retry.
  for (int tries = arguments.subprocesses ? kTriesToFollow : 0; tries > 0; tries--) {
    recordings.follow();
    if (!recordings.living().empty()) return ExitCode::ok;
    std::this_thread::sleep_for(kBetweenTries);
  }
  // An error of a program that is ending, or has ended, is not worth reporting.
  if (program->has_ended(kUntilReaped)) return complain_of_nothing(*program, environment);
  const ExitCode code = complain_of(environment, begun.error(), program->pid());
  FdOutput(environment.err).write(fmt::format("mixstack: {} (pid {}) runs on\n", program->name(), program->pid()));
  return code;
}

/// Opens the processes of a later part; processes that have ended are removed from `arguments`.
ExitCode open_again(RecordArguments& arguments, const Environment& environment, Recordings& recordings) {
  const auto pids = arguments.name.empty() ? arguments.pids : pids_called(arguments.name);
  bool is_any = false;
  for (const std::uint32_t pid : pids) {
    auto session = environment.open_process(pid);
    const auto begun = begin(recordings, session);
    is_any = is_any || begun;
    if (begun) continue;
    if (!has_gone(begun.error().error, pid)) return complain_of(environment, begun.error(), pid);
    std::erase(arguments.pids, pid);
    FdOutput(environment.err).write(fmt::format("mixstack: process {} has ended: it is not recorded any more\n", pid));
  }
  return is_any ? ExitCode::ok : ExitCode::process_changed;
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
    auto session = is_thread(pid) ? fail(ErrorCode::no_such_process) : environment.open_process(pid);
    if (!session) return complain_of(environment, session.error(), pid);
    if (const auto begun = recordings.begin(std::move(*session)); !begun)
      return complain_of(environment, begun.error(), pid);
  }
  return ExitCode::ok;
}

/// The viewer page of a running recording.
class LivePage {
 public:
  explicit LivePage(bool idle) : server_("mixstack", {.clock = {}, .idle = idle}) {}
  /// False: the failure was reported.
  [[nodiscard]] bool start(const RecordArguments& arguments, const Environment& environment) {
    const auto address = server_.start(arguments.port);
    FdOutput errors(environment.err);
    if (address) {
      errors.write(fmt::format("mixstack: {}\nmixstack: open this address; Ctrl-C ends it\n", *address));
    } else {
      errors.write(fmt::format("mixstack: nothing can be served at port {}: {}\n", arguments.port,
                               std::generic_category().message(address.error().os_error)));
    }
    return address.has_value();
  }
  /// Publishes a copy at most once a second, and so rarely that copying takes at most a twentieth of the time.
  void show(Recordings& recordings) {
    const std::uint64_t now = record::monotonic_ns();
    if (now < next_ns_) return;
    server_.publish(recordings.snapshot(), false);
    next_ns_ = now + std::max<std::uint64_t>(1'000'000'000, 20 * (record::monotonic_ns() - now));
  }
  /// Shows the finished recording until a signal comes.
  void keep(Recordings& recordings, const EndSignals& signals, const Environment& environment, bool was_signal) {
    if (was_signal) return;
    server_.publish(std::make_shared<const Recording>(recordings.shared().recording), true);
    FdOutput(environment.err).write("mixstack: the page is there until Ctrl-C\n");
    while (signals.wait(1000) == 0) {
    }
  }

 private:
  serve::PageServer server_;
  std::uint64_t next_ns_ = 0;
};

enum class End : std::uint8_t { time, signal, process };

/// Consumers of a running recording: progress line, page, push.
struct Onlookers {
  ProgressLine progress;
  std::optional<LivePage> page;
  std::optional<RecordPush> push;

  void show(Recordings& recordings) {
    progress.show(recordings.shared(), recordings.elapsed_ns(), recordings.own_cpu());
    if (page) page->show(recordings);
    if (push) push->go_on([&recordings] { return recordings.take_piece(); }, progress);
  }
};

/// The recording of the next file of `--rotate`.
class NextPart {
 public:
  NextPart(const RecordArguments& arguments, const Environment& environment)
      : arguments_(arguments), environment_(environment) {}

  /// Opens it when the end of the current part is near, if both can be open at once, and keeps it ready.
  void prepare(const Recordings& now, std::uint64_t left_ns) {
    if (left_ns > kAhead || left_ns < kTooLate) return;
    if (!has_tried_)
      open(now);
    else if (opened_)
      opened_->stay_warm();
    has_tried_ = true;
  }
  /// Null: not opened; the caller opens it after the current part.
  [[nodiscard]] std::unique_ptr<Recordings> take() {
    has_tried_ = false;
    return std::move(opened_);
  }

 private:
  static constexpr std::uint64_t kAhead = 1'000'000'000, kTooLate = 150'000'000;  // ns

  void open(const Recordings& now) {
    if (!now.can_overlap()) return;
    auto next = std::make_unique<Recordings>(recordings_options(arguments_, environment_));
    const auto pids = arguments_.name.empty() ? now.living() : pids_called(arguments_.name);
    for (const std::uint32_t pid : pids) {
      auto session = environment_.open_process(pid);
      // No report here: it is opened again after the current part, and an error is reported then.
      if (!session || !next->begin(std::move(*session))) return;
    }
    // Two at once may exceed a limit of the kernel and fall back to a worse source: then open it later instead.
    if (!pids.empty() && next->source_words() == now.source_words()) opened_ = std::move(next);
  }

  const RecordArguments& arguments_;
  const Environment& environment_;
  std::unique_ptr<Recordings> opened_;
  bool has_tried_ = false;
};

/// Waits for the end of a part, and returns its cause. `next`: null for the last part.
End wait_for_end(std::chrono::milliseconds length, const EndSignals& signals, Recordings& recordings,
                 Onlookers& onlookers, NextPart* next) {
  record::RunHooks hooks;
  hooks.wait = [&signals](std::chrono::milliseconds most) { return signals.wait(static_cast<int>(most.count())) == 0; };
  hooks.look = [&onlookers, &recordings] {
    onlookers.show(recordings);
    return true;
  };
  if (next != nullptr)
    hooks.before = [next, &recordings](std::uint64_t left_ns) { next->prepare(recordings, left_ns); };
  const record::RunEnd end = recordings.run(length, hooks);
  return end == record::RunEnd::time ? End::time : end == record::RunEnd::caller ? End::signal : End::process;
}

/// Nothing: with --push and without -o or --format no file is written.
tl::expected<std::optional<RecordOutput>, OutputFault> output_for(const RecordArguments& arguments) {
  if (!arguments.push.empty() && arguments.out.empty() && arguments.format.empty()) return std::nullopt;
  auto output = RecordOutput::make(arguments);
  if (!output) return tl::unexpected(output.error());
  return std::move(*output);
}

ExitCode write_one(const RecordArguments& arguments, const std::optional<RecordOutput>& output, Recordings& recordings,
                   unsigned part, const Environment& environment) {
  const Recording& recording = recordings.shared().recording;
  ExitCode written = ExitCode::ok;
  if (output)
    written = arguments.rotate.count() == 0 ? output->write(recording, environment)
                                            : output->write_part(recording, part, environment);
  if (!arguments.quiet)
    FdOutput(environment.err).write(report::summary_text(recording, arguments.stats, recordings.is_throttled()));
  return written;
}

/// Reports how the program that we started ended, and which processes run on. Returns our exit status: the program's,
/// if it ended by itself.
int say_end(LaunchedProgram& program, End end, const std::vector<std::uint32_t>& living, bool quiet,
            const Environment& environment) {
  const bool has_ended = program.has_ended(end == End::process ? kUntilReaped : std::chrono::milliseconds(0));
  std::string text;
  if (has_ended) text += fmt::format("mixstack: {}\n", program.end_words());
  std::vector<std::string> others;
  others.reserve(living.size());
  for (const std::uint32_t pid : living) others.push_back(fmt::format("{} (pid {})", record::name_of(pid), pid));
  constexpr std::size_t kMost = 8;
  if (others.size() > kMost) {
    const std::size_t more = others.size() - kMost;
    others.resize(kMost);
    others.push_back(fmt::format("{} more", more));
  }
  if (!others.empty()) text += fmt::format("mixstack: running on: {}\n", fmt::join(others, ", "));
  if (!quiet) FdOutput(environment.err).write(text);
  return has_ended && end != End::signal ? program.exit_status() : 0;
}

ExitCode complain_of_words(const std::string& words, const Environment& environment, ExitCode code) {
  FdOutput(environment.err).write(fmt::format("mixstack: {}\n", words));
  return code;
}

/// Adds notes to the recording about processes that ended. `told`: PIDs noted in earlier parts.
void note_ends(Recordings& recordings, bool is_the_end, std::set<std::uint32_t>& told) {
  auto& notes = recordings.shared().recording.facts.notes;
  const bool are_several = recordings.shared().recording.processes().size() > 1;
  for (const auto& [pid, words] : recordings.gone())
    if (told.insert(pid).second && are_several) notes.push_back(words + " ended while it was recorded");
  if (is_the_end && !are_several && recordings.failure().first.code == ErrorCode::none)
    notes.emplace_back("the process ended while it was recorded");
}

/// Records part after part; without --rotate there is one.
int record_parts(const RecordArguments& arguments, const std::optional<RecordOutput>& output, const EndSignals& signals,
                 Onlookers& onlookers, const Environment& environment) {
  RecordArguments now = arguments;
  std::optional<LaunchedProgram> program;
  std::set<std::uint32_t> told;
  NextPart next(now, environment);
  std::unique_ptr<Recordings> recordings;
  for (unsigned part = 1;; part++) {
    const auto whole = now.duration;
    const bool is_last = arguments.rotate.count() == 0 || (whole.count() != 0 && whole <= arguments.rotate);
    const auto length = is_last ? whole : arguments.rotate;
    if (recordings == nullptr) {
      recordings = std::make_unique<Recordings>(recordings_options(now, environment));
      const ExitCode code =
          part == 1 ? open_all(now, environment, *recordings, program) : open_again(now, environment, *recordings);
      if (part != 1 && program && code == ExitCode::process_changed)
        return say_end(*program, End::process, {}, arguments.quiet, environment);
      if (code != ExitCode::ok) return static_cast<int>(code);
      recordings->start(length);
    }
    const End end = wait_for_end(length, signals, *recordings, onlookers, is_last ? nullptr : &next);
    auto following = end == End::time && !is_last ? next.take() : nullptr;
    now.duration = whole.count() == 0 ? whole : whole - length;
    const bool is_next_last = now.duration.count() != 0 && now.duration <= arguments.rotate;
    if (following) following->start_where(*recordings, is_next_last ? now.duration : arguments.rotate);
    const std::vector<std::uint32_t> living = recordings->living();
    recordings->finish();
    onlookers.progress.end();
    if (part == 1 && program && end == End::process && recordings->shared().recording.facts.account.samples == 0 &&
        program->has_ended(kUntilReaped))
      return static_cast<int>(complain_of_nothing(*program, environment));
    if (!program) note_ends(*recordings, end == End::process, told);
    if (onlookers.push) onlookers.push->send(recordings->take_piece());
    const ExitCode written = write_one(arguments, output, *recordings, part, environment);
    if (onlookers.page) onlookers.page->keep(*recordings, signals, environment, end == End::signal);
    if (written != ExitCode::ok) return static_cast<int>(written);
    if (const auto [failure, failed_pid] = recordings->failure(); failure.code != ErrorCode::none)
      return static_cast<int>(complain_of(environment, failure, failed_pid));
    if (end == End::process && !program) return static_cast<int>(ExitCode::process_changed);
    if (is_last || end != End::time) return program ? say_end(*program, end, living, arguments.quiet, environment) : 0;
    // The next part records the same processes, without those that have ended.
    for (const std::uint32_t pid : told) std::erase(now.pids, pid);
    if (!living.empty() && (program || arguments.subprocesses)) now.pids = living;
    now.command.clear();
    recordings = std::move(following);
  }
}

}  // namespace

int run_record(const RecordArguments& arguments, const Environment& environment) {
  const auto output = output_for(arguments);
  if (!output) return static_cast<int>(complain_of_words(output.error().words, environment, output.error().code));
  const EndSignals signals;
  Onlookers onlookers{.progress = ProgressLine(environment.err, arguments.quiet), .page = {}, .push = {}};
  if (!arguments.push.empty()) {
    auto push = RecordPush::make(arguments);
    if (!push) return static_cast<int>(complain_of_words(push.error(), environment, ExitCode::usage));
    onlookers.push = std::move(*push);
    if (const ExitCode code = onlookers.push->start(environment); code != ExitCode::ok) return static_cast<int>(code);
  }
  if (arguments.serve && !onlookers.page.emplace(arguments.idle).start(arguments, environment))
    return static_cast<int>(ExitCode::output);
  const int recorded = record_parts(arguments, *output, signals, onlookers, environment);
  const ExitCode pushed = onlookers.push ? onlookers.push->finish() : ExitCode::ok;
  return recorded != 0 ? recorded : static_cast<int>(pushed);
}

}  // namespace mixstack::cli
