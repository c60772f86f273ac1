// LINK: mixstack_agent_in_process mixstack_agent_client
// What the command and the agent may send each other: any bytes as each message, and as a whole recording.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "agent/client/recorded.h"
#include "agent/in_process/options.h"
#include "agent/protocol/protocol.h"
#include "output/report/profile_report.h"

namespace {

using namespace mixstack;
using namespace mixstack::agent_link;

void require(bool ok) {
  if (!ok) std::abort();
}

/// Messages one after the other, as they come from a socket.
void take_recording(std::span<const std::byte> bytes) {
  agent_client::Recorded recorded;
  Report last;
  while (const auto header = decode_header(bytes)) {
    bytes = bytes.subspan(kHeaderSize);
    if (header->size > bytes.size()) break;
    const auto payload = bytes.first(header->size);
    bytes = bytes.subspan(header->size);
    if (header->kind == Kind::report) {
      if (const auto report = decode_report(payload)) last = *report;
      break;
    }
    if (!recorded.take(header->kind, payload)) break;
  }
  const Profile profile = recorded.finish(last);
  for (const auto& [stack, count] : profile.stacks())
    for (const std::uint32_t frame : stack.frames) require(frame < profile.frames().size());
  (void)report::collect([&](report::Writer& out) { report::write_profile_json(out, profile); });
  const std::string lines = report::collect([&](report::Writer& out) { report::write_collapsed(out, profile); });
  for (const char c : lines) require(c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto payload = std::as_bytes(std::span(data + 1, size - 1));
  switch (data[0] % 7) {
    case 0:
      take_recording(payload);
      break;
    case 1:
      // What was read is written back the same.
      if (const auto r = decode_report(payload)) {
        const Bytes again = encode(*r);
        require(decode_report(std::span(again).subspan(kHeaderSize)).has_value());
        require(again.size() == kHeaderSize + payload.size());
      }
      break;
    case 2:
      if (const auto f = decode_frame(payload)) require(encode(*f).size() == kHeaderSize + payload.size());
      break;
    case 3:
      if (const auto samples = decode_samples(payload)) {
        Bytes again;
        for (const Sample& sample : *samples) append(again, sample);
        require(again.size() == payload.size());
      }
      break;
    case 4:
      (void)decode_refusal(payload);
      break;
    case 5:
      (void)decode_thread(payload);
      break;
    default: {
      const auto options =
          agent::AgentOptions::of_lines({reinterpret_cast<const char*>(payload.data()), payload.size()});
      require(options.cpu_hertz <= agent::AgentOptions::kMostHertz && options.wall_threads != 0);
      require(options.wall_hertz <= agent::AgentOptions::kMostWallHertz);
      break;
    }
  }
  return 0;
}
