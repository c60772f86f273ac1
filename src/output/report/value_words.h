// Values of the program in words and as JSON.
#pragma once

#include <string>

#include "mixstack/values.h"
#include "output/report/writer.h"

namespace mixstack::report {

/// "count: int = 3", "this: Shop.Cart 0x7f12a0001234", "names: string[] 0x7f12a0001290 (3 items)",
/// "total: decimal, not kept". One line, escaped for terminals.
[[nodiscard]] std::string value_words(const ProgramValue& value);
/// Without the name: "3", "Shop.Cart 0x7f12a0001234".
[[nodiscard]] std::string short_value_words(const ProgramValue& value);
void write_value_json(Writer& out, const ProgramValue& value);

}  // namespace mixstack::report
