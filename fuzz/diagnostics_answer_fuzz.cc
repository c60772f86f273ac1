// LINK: mixstack_agent_client
// What may come from a diagnostics socket, and what a process may have put into its environment and its folder.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "agent/client/diagnostics.h"
#include "agent/client/target_place.h"

namespace {

void require(bool ok) {
  if (!ok) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mixstack::agent_client;
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  switch (data[0] % 4) {
    case 0:
      if (const auto answer = decode_answer(bytes)) {
        require(answer_size(bytes) == bytes.size());
        require(!words_of(answer->status).empty());
      }
      break;
    case 1:
      (void)variable_of(text, "TMPDIR");
      break;
    case 2:
      if (is_name_of(text, kDiagnosticsSocket, 17))
        require(text.starts_with("dotnet-diagnostic-17-") && text.ends_with("-socket"));
      break;
    default: {
      // Any path and any settings are laid out with their own lengths.
      const auto request = attach_request(std::string(text), text, std::chrono::milliseconds(1));
      require(request.size() >= 20 + 28 + text.size() + 2);
      break;
    }
  }
  return 0;
}
