// LINK: mixstack_dotnet_dac
// What a helper (that is, a hostile DAC) may send, and what a helper may be sent.
#include <cstddef>
#include <cstdint>
#include <span>

#include "dotnet/dac/dac_checkpoints.h"
#include "dotnet/dac/dac_file.h"
#include "dotnet/dac/protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mixstack::dotnet::dac;
  if (size == 0) return 0;
  const auto payload = std::as_bytes(std::span(data + 1, size - 1));
  switch (data[0] % 8) {
    case 0: {
      std::vector<Element> elements;
      if (decode_elements(payload, elements)) (void)checkpoints_of(elements);
      break;
    }
    case 1: {
      std::vector<ThreadRecord> threads;
      (void)decode_threads(payload, threads);
      break;
    }
    case 2:
      // What was read is written back the same, but for what texts lose.
      if (auto d = decode_description(payload)) {
        const auto again = encode(*d);
        if (!decode_description(again) || again.size() != payload.size()) __builtin_trap();
      }
      break;
    case 3:
      (void)decode_refusal(payload);
      break;
    case 4:
      (void)decode_opening(payload);
      break;
    case 5:
      (void)decode_walk_request(payload);
      break;
    case 6:
      (void)decode_metadata_request(payload);
      break;
    default:
      (void)dac_version(payload);
      break;
  }
  return 0;
}
