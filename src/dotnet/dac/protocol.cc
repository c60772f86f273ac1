#include "dotnet/dac/protocol.h"

#include <algorithm>

namespace mixstack::dotnet::dac {
namespace {

using base::ByteCursor;

/// The payload must be exactly one value.
template <class T>
Result<T> whole(const ByteCursor& in, T value) {
  if (!in.ok() || !in.at_end()) return fail(ErrorCode::malformed, in.position());
  return value;
}

void encode_registers(const Registers& registers, Writer& out) {
  out.value(static_cast<std::uint8_t>(registers.arch()));
  out.value(registers.known());
  for (unsigned r = 0; r < Registers::kMax; r++)
    if (registers.is_known(r)) out.value(registers.value_or_zero(r));
}

Registers decode_registers(ByteCursor& in) {
  const std::uint8_t arch = in.u8();
  if (arch > static_cast<std::uint8_t>(kArchs.back())) in.set_failed();
  Registers registers(in.ok() ? static_cast<Arch>(arch) : Arch::unknown);
  const std::uint64_t known = in.u64();
  if (known >> arch_registers(registers.arch()).count != 0) in.set_failed();
  for (unsigned r = 0; in.ok() && r < Registers::kMax; r++)
    if ((known >> r & 1) != 0) registers.set(r, in.u64());
  return registers;
}

Element decode_element(ByteCursor& in) {
  Element e;
  const std::uint8_t kind = in.u8();
  if (kind < 1 || kind > 3) in.set_failed();
  e.kind = static_cast<ElementKind>(kind);
  e.registers = decode_registers(in);
  e.record = in.u64();
  e.record_type = in.u64();
  e.method = in.u64();
  e.record_name = read_text(in);
  return e;
}

ThreadRecord decode_thread(ByteCursor& in) {
  ThreadRecord t;
  t.address = in.u64();
  t.managed_id = in.u32();
  t.os_id = in.u32();
  t.state = in.u32();
  t.cooperative = in.u8() != 0;
  t.frame = in.u64();
  t.stack.begin = in.u64();
  t.stack.end = in.u64();
  t.exception_type = read_text(in);
  return t;
}

}  // namespace

void Writer::text(std::string_view s) {
  s = s.substr(0, kMaxText);
  value(static_cast<std::uint16_t>(s.size()));
  raw(std::as_bytes(std::span(s.data(), s.size())));
}

std::string read_text(base::ByteCursor& cursor) {
  const std::uint16_t size = cursor.u16();
  if (size > kMaxText) cursor.set_failed();
  const auto bytes = cursor.bytes(size);
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return text;
}

std::vector<std::byte> encode(const Opening& v) {
  Writer out;
  out.value(static_cast<std::uint8_t>(v.arch));
  out.value(v.runtime_base);
  return out.bytes();
}

Result<Opening> decode_opening(std::span<const std::byte> payload) {
  ByteCursor in(payload);
  Opening v;
  const std::uint8_t arch = in.u8();
  if (arch > static_cast<std::uint8_t>(kArchs.back())) in.set_failed();
  v.arch = static_cast<Arch>(arch);
  v.runtime_base = in.u64();
  return whole(in, v);
}

std::vector<std::byte> encode(const WalkRequest& v) {
  Writer out;
  out.value(v.thread);
  out.value(v.max_frames);
  out.value(static_cast<std::uint8_t>(v.from_context));
  out.value(static_cast<std::uint8_t>(v.stop_at_native));
  out.value(static_cast<std::uint8_t>(v.is_interrupted));
  out.raw(v.context);
  return out.bytes();
}

Result<WalkRequest> decode_walk_request(std::span<const std::byte> payload) {
  ByteCursor in(payload);
  WalkRequest v;
  v.thread = in.u32();
  v.max_frames = in.u32();
  v.from_context = in.u8() != 0;
  v.stop_at_native = in.u8() != 0;
  v.is_interrupted = in.u8() != 0;
  const auto context = in.bytes(in.remaining());
  v.context.assign(context.begin(), context.end());
  return whole(in, std::move(v));
}

std::vector<std::byte> encode(const MetadataRequest& v) {
  Writer out;
  for (const std::uint32_t number : {v.timestamp, v.image_size, v.rva, v.offset, v.size}) out.value(number);
  out.text(v.path);
  return out.bytes();
}

Result<MetadataRequest> decode_metadata_request(std::span<const std::byte> payload) {
  ByteCursor in(payload);
  MetadataRequest v;
  for (std::uint32_t* number : {&v.timestamp, &v.image_size, &v.rva, &v.offset, &v.size}) *number = in.u32();
  v.path = read_text(in);
  return whole(in, std::move(v));
}

std::vector<std::byte> encode(const Description& v) {
  Writer out;
  out.value(static_cast<std::uint8_t>(v.kind));
  out.value(v.method);
  out.value(v.start);
  out.value(v.size);
  out.value(v.cold_start);
  out.value(v.cold_size);
  out.value(v.gc_info);
  out.value(static_cast<std::uint8_t>(v.is_jitted));
  out.text(v.name);
  out.text(v.module_path);
  out.value(v.displacement);
  return out.bytes();
}

Result<Description> decode_description(std::span<const std::byte> payload) {
  ByteCursor in(payload);
  Description v;
  const std::uint8_t kind = in.u8();
  if (kind > 2) in.set_failed();
  v.kind = static_cast<CodeClass>(kind);
  v.method = in.u64();
  v.start = in.u64();
  v.size = in.u64();
  v.cold_start = in.u64();
  v.cold_size = in.u32();
  v.gc_info = in.u64();
  v.is_jitted = in.u8() != 0;
  v.name = read_text(in);
  v.module_path = read_text(in);
  v.displacement = in.u64();
  return whole(in, std::move(v));
}

std::vector<std::byte> encode(const DacRefusal& v) {
  Writer out;
  out.value(static_cast<std::uint8_t>(v.stage));
  out.value(v.result);
  out.text(v.text);
  return out.bytes();
}

Result<DacRefusal> decode_refusal(std::span<const std::byte> payload) {
  ByteCursor in(payload);
  DacRefusal v;
  const std::uint8_t stage = in.u8();
  if (stage < 1 || stage > 6) in.set_failed();
  v.stage = static_cast<Stage>(stage);
  v.result = in.read<std::int32_t>();
  v.text = read_text(in);
  return whole(in, std::move(v));
}

void encode(const Element& v, Writer& out) {
  out.value(static_cast<std::uint8_t>(v.kind));
  encode_registers(v.registers, out);
  out.value(v.record);
  out.value(v.record_type);
  out.value(v.method);
  out.text(v.record_name);
}

void encode(const ThreadRecord& v, Writer& out) {
  out.value(v.address);
  out.value(v.managed_id);
  out.value(v.os_id);
  out.value(v.state);
  out.value(static_cast<std::uint8_t>(v.cooperative));
  out.value(v.frame);
  out.value(v.stack.begin);
  out.value(v.stack.end);
  out.text(v.exception_type);
}

Result<void> decode_elements(std::span<const std::byte> payload, std::vector<Element>& out) {
  ByteCursor in(payload);
  while (in.ok() && !in.at_end()) {
    Element e = decode_element(in);
    if (in.ok()) out.push_back(std::move(e));
  }
  if (!in.ok()) return fail(ErrorCode::malformed);
  return {};
}

Result<void> decode_threads(std::span<const std::byte> payload, std::vector<ThreadRecord>& out) {
  ByteCursor in(payload);
  while (in.ok() && !in.at_end()) {
    ThreadRecord t = decode_thread(in);
    if (in.ok()) out.push_back(std::move(t));
  }
  if (!in.ok()) return fail(ErrorCode::malformed);
  return {};
}

}  // namespace mixstack::dotnet::dac
