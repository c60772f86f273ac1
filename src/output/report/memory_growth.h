// Growth of a process's memory, as text and JSON.
#pragma once

#include "mixstack/memory_moment.h"
#include "output/report/writer.h"

namespace mixstack::report {

void write_growth_text(Writer& out, const MemoryGrowth& growth);
void write_growth_json(Writer& out, const MemoryGrowth& growth);
/// The effect of the limit, and when; without an end of the sentence.
[[nodiscard]] std::string forecast_words(const LimitForecast& forecast);
/// "2026-11-28 15:03:12 UTC"; empty for 0.
[[nodiscard]] std::string time_words(std::uint64_t unix_ns);

}  // namespace mixstack::report
