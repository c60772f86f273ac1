// Async methods, the thread pool and timers in words.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "mixstack/dump.h"

namespace mixstack::report {

/// "812 ms", "3.2 s", "59 min", "2.5 h".
[[nodiscard]] std::string coarse_duration_words(std::chrono::milliseconds time);
/// "OrderApi.GetOrder" of "Shop.OrderApi.GetOrder(int)": type and method, without namespace and parameters.
[[nodiscard]] std::string short_method(std::string_view method);
/// "OrderApi.GetOrder > Db.ReadRow awaits Task.Delay": the same for chains that wait for the same. Empty: the chain
/// says no more than the wait itself.
[[nodiscard]] std::string chain_words(const ProcessDump& dump, const AsyncChain& chain);
/// "awaits Task.Delay", "runs on thread 12": what the innermost method of a chain does.
[[nodiscard]] std::string end_words(const ProcessDump& dump, const AsyncChain& chain);
/// " (due in 3.2 s)", " (4 s late)", of a socket " (10.0.0.1:443)", or empty.
[[nodiscard]] std::string due_words(const AsyncChain& chain);
/// "27 workers (goal 27, max 32767), 27 blocked; 40 queued: 27 x the rest of Db.ReadRow, 13 x Program.Main lambda".
[[nodiscard]] std::string pool_words(const ProcessDump& dump, const ThreadPool& pool);
/// "33, 21 of them Task.Delay, 1 a time-out; the next is due in 3.2 s".
[[nodiscard]] std::string timer_words(const Timers& timers);
/// "workstation, 312 MB in use, 41 collections; 3 objects wait for their finalizers".
[[nodiscard]] std::string gc_words(const ProcessDump& dump, const RuntimeSummary& runtime);
/// "312 MB of it searched in 0.2 s, in which the process stood still: 100000 async methods wait".
[[nodiscard]] std::string heap_words(const HeapScan& scan);
/// Before a search of a heap: how long the process will stand still; why so large a heap is not searched.
[[nodiscard]] std::string heap_stop_words(std::uint64_t bytes);
[[nodiscard]] std::string heap_refused_words(std::uint64_t bytes);
/// The chain that a thread waits for, with something to say; null: none.
[[nodiscard]] const AsyncChain* chain_of(const ProcessDump& dump, ThreadId tid);
/// All of them: of a thread that waits for several tasks.
[[nodiscard]] std::vector<const AsyncChain*> chains_of(const ProcessDump& dump, ThreadId tid);

}  // namespace mixstack::report
