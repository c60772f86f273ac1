#include "frontends/cli/why_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/system/shared_work.h"
#include "features/why/contention.h"
#include "features/why/judge.h"
#include "features/why/lasting.h"
#include "features/why/starvation.h"
#include "frontends/cli/busy_sample.h"
#include "frontends/cli/dump_command.h"
#include "frontends/cli/fd_output.h"
#include "frontends/cli/heap_question.h"
#include "frontends/cli/profile_file.h"
#include "frontends/cli/ps_command.h"
#include "frontends/cli/symbol_options.h"
#include "frontends/cli/thread_cpu.h"
#include "mixstack/report.h"
#include "output/report/escape.h"
#include "output/report/wait_words.h"
#include "output/report/why.h"
#include "output/report/why_html.h"
#include "process/live/process_usage.h"

namespace mixstack::cli {
namespace {

DumpArguments dump_arguments(const WhyArguments& why) {
  DumpArguments dump;
  dump.pid = why.pid;
  dump.core = why.core;
  dump.options.waits = true;
  dump.options.pending_work = true;
  dump.options.off_cpu = false;
  dump.options.data = why.data;
  return dump;
}

/// A thread of a cycle that has run since its facts were read may have held what it was found to hold at another time
/// than the others: then the cycle is possible, no more.
bool has_run(const ThreadClocks& clocks, const ThreadDump& thread) {
  if (!thread.facts.cpu) return true;
  const auto cpu = clocks.cpu(thread.tid);
  return !cpu || *cpu != *thread.facts.cpu;
}

/// Any thread of a verdict. Where none of the process has run, one clock tells it of all of them.
bool has_run(const ProcessDump& dump, const Verdict& verdict) {
  const auto now = process::cpu_of_process(dump.target.pid);
  const auto is_as_it_was = [&](const VerdictStep& s) {
    const ThreadDump* t = report::find_thread(dump, s.thread);
    return t != nullptr && t->facts.process_cpu == now;
  };
  if (now && std::all_of(verdict.steps.begin(), verdict.steps.end(), is_as_it_was)) return false;
  const ThreadClocks clocks(dump.target.pid);
  // Who waits in a loop for a callback's end runs all the time: it leaves the loop when somebody else has run.
  const auto loops = [](const ThreadDump& t) { return t.wait && t.wait->kind == WaitKind::callback; };
  std::atomic<bool> any_has = false;
  base::for_each_of_many(verdict.steps.size(), [&](std::size_t i) {
    if (any_has) return;
    const ThreadDump* t = report::find_thread(dump, verdict.steps[i].thread);
    if (t == nullptr || (!loops(*t) && has_run(clocks, *t))) any_has = true;
  });
  return any_has;
}

struct Judged {
  Dumped dumped;
  std::vector<Verdict> verdicts;
  std::chrono::steady_clock::time_point began;  ///< of the last look
  std::optional<Busyness> busy{};
  std::vector<Contention> contended{};
};

tl::expected<Judged, ExitCode> look(const WhyArguments& arguments, const Environment& environment) {
  const auto began = std::chrono::steady_clock::now();
  DumpArguments what = dump_arguments(arguments);
  if (arguments.heap && arguments.pid == 0) what.options.heap = heap_question(false, arguments.heap_limit, environment);
  auto dumped = dump_target(what, symbol_options(what), environment);
  if (!dumped) return tl::unexpected(dumped.error());
  std::vector<Verdict> verdicts = why::judge(dumped->dump);
  for (Verdict& v : verdicts) {
    if (arguments.pid != 0 && v.kind == VerdictKind::deadlock && v.is_certain && has_run(dumped->dump, v))
      v.is_certain = false;
    // Nothing tells of a core how long they have waited.
    if (arguments.pid == 0 && v.kind == VerdictKind::chain) v.is_certain = false;
  }
  return Judged{std::move(*dumped), std::move(verdicts), began};
}

/// Threads of a verdict that is believed where enough of them have not run at all for a time.
struct Resting {
  std::size_t enough = 1;
  std::chrono::milliseconds time{0};
  std::vector<std::pair<ThreadId, std::optional<std::chrono::nanoseconds>>> threads;  ///< each with its clock
};
using Restings = std::vector<Resting>;

Restings must_rest(const Judged& judged) {
  constexpr std::chrono::milliseconds kFinalizer{1000}, kOthers{2000};
  Restings resting;
  for (const Verdict& v : judged.verdicts) {
    const auto threads = why::must_rest(judged.dumped.dump, v);
    if (threads.empty()) continue;
    const bool is_of_one = v.kind == VerdictKind::blocked_finalizer || v.kind == VerdictKind::process_cycle ||
                           v.kind == VerdictKind::stopped_process;
    Resting& r = resting.emplace_back();
    r.enough = is_of_one                             ? 1
               : v.kind == VerdictKind::starved_pool ? why::workers_that_stand(threads.size())
                                                     : why::kManyWaiters;
    r.time = is_of_one ? kFinalizer : kOthers;
    for (const ThreadId tid : threads) r.threads.emplace_back(tid, std::nullopt);
  }
  return resting;
}

/// Waits until the threads are back in their waits after our stop, and notes their clocks: on a busy machine that may
/// take some time, and some never are.
void settle(const ThreadClocks& clocks, Restings& resting) {
  constexpr std::chrono::milliseconds kPiece{20}, kMost{500};
  bool are_settled = false;
  for (std::chrono::milliseconds passed{0}; !are_settled && passed < kMost; passed += kPiece) {
    std::this_thread::sleep_for(kPiece);
    are_settled = true;
    for (Resting& r : resting)
      for (auto& [tid, cpu] : r.threads) {
        const auto now = clocks.cpu(tid);
        if (now != cpu || clocks.is_runnable(tid)) are_settled = false;
        cpu = now;
      }
  }
}

/// Lets time pass between two looks: longer where threads must be at rest, as long as enough of them are. Few
/// finalizers wait for anything, and those that do mostly not for long; healthy programs hold a lock for a while, too,
/// in which they fill a cache or ask a database. Answers those that have not run at all for that time: they are in the
/// same call of the same method.
std::vector<ThreadId> rest(const Judged& judged, std::uint32_t pid, std::chrono::milliseconds usually) {
  Restings resting = must_rest(judged);
  if (resting.empty()) {
    std::this_thread::sleep_for(usually);
    return {};
  }
  const ThreadClocks clocks(pid);
  settle(clocks, resting);
  const auto has_run = [&](const auto& t) {
    return !t.second || clocks.cpu(t.first) != t.second || clocks.is_runnable(t.first);
  };
  const auto longest = [](const Resting& a, const Resting& b) { return a.time < b.time; };
  for (std::chrono::milliseconds passed{0};
       !resting.empty() && passed < std::max_element(resting.begin(), resting.end(), longest)->time;
       passed += usually) {
    std::this_thread::sleep_for(usually);
    std::erase_if(resting, [&](Resting& r) {
      std::erase_if(r.threads, has_run);
      return r.threads.size() < r.enough;
    });
  }
  std::vector<ThreadId> at_rest;
  for (const Resting& r : resting)
    for (const auto& [tid, cpu] : r.threads) at_rest.push_back(tid);
  return at_rest;
}

/// On a busy machine some threads do not stop with the others, and what they wait for is not known: then once more.
tl::expected<Judged, ExitCode> look_at_all(const WhyArguments& arguments, const Environment& environment) {
  constexpr int kMostLooks = 4;
  std::chrono::milliseconds pause{25};
  auto judged = look(arguments, environment);
  for (int i = 1; i < kMostLooks && arguments.pid != 0 && judged; i++, pause *= 2) {
    if (report::threads_apart(judged->dumped.dump) == 0) break;
    std::this_thread::sleep_for(pause);
    auto again = look(arguments, environment);
    if (!again) break;
    if (report::threads_apart(again->dumped.dump) <= report::threads_apart(judged->dumped.dump))
      judged = std::move(again);
  }
  return judged;
}

/// Only a cycle that is certain stands after one look at a running process: a healthy one has locks that are held and
/// waited for, and stops its threads now and then. Of a thread alone one look is not enough: nobody else has to stand
/// still for it to be wrong.
tl::expected<Judged, ExitCode> judge(const WhyArguments& arguments, const Environment& environment) {
  constexpr std::chrono::milliseconds kBetween{200};
  auto first = look_at_all(arguments, environment);
  if (!first) return first;
  const std::vector<Contention> contended = why::contentions(first->dumped.dump);
  if (first->verdicts.empty()) first->contended = contended;
  if (arguments.pid == 0) return first;
  const auto is_certain = [](const Verdict& v) {
    return v.kind == VerdictKind::deadlock && v.is_certain && v.steps.size() > 1;
  };
  if (std::all_of(first->verdicts.begin(), first->verdicts.end(), is_certain)) return first;
  const std::vector<ThreadId> at_rest = rest(*first, arguments.pid, kBetween);
  auto second = look_at_all(arguments, environment);
  if (!second) return second;
  second->verdicts = why::lasting(first->dumped.dump, first->verdicts, second->dumped.dump, second->verdicts, at_rest);
  if (!second->verdicts.empty()) return second;
  second->contended = why::contentions(second->dumped.dump);
  why::mark_lasting(contended, second->contended);
  return second;
}

/// A look of its own, when all is judged: a stop makes threads run that had not run before it.
ExitCode add_heap(const WhyArguments& arguments, const Environment& environment, Judged& judged) {
  ProcessDump& dump = judged.dumped.dump;
  DumpArguments what = dump_arguments(arguments);
  what.options.heap = heap_question(true, arguments.heap_limit, environment);
  auto with_heap = dump_target(what, symbol_options(what), environment);
  if (!with_heap) return with_heap.error();
  std::vector<RuntimeSummary>& runtimes = with_heap->dump.runtimes;
  for (std::size_t i = 0; i < std::min(runtimes.size(), dump.runtimes.size()); i++)
    dump.runtimes[i].pending = std::move(runtimes[i].pending);
  why::add_from_heap(dump, judged.verdicts);
  return ExitCode::ok;
}

/// Of a process in which nothing is stuck: what runs, if something does or samples were asked for.
void sample(const WhyArguments& arguments, const Environment& environment, Judged& judged) {
  constexpr std::chrono::milliseconds kUsually{1000};
  const std::chrono::milliseconds time = arguments.sample.value_or(kUsually);
  if (arguments.pid == 0 || !judged.verdicts.empty() || time.count() == 0) return;
  if (!arguments.sample && !has_run_since(judged.dumped.dump, judged.began)) return;
  auto busy = sample_busyness(std::move(judged.dumped.session), judged.dumped.dump, time, environment);
  if (busy) {
    judged.busy = std::move(*busy);
    return;
  }
  FdOutput(environment.err)
      .write(fmt::format("mixstack: what process {} runs could not be sampled: {}\n", arguments.pid,
                         describe(busy.error())));
}

void write_answer(report::Writer& writer, const WhyArguments& arguments, const Environment& environment,
                  const Judged& judged, const std::optional<Unmoved>& unmoved) {
  const ProcessDump& dump = judged.dumped.dump;
  const report::WhyExtras extras{.busy = judged.busy ? &*judged.busy : nullptr,
                                 .unmoved = unmoved ? &*unmoved : nullptr,
                                 .contended = judged.contended};
  if (arguments.json) {
    report::write_why_json(writer, dump, judged.verdicts, extras);
  } else if (arguments.dot) {
    report::write_why_dot(writer, dump, judged.verdicts);
  } else if (arguments.html) {
    report::write_why_html(writer, dump, judged.verdicts, extras);
  } else {
    report::ReportOptions options;
    const bool is_file = !arguments.out.empty() && arguments.out != "-";
    options.color = wants_color(is_file ? ColorMode::never : ColorMode::automatic, environment.out);
    report::write_why_text(writer, dump, judged.verdicts, options, extras);
  }
}

ExitCode write_out(const WhyArguments& arguments, const Environment& environment, const Judged& judged,
                   const std::optional<Unmoved>& unmoved) {
  const auto write = [&](report::Writer& writer) { write_answer(writer, arguments, environment, judged, unmoved); };
  if (!arguments.out.empty() && arguments.out != "-") {
    const ExitCode code = write_profile_file(arguments.out, true, environment, write);
    if (code == ExitCode::ok)
      FdOutput(environment.err).write(fmt::format("mixstack: wrote {}\n", report::escape_for_terminal(arguments.out)));
    return code;
  }
  FdOutput out(environment.out);
  report::Writer writer([&out](std::string_view piece) { out.write(piece); });
  write(writer);
  writer.flush();
  if (out.error() == 0) return ExitCode::ok;
  FdOutput(environment.err)
      .write(
          fmt::format("mixstack: the answer could not be written: {}\n", std::generic_category().message(out.error())));
  return ExitCode::output;
}

/// Caches of megabytes come and go while one answer is made. Given back to the kernel between them, each page of theirs
/// is had, zeroed, again.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kLargest = 4 << 20, kKept = 64 << 20, kRoom = 1 << 20;
  (void)::mallopt(M_MMAP_THRESHOLD, kLargest);
  (void)::mallopt(M_TRIM_THRESHOLD, kKept);
  (void)::mallopt(M_TOP_PAD, kRoom);
#endif
}

/// `before` is the answer before, none at first, and becomes this one.
ExitCode answer(const WhyArguments& arguments, const Environment& environment, std::optional<Judged>& before) {
  auto judged = judge(arguments, environment);
  if (!judged) return judged.error();
  if (arguments.heap && arguments.pid != 0)
    if (const ExitCode code = add_heap(arguments, environment, *judged); code != ExitCode::ok) return code;
  sample(arguments, environment, *judged);
  std::optional<Unmoved> unmoved;
  if (before) {
    unmoved = why::unmoved(before->dumped.dump, before->verdicts, judged->dumped.dump, judged->verdicts);
    unmoved->since = std::chrono::duration_cast<std::chrono::milliseconds>(judged->began - before->began);
  }
  if (const ExitCode code = write_out(arguments, environment, *judged, unmoved); code != ExitCode::ok) return code;
  before = std::move(*judged);
  if (arguments.watch.count() == 0)
    environment.leave_to_the_end(std::move(before->dumped.session));
  else
    before->dumped.session.reset();
  if (!before->verdicts.empty()) return ExitCode::stuck;
  const bool is_whole = arguments.pid == 0 || report::threads_apart(before->dumped.dump) == 0;
  const bool is_understood = report::waits_not_known(before->dumped.dump) == 0;
  return is_whole && is_understood && report::knows_waits(before->dumped.dump) ? ExitCode::ok : ExitCode::partial;
}

}  // namespace

ExitCode run_why(const WhyArguments& arguments, const Environment& environment) {
  WhyArguments of = arguments;
  if (!of.name.empty()) {
    const auto pids = pids_called(of.name, environment);
    if (!pids) return pids.error();
    if (pids->size() != 1) {
      FdOutput(environment.err)
          .write(fmt::format("mixstack: {} processes are called '{}' ({}): give the pid of one\n", pids->size(),
                             report::escape_for_terminal(of.name), fmt::join(*pids, ", ")));
      return ExitCode::usage;
    }
    of.pid = pids->front();
  }
  keep_freed_memory();
  std::optional<Judged> before;
  ExitCode code = answer(of, environment, before);
  while (of.watch.count() != 0 && (code == ExitCode::ok || code == ExitCode::stuck || code == ExitCode::partial)) {
    std::this_thread::sleep_for(of.watch);
    if (of.out.empty() || of.out == "-") FdOutput(environment.out).write("\n");
    code = answer(of, environment, before);
  }
  if (before) environment.leave_to_the_end(std::make_shared<Judged>(std::move(*before)));
  return code;
}

}  // namespace mixstack::cli
