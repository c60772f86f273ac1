// The answer of `mixstack why` as one page: verdicts, the picture of who waits for what, stacks.
#pragma once

#include <span>
#include <string>

#include "mixstack/dump.h"
#include "mixstack/verdict.h"
#include "output/report/why.h"
#include "output/report/writer.h"

namespace mixstack::report {

/// One file that loads nothing. Text from the target is data, never markup.
void write_why_html(Writer& out, const ProcessDump& dump, std::span<const Verdict> verdicts,
                    const WhyExtras& extras = {});

/// The JSON that the page is made from (`web/why/model.js` reads it). Texts are escaped as for a terminal.
[[nodiscard]] std::string why_page_data(const ProcessDump& dump, std::span<const Verdict> verdicts,
                                        const WhyExtras& extras);

}  // namespace mixstack::report
