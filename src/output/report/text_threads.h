// The lines above a stack: its threads, and what they do.
#pragma once

#include <string>
#include <vector>

#include "mixstack/dump.h"
#include "output/report/merge.h"
#include "output/report/options.h"
#include "output/report/style.h"

namespace mixstack::report {

/// "sleeping in futex"; empty where nothing is known.
[[nodiscard]] std::string doing_words(const ProcessDump& dump, const ThreadDump& thread);

/// "Thread 4711 worker, managed 7, preemptive, sleeping in futex".
[[nodiscard]] std::string thread_line(const ProcessDump& dump, const ThreadDump& thread);

/// "12, 14-17, 21": ascending numbers.
[[nodiscard]] std::string number_ranges(std::vector<std::uint32_t> numbers);

/// Whether a thread has more to tell than fits a line that is shared with others.
[[nodiscard]] bool has_story(const ProcessDump& dump, const ThreadDump& thread);

/// The head of several threads with one stack: how many, what is the same of all, their ids, and in what they differ.
void write_group_head(Painter& out, const ProcessDump& dump, const StackGroup& group, std::size_t width);

/// `text` in lines of at most `width` columns (0: one line), broken behind ", "; later ones begin with `indent`.
[[nodiscard]] std::string wrapped(const std::string& text, std::size_t width, const std::string& indent);

}  // namespace mixstack::report
