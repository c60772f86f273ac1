// Why a process is stuck or slow: one session, looked at as often as an answer needs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mixstack/busy.h"
#include "mixstack/contention.h"
#include "mixstack/dump.h"
#include "mixstack/report.h"
#include "mixstack/result.h"
#include "mixstack/session.h"
#include "mixstack/slowness.h"
#include "mixstack/unmoved.h"
#include "mixstack/verdict.h"

namespace mixstack {

/// The steps of an answer, in the order in which they begin; `look` and `rest` may come several times.
enum class WhyStep : std::uint8_t {
  look,    ///< the process is stopped for the time of a copy, and what its threads wait for is read
  rest,    ///< time passes: threads that hold others up must not run meanwhile
  heap,    ///< the heap is searched for async methods; the process stands still
  sample,  ///< stacks are sampled: nothing is stuck, and something runs
};

struct WhyOptions {
  /// Contents of the user's own data are in the answer: variables of async methods, paths of requests, text of
  /// commands.
  bool data = false;
  /// Called with the bytes that a search of the heap would read, before the process is stopped for it; false: it is not
  /// searched. Null: no search.
  std::function<bool(std::uint64_t bytes)> heap{};
  /// How long a process in which nothing is stuck is sampled. Nothing: one second, if it runs or spends what counters
  /// show. 0: never, and nothing is looked for that makes it slow.
  std::optional<std::chrono::milliseconds> sample{};
  /// Called before each step, in the thread that asks; false ends the answer with `ErrorCode::cancelled`. Null: none.
  std::function<bool(WhyStep step)> progress{};
};

struct WhyAnswer {
  ProcessDump dump;                     ///< of the last look
  std::vector<Verdict> verdicts{};      ///< most certain first; empty: nothing is stuck, as far as is known
  std::vector<Contention> contended{};  ///< where there is no verdict: locks that several threads wait for
  std::optional<Busyness> busy{};       ///< where nothing is stuck and something ran
  std::vector<SlowCause> causes{};      ///< of slowness, dearest first; those of the machine before all others
  std::optional<Health> health{};       ///< by counters at the first look and at the end; nothing: a core
  Error not_sampled{};                  ///< why there is no `busy` though it was wanted; code none: it was not
  std::chrono::steady_clock::time_point began{};  ///< of the last look

  /// Whether all threads were seen, and what each of them waits for is known. If not, an answer without a verdict does
  /// not say that nothing is stuck.
  [[nodiscard]] bool is_whole() const;
  /// Whether something is stuck that does not end by itself.
  [[nodiscard]] bool is_stuck() const;
};

/// Verdicts and waits that have not moved between two answers, and the time between their looks.
[[nodiscard]] Unmoved unmoved(const WhyAnswer& before, const WhyAnswer& now);

/// Comparison of an answer with the one before.
struct WhySince {
  std::optional<Unmoved> unmoved{};
  std::vector<std::string> changes{};  ///< of its numbers: "since 14:02:11 collections rose from 1.0/s to 36/s"
};

/// Answers about one process, one after the other, as of `mixstack why --watch`. One thread at a time.
class WhyHistory {
 public:
  WhyHistory();
  ~WhyHistory();
  WhyHistory(WhyHistory&&) noexcept;
  WhyHistory& operator=(WhyHistory&&) noexcept;

  /// Compares an answer with the one before, whose place it takes. `when`: its time in words.
  WhySince add(WhyAnswer answer, const std::string& when);
  /// The last answer; null: there is none.
  [[nodiscard]] const WhyAnswer* last() const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// As `mixstack why` prints it.
void write_text(const WhyAnswer& answer, const ReportSink& sink, const ReportOptions& options = {},
                const WhySince& since = {});
/// One JSON document (docs/formats/why.schema.json).
void write_json(const WhyAnswer& answer, const ReportSink& sink, const WhySince& since = {});
/// One page that loads nothing.
void write_html(const WhyAnswer& answer, const ReportSink& sink, const WhySince& since = {});
/// The graph of threads and objects, for Graphviz.
void write_dot(const WhyAnswer& answer, const ReportSink& sink);

/// Asks one process or core. Owns its session, and opens no other. One thread at a time.
class Why {
 public:
  explicit Why(std::unique_ptr<Session> session);
  ~Why();
  Why(Why&&) noexcept;
  Why& operator=(Why&&) noexcept;

  /// Looks once at a core, and at a process as often as it takes to believe what was found: once at a deadlock that is
  /// certain, else twice, 0.2 to 2 s apart, and some times more where a lock is waited for; up to eight times on a
  /// machine so busy that threads do not stop in time. Between looks the process runs. Errors: those of Session::dump;
  /// cancelled.
  [[nodiscard]] Result<WhyAnswer> ask(const WhyOptions& options);
  /// The session of the answers, between two of them.
  [[nodiscard]] Session& session();

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace mixstack
