// A thread pool all of whose workers wait while work is queued.
#pragma once

#include <vector>

#include "mixstack/dump.h"
#include "mixstack/verdict.h"

namespace mixstack::why {

/// How long nothing must have been taken from the queue before that is worth a word.
inline constexpr std::chrono::milliseconds kLongSinceDequeue{500};

/// Certain where every worker waits, and one of them for work that lies in the pool's queue; possible where every
/// worker waits and nothing was taken for a while. A pool that has an idle worker, or one that runs, is not starved.
/// One look is not enough: see `lasting`.
void add_starvation(const ProcessDump& dump, std::vector<Verdict>& verdicts);

/// Workers that have work and cannot go on with it.
[[nodiscard]] std::vector<ThreadId> blocked_workers(const ProcessDump& dump, const ThreadPool& pool);
/// Whether the pool of a running process has taken nothing for a while, or late timers were not run.
[[nodiscard]] bool is_starved_for_long(const ProcessDump& dump);
/// How many of so many blocked workers must stand still between two looks: some may be newborn.
[[nodiscard]] std::size_t workers_that_stand(std::size_t workers);
/// As many workers a starved pool that had so many has at most some seconds later.
[[nodiscard]] std::size_t most_workers_after(std::size_t workers);
/// Whether the same worker went on with its work at both looks, and was not born just before.
[[nodiscard]] bool has_a_worker_that_goes_on(const ProcessDump& first, const ProcessDump& second);

}  // namespace mixstack::why
