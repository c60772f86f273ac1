// LINK: mixstack_features_memory mixstack_output_formats mixstack_output_report
// A moment's file: what is read of it can be written and is read again as the same, and every answer about it and about
// its growth can be told. Sums of checks are made right first, so that changed bytes get past them.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "block_sums.h"
#include "features/memory/growth.h"
#include "mixstack/memory_files.h"
#include "output/formats/moment_blocks.h"
#include "output/report/memory.h"
#include "output/report/memory_growth.h"

namespace {

using namespace mixstack;
using namespace mixstack::formats;

std::string written(const MemoryMoment& moment) {
  std::string out;
  write_moment(moment, [&](std::string_view piece) { out += piece; });
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto moment = read_moment(fuzz::with_right_sums(data, size));
  if (!moment) return 0;
  const std::string once = written(*moment);
  const auto again = read_moment(std::as_bytes(std::span(once.data(), once.size())));
  if (!again || written(*again) != once) std::abort();
  report::Writer nowhere([](std::string_view) {});
  MemoryMoment less = *moment;
  if (!less.heaps.empty()) less.heaps.front().types.clear();
  if (less.account) less.account->lines.clear();
  using Pair = std::pair<const MemoryMoment*, const MemoryMoment*>;
  for (const auto& [before, after] : {Pair(&less, &*moment), Pair(&*moment, &less), Pair(&*moment, &*again)}) {
    const MemoryGrowth growth = memory_use::growth_between(*before, *after, nullptr);
    report::write_growth_text(nowhere, growth);
    report::write_growth_json(nowhere, growth);
  }
  const report::MemoryReport shown{moment->pid,       moment->name,
                                   moment->core_path, moment->account ? &*moment->account : nullptr,
                                   moment->heaps,     &moment->mark};
  report::write_memory_text(nowhere, shown, {});
  report::write_memory_json(nowhere, shown);
  return 0;
}
