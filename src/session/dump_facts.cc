// The stages of a dump that read what the kernel says of threads and the process.
#include <unordered_map>

#include "engine/symbols/demangle.h"
#include "session/dump_in_progress.h"

namespace mixstack::session {
namespace {

/// Reads them beside the walk, or on demand if there are few threads. `target` and `capture` must outlive the future.
std::future<FactsByThread> read_thread_facts(const Target& target, const Capture& capture, base::Beside& beside) {
  constexpr std::size_t kFew = 32;  // not worth a thread
  auto read = [&target, &capture] {
    FactsByThread all{target.thread_facts(capture.threads)};
    for (const Capture& late : capture.late) all.push_back(target.thread_facts(late.threads));
    return all;
  };
  return capture.threads.size() <= kFew ? std::async(std::launch::deferred, read) : beside.run(read);
}

/// By thread id: the dump has late threads among the others, in another order than the captures.
void put_facts(FactsByThread all, const Capture& capture, ProcessDump& dump) {
  std::unordered_map<ThreadId, ThreadDump*> by_tid;
  for (ThreadDump& thread : dump.threads) by_tid[thread.tid] = &thread;
  const auto put = [&](std::vector<ThreadFacts>& facts, std::span<const ThreadCapture> threads) {
    for (std::size_t i = 0; i < facts.size() && i < threads.size(); i++)
      if (const auto at = by_tid.find(threads[i].tid); at != by_tid.end()) {
        if (!facts[i].comm.empty()) at->second->comm = symbols::printable(facts[i].comm);
        at->second->facts = std::move(facts[i]);
      }
  };
  put(all.front(), capture.threads);
  for (std::size_t i = 1; i < all.size() && i <= capture.late.size(); i++) put(all[i], capture.late[i - 1].threads);
}

}  // namespace

void take_facts(DumpInProgress& at, bool waits) {
  using namespace std::chrono_literals;
  if (!at.facts.valid() || (!waits && at.facts.wait_for(0s) == std::future_status::timeout)) return;
  put_facts(at.facts.get(), at.capture, at.dump);
  if (at.options.waits && at.options.pending_work && !at.is_frozen()) at.ends.emplace(at.dump, at.beside);
}

void stages::ask_facts(DumpInProgress& at) {
  if (at.options.facts) at.facts = read_thread_facts(at.from.target, at.capture, at.beside);
}

void stages::usage(DumpInProgress& at) {
  // A core's facts are ready at once, and may be of very many threads: do not keep them twice.
  if (at.is_frozen()) take_facts(at, true);
  if (at.options.facts) at.dump.usage = at.from.target.usage(at.dump.pause);
}

void stages::facts(DumpInProgress& at) {
  take_facts(at, true);
  for (const auto& runtime : at.runtimes()) runtime->name_threads(at.dump.threads);
}

}  // namespace mixstack::session
