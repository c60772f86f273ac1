// LINK: mixstack_output_formats
// Folded stacks of other profilers: what is read of them is written as stacks with the same sum.
#include <cstdint>
#include <cstdlib>

#include "output/formats/difference.h"
#include "output/formats/folded.h"
#include "output/formats/folded_reader.h"

using namespace mixstack;
using namespace mixstack::formats;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto recording = read_folded({reinterpret_cast<const char*>(data), size});
  if (!recording) return 0;
  const std::string text = report::collect([&](report::Writer& out) { write_folded(out, *recording, {}); });
  const auto again = read_folded(text);
  const std::uint64_t samples = recording->facts.account.samples;
  if (samples != 0 && (!again || again->facts.account.samples != samples)) std::abort();
  report::Writer nowhere([](std::string_view) {});
  write_diff_text(nowhere, *recording, *recording, {});
  return 0;
}
