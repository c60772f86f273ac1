#include "agent/client/diagnostics.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/system/byte_cursor.h"

namespace mixstack::agent_client {
namespace {

constexpr std::string_view kMagic("DOTNET_IPC_V1\0", 14);
constexpr std::uint8_t kProfilerCommands = 3, kAttachProfiler = 1;
constexpr std::uint8_t kServerCommands = 0xff, kOk = 0x00, kError = 0xff;
constexpr std::size_t kMostAnswer = 4096;

// Not insert(): GCC 12 at -O3 warns that an insert of a few bytes is out of bounds.
void put_bytes(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  const std::size_t at = out.size();
  out.resize(at + bytes.size());
  if (!bytes.empty()) std::memcpy(out.data() + at, bytes.data(), bytes.size());
}
template <class T>
void put(std::vector<std::byte>& out, T value) {
  put_bytes(out, std::as_bytes(std::span(&value, 1)));
}

/// UTF-16 with its terminating zero, as IPC strings are. Malformed bytes become U+FFFD, and then no file has that name.
[[nodiscard]] std::vector<std::uint16_t> utf16(std::string_view text) {
  std::vector<std::uint16_t> out;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t n) { return static_cast<std::uint8_t>(text[i + n]); };
    const std::uint8_t first = byte(0);
    const std::size_t size = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
    std::uint32_t c = size == 1 ? first : size == 0 ? 0 : first & (0x7fu >> size);
    bool is_valid = size != 0 && i + size <= text.size();
    for (std::size_t n = 1; is_valid && n < size; n++) {
      is_valid = byte(n) >> 6 == 2;
      c = c << 6 | (byte(n) & 0x3fu);
    }
    if (!is_valid || c > 0x10ffff) c = 0xfffd;
    i += is_valid ? size : 1;
    if (c >= 0x10000) {
      out.push_back(static_cast<std::uint16_t>(0xd800 + ((c - 0x10000) >> 10)));
      out.push_back(static_cast<std::uint16_t>(0xdc00 + ((c - 0x10000) & 0x3ff)));
    } else {
      out.push_back(static_cast<std::uint16_t>(c));
    }
  }
  out.push_back(0);
  return out;
}

[[nodiscard]] std::string number(std::uint32_t pid) { return std::to_string(pid); }

[[nodiscard]] Outcome<void> exchange_failed(const TargetPlace& place, const Error& error) {
  const std::string who = "process " + number(place.pid);
  if (error.code == ErrorCode::limit_exceeded)
    return refuse(error.code, "runtime_no_answer",
                  "the runtime of " + who +
                      " did not answer in time. It may be busy, suspended or in a debugger; see 'mixstack "
                      "dump " +
                      number(place.pid) +
                      "'. If it answers later, the agent is there: 'mixstack agent "
                      "status " +
                      number(place.pid) + "' says so");
  return refuse(ErrorCode::process_changed, "runtime_hung_up",
                "the runtime of " + who + " hung up. See whether the process is still there, and try again",
                error.os_error);
}

[[nodiscard]] Outcome<void> connect_failed(const TargetPlace& place, const Failure& why) {
  const std::string who = "process " + number(place.pid);
  if (why.error.code == ErrorCode::limit_exceeded)
    return refuse(why.error.code, "runtime_takes_nobody",
                  "the diagnostics socket of " + who + " takes nobody: too many others wait there. Try again");
  if (why.error.code == ErrorCode::permission_denied)
    return refuse(why.error.code, "not_permitted",
                  "the diagnostics socket of " + who + " does not let you in: be its user (uid " + number(place.user) +
                      ") or root");
  std::string folders;
  for (const std::string& folder : place.folders) folders += (folders.empty() ? "" : " or ") + folder;
  return refuse(
      ErrorCode::not_found, "no_diagnostics_socket",
      who + " has no diagnostics socket in " + folders +
          ". Either it is no .NET process, or diagnostics are switched off in it "
          "(DOTNET_EnableDiagnostics=0, DOTNET_EnableDiagnostics_IPC=0), or it changed TMPDIR when it ran. Then "
          "only a start with the agent helps: see 'mixstack agent --help'");
}

}  // namespace

std::vector<std::byte> attach_request(const std::string& path, std::string_view data,
                                      std::chrono::milliseconds timeout) {
  const std::vector<std::uint16_t> wide = utf16(path);
  std::vector<std::byte> payload;
  put(payload, static_cast<std::uint32_t>(timeout.count()));
  put_bytes(payload, std::as_bytes(std::span(kAgentId)));
  put(payload, static_cast<std::uint32_t>(wide.size()));
  put_bytes(payload, std::as_bytes(std::span(wide)));
  put(payload, static_cast<std::uint32_t>(data.size()));
  put_bytes(payload, std::as_bytes(std::span(data)));
  std::vector<std::byte> message;
  put_bytes(message, std::as_bytes(std::span(kMagic)));
  put(message, static_cast<std::uint16_t>(kDiagnosticsHeader + payload.size()));
  put(message, kProfilerCommands);
  put(message, kAttachProfiler);
  put(message, std::uint16_t{0});
  put_bytes(message, payload);
  return message;
}

