#include "cli/record_command.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <optional>
#include <set>

#include "base/file_limit.h"
#include "cli/end_signals.h"
#include "cli/fd_output.h"
#include "cli/launched_program.h"
#include "cli/record_output.h"
#include "cli/record_progress.h"
#include "cli/record_push.h"
#include "cli/recorded_process.h"
#include "cli/version.h"
#include "model/recording_part.h"
#include "profile/kernel_symbols.h"
#include "profile/open_recorder.h"
#include "report/escape.h"
#include "report/words.h"
#include "serve/page_server.h"

namespace mixstack::cli {
namespace {

using profile::OpenedRecorder;
using profile::SharedRecording;

/// Of one process.
struct Recorded {
  std::uint32_t pid = 0;
  OpenedRecorder opened;
  bool is_followed = false;  ///< it became another program, which is recorded as another one of these
};

std::uint64_t unix_ns() {
  timespec now{};
  (void)::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

/// The recording of one process, begun.
class Recordings {
 public:
  Recordings(const RecordArguments& arguments, const Environment& environment)
      : arguments_(arguments), environment_(environment) {
    if (!arguments.push.empty()) shared_.recording.keep_fresh();
    set_start();
  }

  /// Before `start`: waits for it, and looks at a process that runs already, so that it is even from the begin on.
  /// Errors: as `profile::open_recorder`.
  tl::expected<void, profile::NotOpened> begin(std::unique_ptr<Session> session, std::uint32_t parent = 0);
  /// The time begins.
  void start();
  /// Processes that the recorded ones have started, and those that became another program. What cannot be opened is
  /// left out: most live for a moment.
  void follow();
  /// Those that have not ended.
  [[nodiscard]] std::vector<std::uint32_t> living() const;
  [[nodiscard]] bool all_have_ended() const {
    return std::all_of(all_.begin(), all_.end(), [](const Recorded& r) { return r.opened.recorder->has_ended(); });
  }
  [[nodiscard]] SharedRecording& shared() { return shared_; }
  [[nodiscard]] std::uint64_t elapsed_ns() const {
    return (ended_ns_ != 0 ? ended_ns_ : profile::monotonic_ns()) - start_ns_;
  }
  /// Processor time that we used since it began.
  [[nodiscard]] std::uint64_t own_cpu() const { return own_cpu_ns() - cpu_before_ns_; }
  /// As it is now, for those who look at it meanwhile.
  [[nodiscard]] std::shared_ptr<const Recording> snapshot();
  /// What was recorded since the last call, of each sample once.
  [[nodiscard]] Recording take_piece();
  /// Those that were asked for and have ended for good: name and pid as words, by pid. After `finish`.
  [[nodiscard]] std::map<std::uint32_t, std::string> gone() const;
  /// Ends all of them and puts their accounts together. Answers the errors they ended with.
  void finish();
  /// Why samples could not be taken any more, of the first process that is there still; code none: nothing is wrong.
  [[nodiscard]] std::pair<Error, std::uint32_t> failure() const;

 private:
  void describe(RecordingFacts& facts) const;
  void set_start();

  const RecordArguments& arguments_;
  const Environment& environment_;
  std::uint64_t start_ns_ = 0, end_ns_ = UINT64_MAX;
  std::uint64_t ended_ns_ = 0;       ///< 0: not yet
  std::uint64_t cpu_before_ns_ = 0;  ///< of ours, when it began
  bool is_started_ = false;
  std::uint64_t piece_began_ns_ = 0;  ///< of the day
  SharedRecording shared_;
  profile::KernelSymbols kernel_;
  std::vector<Recorded> all_;
  std::set<std::uint32_t> known_;  ///< pids that were begun, or could not be
};

tl::expected<void, profile::NotOpened> Recordings::begin(std::unique_ptr<Session> session, std::uint32_t parent) {
  const TargetInfo& target = session->target().info();
  const std::uint32_t pid = target.pid;
  known_.insert(pid);
  if (arguments_.no_names) {
    SymbolOptions symbols;
    symbols.native_names = false;
    session->set_symbol_options(symbols);
  }
  profile::RecorderOptions options;
  options.want = arguments_.mode == RecordMode::cpu ? profile::Want::cpu : profile::Want::wall;
  options.hertz = arguments_.hertz;
  options.most_held = arguments_.most_held;
  options.may_stop = !arguments_.no_stop;
  options.kernel = arguments_.kernel;
  if (arguments_.kernel) options.stacks.kernel = &kernel_;
  {
    const std::lock_guard lock(shared_.mutex);
    const auto process =
        shared_.recording.process({.pid = pid, .parent = parent, .comm = name_of(pid), .command = command_of(target)});
    options.stacks.process = process.value_or(0);
  }
  auto shared_session = std::make_unique<profile::SharedSession>();
  shared_session->session = std::move(session);
  auto opened = profile::open_recorder(std::move(shared_session), shared_, options);
  if (!opened) return tl::unexpected(opened.error());
  // What has just been started is not to run unseen meanwhile.
  if (!is_started_ && arguments_.command.empty()) opened->recorder->warm_up();
  if (is_started_) opened->recorder->start(start_ns_, end_ns_);
  const std::lock_guard lock(shared_.mutex);
  for (const std::string& note : opened->notes) shared_.recording.facts.notes.push_back(note);
  all_.push_back({pid, std::move(*opened), false});
  return {};
}

void Recordings::set_start() {
  start_ns_ = profile::monotonic_ns();
  cpu_before_ns_ = own_cpu_ns();
  piece_began_ns_ = unix_ns();
  shared_.recording.facts.started_unix_ns = piece_began_ns_;
}

void Recordings::start() {
  set_start();
  if (const auto time = arguments_.duration; time.count() != 0)
    end_ns_ = start_ns_ + static_cast<std::uint64_t>(time.count()) * 1'000'000u;
  is_started_ = true;
  for (Recorded& one : all_) one.opened.recorder->start(start_ns_, end_ns_);
}

void Recordings::follow() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;  // pid, parent
  if (arguments_.subprocesses)
    for (const std::uint32_t pid : adopted())
      if (!known_.contains(pid)) found.emplace_back(pid, all_.empty() ? 0 : all_.front().pid);
  for (const Recorded& one : all_) {
    if (!one.opened.recorder->has_ended()) {
      for (const std::uint32_t child : children_of(one.pid))
        if (!known_.contains(child)) found.emplace_back(child, one.pid);
    } else if (one.opened.recorder->end_error().code == ErrorCode::process_changed && !one.is_followed) {
      found.emplace_back(one.pid, one.pid);
    }
  }
  for (const auto& [pid, parent] : found) {
    for (Recorded& one : all_)
      one.is_followed = one.is_followed || (one.pid == pid && one.opened.recorder->has_ended());
    known_.insert(pid);
    auto session = environment_.open_process(pid);
    if (session) (void)begin(std::move(*session), parent);
  }
}

std::vector<std::uint32_t> Recordings::living() const {
  std::vector<std::uint32_t> pids;
  for (const Recorded& one : all_)
    if (!one.opened.recorder->has_ended()) pids.push_back(one.pid);
  return pids;
}

std::map<std::uint32_t, std::string> Recordings::gone() const {
  std::map<std::uint32_t, std::string> words;
  for (const Recorded& one : all_) {
    if (!one.opened.recorder->has_ended() || one.opened.recorder->end_error().code != ErrorCode::no_such_process)
      continue;
    for (const RecordedProcess& process : shared_.recording.processes())
      if (process.pid == one.pid && process.parent == 0)
        words[one.pid] = fmt::format("{} (pid {})", process.comm, one.pid);
  }
  return words;
}

std::pair<Error, std::uint32_t> Recordings::failure() const {
  for (const Recorded& one : all_) {
    const Error& error = one.opened.recorder->end_error();
    if (error.code != ErrorCode::none && error.code != ErrorCode::no_such_process &&
        error.code != ErrorCode::process_changed)
      return {error, one.pid};
  }
  return {};
}

void Recordings::finish() {
  ended_ns_ = std::min(profile::monotonic_ns(), end_ns_);
  for (Recorded& one : all_) one.opened.recorder->stop();
  const std::lock_guard lock(shared_.mutex);
  RecordingFacts& facts = shared_.recording.facts;
  std::uint64_t for_budget = 0;
  for (const Recorded& one : all_) {
    const profile::SourceAccount account = one.opened.recorder->account();
    facts.account.lost_in_kernel += account.lost_in_kernel;
    facts.account.lost_to_stops += account.lost_to_stops;
    facts.account.skipped += account.skipped;
    for_budget += account.skipped_for_budget;
    facts.account.lost_in_queue += one.opened.recorder->lost_in_queue();
    for (std::size_t i = 0; i < facts.holds.counts.size(); i++) facts.holds.counts[i] += account.holds.counts[i];
    facts.holds.total_ns += account.holds.total_ns;
    facts.holds.holds += account.holds.holds;
    facts.holds.longest_ns = std::max(facts.holds.longest_ns, account.holds.longest_ns);
  }
  if (for_budget != 0)
    facts.notes.push_back(fmt::format(
        "{} left out, lest threads are held for more than {:g} % of their time: --max-pause SHARE allows more",
        report::counted(for_budget, "round"), 100 * arguments_.most_held));
  describe(facts);
  facts.own_cpu_ns = own_cpu();
  shared_.recording.sort_samples();
}

void Recordings::describe(RecordingFacts& facts) const {
  facts.version = version_number();
  facts.duration_ns = elapsed_ns();
  for (const Recorded& one : all_) {
    facts.cpu_hertz = std::max(facts.cpu_hertz, one.opened.cpu_hertz);
    facts.wall_hertz = std::max(facts.wall_hertz, one.opened.wall_hertz);
    if (facts.source.empty()) facts.source = one.opened.recorder->source_words();
    if (facts.arch.empty())
      facts.arch = report::arch_name(one.opened.recorder->session().session->target().info().arch);
  }
  utsname host{};
  if (::uname(&host) == 0) facts.host = host.nodename;
}

std::shared_ptr<const Recording> Recordings::snapshot() {
  auto copy = std::make_shared<Recording>();
  {
    const std::lock_guard lock(shared_.mutex);
    *copy = shared_.recording;
  }
  describe(copy->facts);
  copy->sort_samples();
  return copy;
}

Recording Recordings::take_piece() {
  Recording piece;
  {
    const std::lock_guard lock(shared_.mutex);
    piece = part_of(shared_.recording, shared_.recording.take_fresh());
  }
  describe(piece.facts);
  const std::uint64_t now = unix_ns();
  piece.facts.started_unix_ns = piece_began_ns_;
  piece.facts.duration_ns = now - std::min(now, piece_began_ns_);
  piece_began_ns_ = now;
  return piece;
}

constexpr std::chrono::milliseconds kUntilReaped{
    1000};  // a process is gone for us a little before it can be waited for

/// Of a program that has ended: nothing of it was seen.
ExitCode complain_of_nothing(const LaunchedProgram& program, const Environment& environment) {
  FdOutput(environment.err)
      .write(fmt::format("mixstack: {} before a sample could be taken; nothing is written\n", program.end_words()));
  return ExitCode::process_changed;
}

tl::expected<void, profile::NotOpened> begin(Recordings& recordings, Result<std::unique_ptr<Session>>& session) {
  if (!session) return tl::unexpected(profile::NotOpened{session.error()});
  return recordings.begin(std::move(*session));
}

ExitCode open_program(const RecordArguments& arguments, const Environment& environment, Recordings& recordings,
                      std::optional<LaunchedProgram>& program) {
  auto started = LaunchedProgram::start(arguments.command, arguments.subprocesses);
  if (!started) {
    FdOutput(environment.err)
        .write(fmt::format("mixstack: cannot start {}: {}\n", report::escape_for_terminal(arguments.command.front()),
                           std::generic_category().message(started.error().os_error)));
    return ExitCode::no_such_process;
  }
  program = std::move(*started);
  base::raise_file_limit();  // which is not for the program
  auto session = environment.open_process(program->pid());
  const auto begun = begin(recordings, session);
  if (begun) return ExitCode::ok;
  if (arguments.subprocesses) recordings.follow();  // it may have left others behind
  if (!recordings.living().empty()) return ExitCode::ok;
  // Whatever else is said of it then: it is on its way out, or has gone.
  if (program->has_ended(kUntilReaped)) return complain_of_nothing(*program, environment);
  const ExitCode code = complain_of(environment, begun.error(), program->pid());
  FdOutput(environment.err).write(fmt::format("mixstack: {} (pid {}) runs on\n", program->name(), program->pid()));
  return code;
}

/// Of one in a row of files: processes that have ended meanwhile are left out, and taken out of `arguments`.
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
  base::raise_file_limit();  // some files for each thread are open
  const auto pids = arguments.name.empty() ? arguments.pids : pids_called(arguments.name);
  if (pids.empty()) {
    FdOutput(environment.err)
        .write(fmt::format("mixstack: no .NET process is called '{}' (mixstack ps lists them)\n", arguments.name));
    return ExitCode::no_such_process;
  }
  for (const std::uint32_t pid : pids) {
    auto session = is_thread(pid) ? fail(ErrorCode::no_such_process) : environment.open_process(pid);
    if (!session) return complain_of(environment, session.error(), pid);
    if (const auto begun = recordings.begin(std::move(*session)); !begun)
      return complain_of(environment, begun.error(), pid);
  }
  return ExitCode::ok;
}

/// The page of a recording while it is made.
class LivePage {
 public:
  explicit LivePage(bool idle) : server_("mixstack", {.clock = {}, .idle = idle}) {}
  /// False: it is said why not.
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
  /// Once a second, or as seldom as making copies takes little of the time.
  void show(Recordings& recordings) {
    const std::uint64_t now = profile::monotonic_ns();
    if (now < next_ns_) return;
    server_.publish(recordings.snapshot(), false);
    next_ns_ = now + std::max<std::uint64_t>(1'000'000'000, 20 * (profile::monotonic_ns() - now));
  }
  /// The last one, until a signal comes.
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

/// Those who look at a recording while it is made.
struct Onlookers {
  Progress progress;
  std::optional<LivePage> page;
  std::optional<RecordPush> push;

  void show(Recordings& recordings) {
    progress.show(recordings.shared(), recordings.elapsed_ns(), recordings.own_cpu());
    if (page) page->show(recordings);
    if (push) push->go_on([&recordings] { return recordings.take_piece(); }, progress);
  }
};

/// What came first.
End wait_for_end(const RecordArguments& arguments, const EndSignals& signals, Recordings& recordings,
                 Onlookers& onlookers) {
  constexpr int kMilliseconds = 100;
  const auto time = static_cast<std::uint64_t>(arguments.duration.count()) * 1'000'000u;
  for (;;) {
    const std::uint64_t elapsed = recordings.elapsed_ns();
    if (time != 0 && elapsed >= time) return End::time;
    const auto left = time == 0
                          ? kMilliseconds
                          : static_cast<int>(std::min<std::uint64_t>(kMilliseconds, (time - elapsed) / 1'000'000 + 1));
    if (signals.wait(left) != 0) return End::signal;
    if (arguments.subprocesses || recordings.all_have_ended()) recordings.follow();
    if (recordings.all_have_ended()) return End::process;
    onlookers.show(recordings);
  }
}

/// Nothing: what is sent is not written, too, unless it is asked for.
tl::expected<std::optional<RecordOutput>, OutputFault> output_for(const RecordArguments& arguments) {
  if (!arguments.push.empty() && arguments.out.empty() && arguments.format.empty()) return std::nullopt;
  auto output = RecordOutput::make(arguments);
  if (!output) return tl::unexpected(output.error());
  return std::move(*output);
}

ExitCode write_one(const RecordArguments& arguments, const std::optional<RecordOutput>& output,
                   const Recording& recording, unsigned part, const Environment& environment) {
  ExitCode written = ExitCode::ok;
  if (output)
    written = arguments.rotate.count() == 0 ? output->write(recording, environment)
                                            : output->write_part(recording, part, environment);
  if (!arguments.quiet) FdOutput(environment.err).write(summary_text(recording, arguments.stats));
  return written;
}

/// Of a program that we started: how it ended, and what runs on without us. Answers our exit status: its own, where it
/// ended by itself.
int say_end(LaunchedProgram& program, End end, const std::vector<std::uint32_t>& living, bool quiet,
            const Environment& environment) {
  const bool has_ended = program.has_ended(end == End::process ? kUntilReaped : std::chrono::milliseconds(0));
  std::string text;
  if (has_ended) text += fmt::format("mixstack: {}\n", program.end_words());
  std::vector<std::string> others;
  others.reserve(living.size());
  for (const std::uint32_t pid : living) others.push_back(fmt::format("{} (pid {})", name_of(pid), pid));
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

/// Part for part, until one of them is the last.
int record_parts(const RecordArguments& arguments, const std::optional<RecordOutput>& output, const EndSignals& signals,
                 Onlookers& onlookers, const Environment& environment) {
  RecordArguments now = arguments;
  std::optional<LaunchedProgram> program;
  for (unsigned part = 1;; part++) {
    auto& left = now.duration;
    const auto whole = left;
    const bool is_last = arguments.rotate.count() == 0 || (whole.count() != 0 && whole <= arguments.rotate);
    if (!is_last) left = arguments.rotate;
    const auto recordings = std::make_unique<Recordings>(now, environment);
    const ExitCode code =
        part == 1 ? open_all(now, environment, *recordings, program) : open_again(now, environment, *recordings);
    if (part != 1 && program && code == ExitCode::process_changed)
      return say_end(*program, End::process, {}, arguments.quiet, environment);
    if (code != ExitCode::ok) return static_cast<int>(code);
    recordings->start();
    const End end = wait_for_end(now, signals, *recordings, onlookers);
    const std::vector<std::uint32_t> living = recordings->living();
    recordings->finish();
    onlookers.progress.end();
    if (part == 1 && program && end == End::process && recordings->shared().recording.facts.account.samples == 0 &&
        program->has_ended(kUntilReaped))
      return static_cast<int>(complain_of_nothing(*program, environment));
    const auto [failure, failed_pid] = recordings->failure();
    auto& notes = recordings->shared().recording.facts.notes;
    const auto gone = program ? std::map<std::uint32_t, std::string>() : recordings->gone();
    for (const auto& [pid, words] : gone) {
      if (recordings->shared().recording.processes().size() > 1)
        notes.push_back(words + " ended while it was recorded");
      std::erase(now.pids, pid);
    }
    if (end == End::process && !program && failure.code == ErrorCode::none &&
        recordings->shared().recording.processes().size() == 1)
      notes.emplace_back("the process ended while it was recorded");
    if (onlookers.push) onlookers.push->send(recordings->take_piece());
    const ExitCode written = write_one(arguments, output, recordings->shared().recording, part, environment);
    if (onlookers.page) onlookers.page->keep(*recordings, signals, environment, end == End::signal);
    if (written != ExitCode::ok) return static_cast<int>(written);
    if (failure.code != ErrorCode::none) return static_cast<int>(complain_of(environment, failure, failed_pid));
    if (end == End::process && !program) return static_cast<int>(ExitCode::process_changed);
    if (is_last || end != End::time) return program ? say_end(*program, end, living, arguments.quiet, environment) : 0;
    // The next part is of the same processes, as far as they are there still.
    if (!living.empty() && (program || arguments.subprocesses)) now.pids = living;
    now.command.clear();
    left = whole.count() == 0 ? whole : whole - arguments.rotate;
  }
}

}  // namespace

int run_record(const RecordArguments& arguments, const Environment& environment) {
  const auto output = output_for(arguments);
  if (!output) return static_cast<int>(complain_of_words(output.error().words, environment, output.error().code));
  const EndSignals signals;
  Onlookers onlookers{.progress = Progress(environment.err, arguments.quiet), .page = {}, .push = {}};
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
