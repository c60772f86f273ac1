// Causes of slowness and the numbers of a process, in the answer of `mixstack why`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "mixstack/slowness.h"
#include "output/report/json_fields.h"
#include "output/report/style.h"

namespace mixstack::report {

/// "collections": stable, for programs.
[[nodiscard]] std::string_view slow_kind_name(SlowKind kind);
/// "GARBAGE COLLECTIONS: 70 % of the time, 36/s; allocated at Shop.Quote(int) in Quotes.cs:12".
[[nodiscard]] std::string cause_words(const SlowCause& cause);
/// "0.2 processors, 1.0 collections/s (0.6 ms each), no lock is waited for, no queue, 1 exception/s". A number that is
/// not known is left out.
[[nodiscard]] std::string health_words(const Health& health);

void write_causes_text(Painter& out, std::span<const SlowCause> causes);
void write_causes_json(Writer& out, std::span<const SlowCause> causes);
void write_health_json(Writer& out, const Health& health);

}  // namespace mixstack::report
