// LINK: mixstack_output_formats mixstack_features_renaming
// A raw recording: what is read of it can be written and is read again as the same, every format can show it, and it
// can be named later, with inlined functions or without. Sums of checks are made right first, so that changed bytes get
// past them.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "block_sums.h"
#include "features/renaming/renamed_recording.h"
#include "output/formats/format.h"
#include "output/formats/recording_blocks.h"
#include "output/formats/recording_file.h"

namespace {

using namespace mixstack;
using namespace mixstack::formats;

/// Places whose names depend on the address, some with functions inlined; what was made of it must be as sound as
/// before.
void name_later(const Recording& recording) {
  const auto made = renaming::renamed(recording, [](std::uint32_t, std::uint64_t address) {
    std::vector<SymbolInfo> symbols(address % 4);
    for (std::size_t i = 0; i < symbols.size(); i++) symbols[i].name = "f" + std::to_string(address % 16 + i);
    return symbols;
  });
  if (!made) return;
  std::uint64_t before = 0, after = 0;
  for (const Sample& sample : recording.samples()) before += sample.count;
  for (const Sample& sample : made->samples()) after += sample.count;
  if (before != after || made->threads().size() != recording.threads().size()) std::abort();
}

std::string written(const Recording& recording) {
  return report::collect([&](report::Writer& out) { write_recording(out, recording); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = fuzz::with_right_sums(data, size);
  const auto recording = read_recording(bytes);
  if (!recording) return 0;
  const std::string once = written(*recording);
  const auto again = read_recording({reinterpret_cast<const std::byte*>(once.data()), once.size()});
  if (!again || written(*again) != once) std::abort();
  constexpr std::size_t kFew = 4096;  // each sample costs its depth in some formats
  if (recording->samples().size() > kFew || recording->nodes().size() > kFew) return 0;
  name_later(*recording);
  report::Writer nowhere([](std::string_view) {});
  for (std::size_t f = 0; f <= static_cast<std::size_t>(kLastFormat); f++)
    for (const bool inverted : {false, true})
      write_as(static_cast<Format>(f), nowhere, *recording, {.idle = true, .by_thread = true, .inverted = inverted});
  return 0;
}
