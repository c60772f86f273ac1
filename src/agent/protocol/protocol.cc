#include "agent/protocol/protocol.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/system/byte_cursor.h"

namespace mixstack::agent_link {
namespace {

using base::ByteCursor;

/// Appends values in the CPU's byte order: both peers are on one machine.
class Writer {
 public:
  explicit Writer(Bytes& out) : out_(out) {}
  template <class T>
  void value(T v) {
    static_assert(std::is_trivially_copyable_v<T>);
    // Not insert(): GCC 12 at -O3 warns that an insert of so few bytes is out of bounds.
    const std::size_t at = out_.size();
    out_.resize(at + sizeof v);
    std::memcpy(out_.data() + at, &v, sizeof v);
  }
  void text(std::string_view text) {
    text = text.substr(0, kMostText);
    value(static_cast<std::uint16_t>(text.size()));
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    out_.insert(out_.end(), bytes, bytes + text.size());
  }

 private:
  Bytes& out_;
};

std::string read_text(ByteCursor& in) {
  const std::size_t size = in.u16();
  if (size > kMostText) in.set_failed();
  const auto bytes = in.bytes(in.ok() ? size : 0);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The value, if the payload was neither truncated nor has bytes behind it.
template <class T>
std::optional<T> whole(const ByteCursor& in, T value) {
  if (!in.ok() || !in.at_end()) return std::nullopt;
  return value;
}

/// Reads an enumeration of one byte; a value beyond `last` fails.
template <class E>
E read_enum(ByteCursor& in, E last) {
  const std::uint8_t value = in.u8();
  if (value > static_cast<std::uint8_t>(last)) in.set_failed();
  return in.ok() ? static_cast<E>(value) : E{};
}

/// All numbers of a report in their order on the wire; one list for both directions.
template <class R>
auto numbers_of(R& r) {
  auto& a = r.account;
  return std::array{&r.loaded_for,  &r.sampling_for, &a.samples,    &a.cut,        &a.lost,    &a.postponed, &a.missed,
                    &a.lost_on_way, &r.threads,      &r.untimed,    &r.foreign,    &r.methods, &r.pieces,    &r.freed,
                    &r.refused,     &r.images,       &r.code_bytes, &r.ring_bytes, &r.cpu};
}
template <class R>
auto texts_of(R& r) {
  return std::array{&r.agent, &r.runtime, &r.out, &r.remains};
}

}  // namespace

Bytes message(Kind kind, std::span<const std::byte> payload) {
  Bytes out;
  out.reserve(kHeaderSize + payload.size());
  Writer writer(out);
  writer.value(kMark);
  writer.value(kVersion);
  writer.value(static_cast<std::uint16_t>(kind));
  writer.value(static_cast<std::uint32_t>(payload.size()));
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

Bytes message(Kind kind, std::string_view text) {
  return message(kind, std::as_bytes(std::span(text.substr(0, kMostText))));
}

Bytes encode(const Report& report) {
  Bytes payload;
  Writer writer(payload);
  writer.value(static_cast<std::uint8_t>(report.is_sampling));
  writer.value(report.cpu_hertz);
  writer.value(report.wall_hertz);
  for (const std::uint64_t* number : numbers_of(report)) writer.value(*number);
  for (const std::string* text : texts_of(report)) writer.text(*text);
  return message(Kind::report, payload);
}

Bytes encode(const Refusal& refusal) {
  Bytes payload;
  Writer writer(payload);
  writer.value(refusal.code);
  writer.text(refusal.agent);
  writer.text(refusal.text);
  return message(Kind::refused, payload);
}

Bytes encode(const Frame& frame) {
  Bytes payload;
  Writer writer(payload);
  writer.value(frame.number);
  writer.value(frame.frame.kind);
  writer.text(frame.frame.name);
  writer.text(frame.frame.module);
  return message(Kind::frame, payload);
}

Bytes encode(const Thread& thread) {
  Bytes payload;
  Writer writer(payload);
  writer.value(thread.tid);
  writer.text(thread.name);
  return message(Kind::thread, payload);
}

std::size_t size_of(const Sample& sample) {
  constexpr std::size_t kNumbers = 2 * sizeof(std::uint32_t) + 2 + 2 * sizeof(std::uint16_t);
  return kNumbers + std::min(sample.frames.size(), kMostFrames) * sizeof(std::uint32_t);
}

void append(Bytes& payload, const Sample& sample) {
  Writer writer(payload);
  const std::size_t count = std::min(sample.frames.size(), kMostFrames);
  writer.value(sample.tid);
  writer.value(sample.weight);
  writer.value(sample.state);
  writer.value(count < sample.frames.size() ? StopReason::max_frames : sample.stop);
  writer.value(static_cast<std::uint16_t>(count));
  const std::size_t left_out = sample.frames.size() - count;
  writer.value(static_cast<std::uint16_t>(sample.doubtful - std::min<std::size_t>(sample.doubtful, left_out)));
  for (std::size_t i = 0; i < count; i++) writer.value(sample.frames[i]);
}

std::optional<Header> decode_header(std::span<const std::byte> bytes) {
  ByteCursor in(bytes.first(std::min(bytes.size(), kHeaderSize)));
  const std::uint32_t mark = in.u32();
  Header header;
  header.version = in.u16();
  header.kind = static_cast<Kind>(in.u16());
  header.size = in.u32();
  if (!in.ok() || mark != kMark || header.size > kMostPayload) return std::nullopt;
  return header;
}

std::optional<Report> decode_report(std::span<const std::byte> payload) {
  ByteCursor in(payload);
  Report report;
  report.is_sampling = in.u8() != 0;
  report.cpu_hertz = in.u32();
  report.wall_hertz = in.u32();
  for (std::uint64_t* number : numbers_of(report)) *number = in.u64();
  for (std::string* text : texts_of(report)) *text = read_text(in);
  return whole(in, std::move(report));
}

std::optional<Refusal> decode_refusal(std::span<const std::byte> payload) {
  ByteCursor in(payload);
  Refusal refusal;
  refusal.code = static_cast<RefusalCode>(in.u16());
  refusal.agent = read_text(in);
  refusal.text = read_text(in);
  return whole(in, std::move(refusal));
}

std::optional<Frame> decode_frame(std::span<const std::byte> payload) {
  ByteCursor in(payload);
  Frame frame;
  frame.number = in.u32();
  frame.frame.kind = read_enum(in, FrameKind::undescribed);
  frame.frame.name = read_text(in);
  frame.frame.module = read_text(in);
  if (frame.frame.name.empty()) in.set_failed();
  return whole(in, std::move(frame));
}

std::optional<Thread> decode_thread(std::span<const std::byte> payload) {
  ByteCursor in(payload);
  Thread thread;
  thread.tid = in.u32();
  thread.name = read_text(in);
  return whole(in, std::move(thread));
}

std::optional<std::vector<Sample>> decode_samples(std::span<const std::byte> payload) {
  ByteCursor in(payload);
  std::vector<Sample> samples;
  while (in.ok() && !in.at_end()) {
    Sample sample;
    sample.tid = in.u32();
    sample.weight = in.u32();
    sample.state = read_enum(in, kLastSampleState);
    sample.stop = read_enum(in, kLastStopReason);
    const std::size_t count = in.u16();
    sample.doubtful = in.u16();
    if (sample.doubtful > count) in.set_failed();
    if (count > kMostFrames || count * sizeof(std::uint32_t) > in.remaining()) in.set_failed();
    for (std::size_t i = 0; in.ok() && i < count; i++) sample.frames.push_back(in.u32());
    samples.push_back(std::move(sample));
  }
  return whole(in, std::move(samples));
}

}  // namespace mixstack::agent_link