std::optional<std::size_t> answer_size(std::span<const std::byte> header) {
  base::ByteCursor in(header);
  const auto magic = in.bytes(kMagic.size());
  const std::size_t size = in.u16();
  if (!in.ok() || std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0) return std::nullopt;
  if (size < kDiagnosticsHeader || size > kMostAnswer) return std::nullopt;
  return size;
}

std::optional<DiagnosticsAnswer> decode_answer(std::span<const std::byte> bytes) {
  const auto size = answer_size(bytes);
  if (!size || bytes.size() != *size) return std::nullopt;
  base::ByteCursor in(bytes, kMagic.size() + sizeof(std::uint16_t));
  const std::uint8_t set = in.u8(), command = in.u8();
  in.skip(sizeof(std::uint16_t));
  if (set != kServerCommands || (command != kOk && command != kError)) return std::nullopt;
  DiagnosticsAnswer answer{command == kError, in.u32()};
  if (!in.ok()) return std::nullopt;
  return answer;
}

/// Source: dotnet/runtime src/inc/corerror.xml, winerror.h; ds-types.h for the codes of the IPC protocol.
std::string words_of(std::uint32_t status) {
  std::array<char, 16> text{};
  (void)std::snprintf(text.data(), text.size(), "0x%08x", status);
  const std::string code = std::string(" (") + text.data() + ")";
  switch (status) {
    case kProfilerThere:
      return "there is a profiler in it already, and a runtime takes only one" + code +
             ". Another tool has loaded its own; it stays until the process ends";
    case 0x8007007e:
    case 0x80070002:
      return "its runtime cannot load libmixstack_agent.so" + code +
             ": the file, or a library it needs, is not there or not readable for the process";
    case 0x8007000b:
      return "its runtime cannot load libmixstack_agent.so" + code + ": it is made for another CPU or libc";
    case 0x8013136f:
      return "its runtime refuses what the agent asks for after a start" + code + ". Start the process with the agent";
    case 0x80131371:
      return "its runtime is not ready for a profiler" + code + ". Try again in a moment";
    case 0x80131379:
      return "its runtime waited in vain for a garbage collection to end" + code + ". Try again in a moment";
    case 0x80131378:
    case 0x80131515:
      return "its runtime does not allow profilers" + code + ": DOTNET_EnableDiagnostics and _Profiler decide that";
    case 0x80131384:
    case 0x80131386:
      return "its runtime did not understand the request" + code + ": it is too old or too new for this mixstack";
    case 0x80131385:
      return "its runtime does not know how to load a profiler" + code + ": .NET Core 3.0 or later is needed";
    case 0x80004005:
      return "the agent could not start in it" + code +
             ": the process has no memory left, or its runtime is older than .NET 5";
    default:
      return "its runtime refused to load the agent" + code;
  }
}

Outcome<void> attach_profiler(const TargetPlace& place, const std::string& path, std::string_view data,
                              std::chrono::milliseconds timeout) {
  const auto deadline = agent_link::Clock::now() + timeout;
  auto link = connect_to_process(place, kDiagnosticsSocket, deadline);
  if (!link) return connect_failed(place, link.error());
  const auto request = attach_request(path, data, timeout);
  if (request.size() > UINT16_MAX)
    return refuse(ErrorCode::limit_exceeded, "too_long", "the path or the settings are too long");
  if (const auto sent = agent_link::send_all(link->get(), request, deadline); !sent)
    return exchange_failed(place, sent.error());
  std::vector<std::byte> answer(kDiagnosticsHeader);
  if (const auto got = agent_link::receive_all(link->get(), answer, deadline); !got)
    return exchange_failed(place, got.error());
  const auto size = answer_size(answer);
  if (size) {
    answer.resize(*size);
    const auto rest = std::span(answer).subspan(kDiagnosticsHeader);
    if (const auto got = agent_link::receive_all(link->get(), rest, deadline); !got)
      return exchange_failed(place, got.error());
  }
  const auto decoded = size ? decode_answer(answer) : std::nullopt;
  if (!decoded)
    return refuse(ErrorCode::malformed, "not_a_runtime",
                  "what listens on the diagnostics socket of process " + number(place.pid) +
                      " does not answer like a .NET runtime. Nothing was loaded");
  if (!decoded->is_error && static_cast<std::int32_t>(decoded->status) >= 0) return {};
  return tl::unexpected(Failure{{ErrorCode::unsupported, 0, decoded->status},
                                decoded->status == kProfilerThere ? "profiler_there" : "runtime_refuses",
                                "process " + number(place.pid) + ": " + words_of(decoded->status)});
}

}  // namespace mixstack::agent_client
