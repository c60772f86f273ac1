// Input: TopArguments, signals, keys. Output: the screen (TopScreen) or tables as text, and an exit code.
// Algorithm: signals are blocked before any thread starts and read by a descriptor. One loop waits for signals, keys or
// the end of an interval; at its end the recorder adds its samples to the browser. Late intervals are skipped.
// Order: sampling is held before we stop ourselves (Ctrl-Z), since a thread held for a sample would stay stopped.
// Bounds: a wait is at most 100 ms, because the process may end at any time.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <system_error>

#include "base/system/file_limit.h"
#include "base/system/scoped_fd.h"
#include "features/machine/refused_recording.h"
#include "features/top/interval_clock.h"
#include "features/top/live_recorder.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/output.h"
#include "frontends/cli/targets.h"
#include "frontends/cli/terminal.h"
#include "frontends/cli/terminal_type.h"
#include "frontends/cli/top_screen.h"

namespace mixstack::cli {
namespace {

/// Blocks the signals that end or stop a program at a terminal, or report its size, and reads them by signalfd, so that
/// none interrupts drawing or leaves the terminal in its raw state. Make it before threads: they inherit the mask.
class TerminalSignals {
 public:
  TerminalSignals() {
    (void)sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP}) (void)sigaddset(&signals_, signal);
    (void)pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    fd_ = base::ScopedFd(::signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  /// Discards pending signals: we end anyway.
  ~TerminalSignals() {
    while (next() != 0) {
    }
    (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  TerminalSignals(const TerminalSignals&) = delete;
  TerminalSignals& operator=(const TerminalSignals&) = delete;
  [[nodiscard]] int fd() const { return fd_.get(); }
  /// The next pending signal; 0: none.
  [[nodiscard]] int next() const {
    signalfd_siginfo info{};
    return ::read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  sigset_t signals_{}, before_{};
  base::ScopedFd fd_;
};

top::LiveRecorderOptions live_options(const RecordArguments& arguments, const Environment& environment) {
  top::LiveRecorderOptions options;
  options.recorder = record::recorder_options(arguments.options);
  options.shown = arguments.shown;
  options.shown.kernel = arguments.options.kernel;
  options.open_process = environment.open_process;
  return options;
}

std::uint64_t nanoseconds(std::chrono::milliseconds time) {
  return static_cast<std::uint64_t>(time.count()) * 1'000'000u;
}

enum class End : std::uint8_t { none, time, reader, process, output };

/// Runs `mixstack top`, on a terminal or as text.
class Top {
 public:
  Top(const TopArguments& arguments, const Environment& environment, std::uint32_t pid)
      : arguments_(arguments),
        environment_(environment),
        browser_(top::Selection{.idle = arguments.record.shown.idle}),
        pid_(pid),
        recorder_(live_options(arguments.record, environment), pid),
        clock_(nanoseconds(arguments.interval)) {
    browser_.show_threads(arguments.by_thread);
    browser_.show_whole(arguments.whole);
  }
  /// `terminal`: the type of our terminal; nothing: the output is a file or a pipe.
  [[nodiscard]] ExitCode run(const TerminalSignals& signals, const std::optional<std::string>& terminal);

 private:
  [[nodiscard]] int milliseconds_left() const;
  /// Waits for a signal, a key or the end of an interval, and updates the browser then.
  [[nodiscard]] End wait(const TerminalSignals& signals);
  [[nodiscard]] End take_signals(const TerminalSignals& signals);
  [[nodiscard]] End show_at_terminal(const TerminalSignals& signals);
  [[nodiscard]] End show_as_text(const TerminalSignals& signals);
  /// `output`: writing failed, and was reported; `reader`: a signal came while nobody reads.
  [[nodiscard]] End write_table();
  void stop_as_asked();
  [[nodiscard]] ExitCode say_end() const;

  const TopArguments& arguments_;
  const Environment& environment_;
  top::Browser browser_;
  std::uint32_t pid_;
  top::LiveRecorder recorder_;
  top::IntervalClock clock_;
  std::unique_ptr<TopScreen> screen_;
  std::uint64_t updated_ns_ = 0;
  bool is_new_ = false;  ///< something changed since the last drawing
};

int Top::milliseconds_left() const {
  constexpr std::uint64_t kMost = 100;  // the process may end at any time
  std::uint64_t until = clock_.next();
  if (const std::uint64_t end = nanoseconds(arguments_.record.options.duration); end != 0) until = std::min(until, end);
  const std::uint64_t now = recorder_.elapsed_ns();
  return now >= until ? 0 : static_cast<int>(std::min<std::uint64_t>((until - now) / 1'000'000 + 1, kMost));
}

End Top::take_signals(const TerminalSignals& signals) {
  while (const int signal = signals.next()) {
    if (signal == SIGWINCH) {
      if (screen_) screen_->resize();
      is_new_ = is_new_ || screen_;
    } else if (signal == SIGTSTP) {
      stop_as_asked();
    } else {
      return End::reader;
    }
  }
  return End::none;
}

/// Stops sampling before we stop ourselves: a thread held for a sample would stay stopped.
void Top::stop_as_asked() {
  recorder_.hold(browser_);
  if (screen_) screen_->suspend();
  (void)::kill(::getpid(), SIGSTOP);
  recorder_.go_on();
  if (screen_) screen_->resume();
  clock_.begin_again(recorder_.elapsed_ns());
}

End Top::wait(const TerminalSignals& signals) {
  pollfd fds[] = {{signals.fd(), POLLIN, 0}, {screen_ ? STDIN_FILENO : -1, POLLIN, 0}};
  (void)::poll(fds, 2, milliseconds_left());
  if (const End end = take_signals(signals); end != End::none) return end;
  if ((fds[1].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return End::reader;
  if (fds[1].revents != 0) {
    if (!screen_->read_keys(browser_)) return End::reader;
    is_new_ = true;
  }
  const std::uint64_t now = recorder_.elapsed_ns();
  const std::uint64_t end = nanoseconds(arguments_.record.options.duration);
  const bool is_over = end != 0 && now >= end, has_ended = recorder_.has_ended();
  if (clock_.is_over(now) || is_over || has_ended) {
    recorder_.update(browser_);
    updated_ns_ = now;
    is_new_ = true;
    clock_.ended(now);
  }
  return has_ended && recorder_.has_ended() ? End::process : is_over ? End::time : End::none;
}

End Top::show_at_terminal(const TerminalSignals& signals) {
  screen_->draw(browser_, recorder_.facts());
  for (;;) {
    const End end = wait(signals);
    if (end != End::none) return end;
    if (is_new_) screen_->draw(browser_, recorder_.facts());
    is_new_ = false;
  }
}

End Top::write_table() {
  FdOutput out(environment_.out, files::OutputWait::until_signal);
  out.write(top::table_text(browser_, recorder_.facts(), arguments_.rows) + "\n");
  if (out.error() == EINTR) return End::reader;
  if (out.error() == 0) return End::none;
  (void)complain(environment_, {"not_written", {}, out.error()},
                 fmt::format("the table could not be written: {}", std::generic_category().message(out.error())),
                 ExitCode::output);
  return End::output;
}

End Top::show_as_text(const TerminalSignals& signals) {
  for (std::uint32_t tables = 0;;) {
    const End end = wait(signals);
    if (end == End::reader && clock_.is_worth_showing(updated_ns_, recorder_.elapsed_ns())) {
      recorder_.update(browser_);
      is_new_ = true;
    }
    // After the process has ended, print a table only if there was none before.
    if (is_new_ && (end != End::process || tables == 0)) {
      if (const End written = write_table(); written != End::none) return written;
      tables++;
    }
    is_new_ = false;
    if (end != End::none) return end;
    if (arguments_.count != 0 && tables >= arguments_.count) return End::time;
  }
}

/// Reports how the process ended, and returns the exit code; `ok`: it has not ended.
ExitCode Top::say_end() const {
  const Error error = recorder_.end_error();
  if (error.code == ErrorCode::none) return ExitCode::ok;
  if (error.code != ErrorCode::no_such_process && error.code != ErrorCode::process_changed)
    return complain(environment_, machine::refused_recording({error}, pid_));
  return complain(environment_, fmt::format("process {} ended while it was looked at", pid_),
                  ExitCode::process_changed);
}

ExitCode Top::run(const TerminalSignals& signals, const std::optional<std::string>& terminal) {
  base::raise_file_limit();  // recording needs several open files per thread
  if (const auto begun = recorder_.begin(); !begun)
    return complain(environment_, machine::refused_recording(begun.error(), pid_));
  if (terminal && !terminal->empty()) screen_ = TopScreen::open(*terminal, STDIN_FILENO, environment_.out);
  if (terminal && !screen_)
    remark(environment_, {"unknown_terminal"}, "this type of terminal is not known here (TERM): text, then");
  const End end = screen_ ? show_at_terminal(signals) : show_as_text(signals);
  screen_.reset();
  if (end == End::output) return ExitCode::output;
  return end == End::process ? say_end() : ExitCode::ok;
}

tl::expected<std::uint32_t, ExitCode> process_of(const TopArguments& arguments, const Environment& environment) {
  if (!arguments.record.pids.empty()) return arguments.record.pids.front();
  const std::string& name = arguments.record.name;
  const auto pids = pids_called(name, environment);
  if (!pids) return tl::unexpected(pids.error());
  if (pids->size() == 1) return pids->front();
  const std::string words = fmt::format("{} processes are called '{}': {}; top shows one: mixstack top {}",
                                        pids->size(), name, fmt::join(*pids, ", "), pids->front());
  return tl::unexpected(complain(environment, words, ExitCode::usage));
}

}  // namespace

ExitCode run_top(const TopArguments& arguments, const Environment& environment) {
  const auto pid = process_of(arguments, environment);
  if (!pid) return pid.error();
  const TerminalSignals signals;
  const bool at_terminal = terminal_size(environment.out).columns != 0 && ::isatty(STDIN_FILENO) == 1;
  std::optional<std::string> terminal;
  if (at_terminal) terminal = usable_terminal_type(environment.out);
  return Top(arguments, environment, *pid).run(signals, terminal);
}

}  // namespace mixstack::cli
