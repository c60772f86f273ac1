// The runtime's diagnostics socket (IPC), used only to attach a profiler.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/client/target_place.h"

namespace mixstack::agent_client {

/// Source of formats and numbers: dotnet/diagnostics documentation/design-docs/ipc-protocol.md; of the socket's name:
/// dotnet/runtime src/native/eventpipe/ds-ipc-pal-socket.c.
inline constexpr SocketName kDiagnosticsSocket{"dotnet-diagnostic-", "-socket"};

/// Our CLSID: an arbitrary one.
inline constexpr std::array<std::uint8_t, 16> kAgentId{0x6d, 0x69, 0x78, 0x73, 0x74, 0x61, 0x4b, 0x4d,
                                                       0x8a, 0x01, 0x61, 0x67, 0x65, 0x6e, 0x74, 0x31};

/// Command AttachProfiler. `path` is UTF-8, as the process sees it; `data` goes to the profiler.
[[nodiscard]] std::vector<std::byte> attach_request(const std::string& path, std::string_view data,
                                                    std::chrono::milliseconds timeout);

/// The runtime's answer.
struct DiagnosticsAnswer {
  bool is_error = false;
  std::uint32_t status = 0;  ///< HRESULT
};
inline constexpr std::size_t kDiagnosticsHeader = 20;
/// Size of the whole answer, from its header; nothing: not a header of an answer.
[[nodiscard]] std::optional<std::size_t> answer_size(std::span<const std::byte> header);
/// Decodes a whole answer; nothing: it does not answer AttachProfiler.
[[nodiscard]] std::optional<DiagnosticsAnswer> decode_answer(std::span<const std::byte> bytes);

/// CORPROF_E_PROFILER_ALREADY_ACTIVE: a runtime has at most one profiler.
inline constexpr std::uint32_t kProfilerThere = 0x8013136a;
/// A sentence about an HRESULT, with the next step: "there is a profiler in it already ...".
[[nodiscard]] std::string words_of(std::uint32_t status);

/// Asks the process to load the agent. Errors: not_found (no socket), limit_exceeded (no answer in time),
/// permission_denied, malformed (what answered is no runtime), unsupported (the runtime refuses; `error.value` is the
/// HRESULT).
[[nodiscard]] Outcome<void> attach_profiler(const TargetPlace& place, const std::string& path, std::string_view data,
                                            std::chrono::milliseconds timeout);

}  // namespace mixstack::agent_client
