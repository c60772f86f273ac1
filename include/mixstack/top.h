// Where a process spends its time right now, again and again: functions and threads of the last interval and of the
// whole run.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mixstack/record.h"
#include "mixstack/report.h"

namespace mixstack {

struct TopOptions {
  RecordMode mode = RecordMode::wall;
  std::uint32_t hertz = 0;    ///< samples of a thread a second; 0: 100 of wall time, 999 of processor time
  double most_held = 0.01;    ///< largest share of its time for which a thread may be stopped
  bool may_stop = true;       ///< false: only sources that stop no thread
  bool kernel = false;        ///< frames of the kernel, too, where they are allowed
  bool managed_only = false;  ///< native frames count for their managed callers
  std::vector<std::string> include{}, exclude{};  ///< patterns of functions: samples with one, without any
  /// Opens the process, again after an exec.
  std::function<Result<std::unique_ptr<Session>>(std::uint32_t pid)> open_process = Session::open_process;
};

enum class TopList : std::uint8_t { functions, threads };

/// Which time counts.
enum class TopStates : std::uint8_t {
  busy,  ///< all but waiting
  all,
  running,
  runnable,
  waiting,
  collecting,  ///< in any state, while the runtime was stopping its threads or had stopped them
};

struct TopQuestion {
  TopList list = TopList::functions;
  TopStates states = TopStates::busy;
  bool whole = false;           ///< since the start; false: of the last interval
  std::size_t most_rows = 100;  ///< the ones with the most own time
};

struct TopRow {
  std::string name{};    ///< of the function or thread, fit for a terminal; never empty
  std::string module{};  ///< of a thread: the function that most of its time ended in; may be empty
  CodeKind kind = CodeKind::unknown;
  std::uint32_t tid = 0;  ///< of a thread
  /// Nanoseconds in itself, and with all that it called (a recursion counts once); of a thread they are the same. Where
  /// periods are not known, counts of samples.
  std::uint64_t self = 0, total = 0;
};

/// The process and its recording.
struct TopFacts {
  std::uint32_t pid = 0;
  std::string command{};  ///< fit for a terminal
  std::uint64_t elapsed_ns = 0;
  std::uint64_t samples = 0, lost = 0;
  std::uint64_t rounds_left_out = 0;  ///< rounds over all threads, skipped because the last one took too long
  std::uint64_t own_cpu_ns = 0;
  std::size_t threads = 0;           ///< of the process, now
  std::string source{};              ///< how samples are taken
  std::vector<std::string> notes{};  ///< why no better source is used
};

struct TopTable {
  TopFacts facts{};
  std::vector<TopRow> rows{};  ///< most own time first
  std::uint64_t selected = 0;  ///< the time of all rows: their 100 %
};

/// Memory is bounded however long it runs: calls too light to be kept count for "[other]", and no time is lost. Not
/// thread-safe; sampling runs in threads of its own.
class Top {
 public:
  /// Begins to sample. Errors: those of `record_stacks`.
  [[nodiscard]] static Result<Top> start(std::uint32_t pid, const TopOptions& options = {});
  Top(Top&&) noexcept;
  Top& operator=(Top&&) noexcept;
  ~Top();

  /// Ends an interval: the samples since the last call are those of the "last interval" from now on. Follows a process
  /// that became another program.
  void next();
  [[nodiscard]] TopTable table(const TopQuestion& question = {});
  /// The same table as `mixstack top` prints it where there is no terminal.
  void write_text(const TopQuestion& question, const ReportSink& sink);
  /// No more samples will come: the process has ended (`end_error` is no_such_process), or they cannot be taken.
  [[nodiscard]] bool has_ended() const;
  [[nodiscard]] Error end_error() const;

 private:
  struct Implementation;
  explicit Top(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace mixstack
