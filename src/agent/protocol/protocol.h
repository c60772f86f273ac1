// The messages between the command and the agent in a process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/words/profile.h"
#include "mixstack/frame.h"

namespace mixstack::agent_link {

/// Raised with every change of a message but `refused`. A peer of another version is refused.
inline constexpr std::uint16_t kVersion = 3;
inline constexpr std::uint32_t kMark = 0x4741584d;  ///< "MXAG"
inline constexpr std::size_t kHeaderSize = 12;
/// Bounds of one message, and of its texts and frames.
inline constexpr std::uint32_t kMostPayload = 512u << 10;
inline constexpr std::size_t kMostText = 4096, kMostFrames = 0xffff;
/// The socket of an agent: `mixstack-agent-PID-KEY-socket` in the temporary folder of its process. PID is the one that
/// the process itself sees, KEY a random number.
inline constexpr std::string_view kSocketPrefix = "mixstack-agent-", kSocketSuffix = "-socket";

enum class Kind : std::uint16_t {
  // The command asks.
  status = 1,  ///< answered by `report`
  start,       ///< text of settings; answered by `report` or `refused`
  stop,        ///< answered by `report` or `refused`
  record,      ///< text of settings; answered by `report`, then by frames, threads and samples until `end`
  end,         ///< ends a recording; answered by `report`, the last message
  // The agent answers.
  report = 16,  ///< Report
  refused,      ///< Refusal; the same in every version
  frame,        ///< Frame
  thread,       ///< Thread
  samples,      ///< any number of Sample, one after the other
};

/// The same in every version.
struct Header {
  std::uint16_t version = kVersion;
  Kind kind = Kind::status;
  std::uint32_t size = 0;  ///< of the payload
};

/// Why the agent refuses a request. Numbers are stable.
enum class RefusalCode : std::uint16_t {
  other_version = 1,  ///< of the protocol
  not_understood,
  already_sampling,
  not_possible,  ///< the text says why
};

struct Refusal {
  RefusalCode code = RefusalCode::not_possible;
  std::string agent;  ///< version of the program
  std::string text;
};

/// The agent's state, and its cost.
struct Report {
  std::string agent, runtime;  ///< versions: "0.1.0", "10.0.12"
  bool is_sampling = false;
  std::uint32_t cpu_hertz = 0, wall_hertz = 0;
  std::string out;                 ///< file the agent writes at the end; empty: none
  std::uint64_t loaded_for = 0;    ///< ns since it was loaded
  std::uint64_t sampling_for = 0;  ///< ns of the current sampling, or of the last one
  ProfileAccount account;          ///< of the current sampling, or of the last one
  std::uint64_t threads = 0;       ///< threads with a timer of their own
  std::uint64_t untimed = 0;       ///< threads without one: timer_create failed
  std::uint64_t foreign = 0;       ///< signals that were not ours
  // Counts of known code.
  std::uint64_t methods = 0, pieces = 0, freed = 0, refused = 0, images = 0;
  std::uint64_t code_bytes = 0;  ///< memory of the JIT map
  std::uint64_t ring_bytes = 0;  ///< memory of the ring of samples
  std::uint64_t cpu = 0;         ///< ns of the agent's own threads
  std::string remains;           ///< after a stop: the parts that stay loaded
};

/// Announces the name of a frame number, before the first sample that uses it.
struct Frame {
  std::uint32_t number = 0;
  ProfileFrame frame;
};

struct Thread {
  std::uint32_t tid = 0;
  std::string name;
};

/// A stack as frame numbers, innermost first.
struct Sample {
  std::uint32_t tid = 0;
  std::uint32_t weight = 1;  ///< of a waiting thread: the number of samples with this same stack
  SampleState state = SampleState::cpu;
  StopReason stop = StopReason::end_of_stack;
  std::vector<std::uint32_t> frames;
  std::uint32_t doubtful = 0;  ///< this many of the outermost frames are doubtful, as in Profile::Stack
};

using Bytes = std::vector<std::byte>;

/// Whole messages, header included. Texts longer than kMostText are cut.
[[nodiscard]] Bytes message(Kind kind, std::span<const std::byte> payload = {});
[[nodiscard]] Bytes message(Kind kind, std::string_view text);
[[nodiscard]] Bytes encode(const Report& report);
[[nodiscard]] Bytes encode(const Refusal& refusal);
[[nodiscard]] Bytes encode(const Frame& frame);
[[nodiscard]] Bytes encode(const Thread& thread);
/// The bytes that `append` adds to the payload of a `samples` message; frames beyond kMostFrames are left out.
[[nodiscard]] std::size_t size_of(const Sample& sample);
void append(Bytes& payload, const Sample& sample);

/// Nothing: the bytes are no header, or announce more than kMostPayload.
[[nodiscard]] std::optional<Header> decode_header(std::span<const std::byte> bytes);
/// Decode payloads; nothing: truncated, out of range, or with bytes left over.
[[nodiscard]] std::optional<Report> decode_report(std::span<const std::byte> payload);
[[nodiscard]] std::optional<Refusal> decode_refusal(std::span<const std::byte> payload);
[[nodiscard]] std::optional<Frame> decode_frame(std::span<const std::byte> payload);
[[nodiscard]] std::optional<Thread> decode_thread(std::span<const std::byte> payload);
[[nodiscard]] std::optional<std::vector<Sample>> decode_samples(std::span<const std::byte> payload);

}  // namespace mixstack::agent_link
