// Registers in a ucontext_t of our own process, as filled by getcontext or passed to a signal handler.
#pragma once

#include <cstring>
#include <optional>

#include "base/arch/cpu.h"

namespace mixstack::arch {

/// The vector length in the records behind a signal handler's registers; nothing: not recorded. Signal-safe.
[[nodiscard]] inline std::optional<std::uint64_t> vector_words(const VectorLength& vectors,
                                                               std::span<const std::byte> records) {
  for (std::size_t at = 0; at + 16 <= records.size();) {
    std::uint32_t magic, size;
    std::memcpy(&magic, records.data() + at, sizeof(magic));
    std::memcpy(&size, records.data() + at + 4, sizeof(size));
    if (magic == vectors.magic) {
      std::uint16_t bytes;
      std::memcpy(&bytes, records.data() + at + vectors.bytes, sizeof(bytes));
      return vectors.words(bytes);
    }
    if (magic == 0 || size < 16 || size > records.size() - at) break;
    at += size;
  }
  return std::nullopt;
}

/// Signal-safe.
[[nodiscard]] inline Registers user_context_registers(Arch host, const void* context) {
  const SignalFrame& frame = cpu(host).signal_frame;
  Registers registers(host);
  for (std::size_t i = 0; i < frame.order.size(); i++) {
    std::uint64_t value;
    std::memcpy(&value, static_cast<const std::byte*>(context) + frame.registers + 8 * i, sizeof(value));
    registers.set(frame.order[i], value);
  }
  const VectorLength& vectors = cpu(host).vector_length;
  const auto* records = static_cast<const std::byte*>(context) + vectors.records;
  if (const auto words = vector_words(vectors, {records, vectors.room})) registers.set(vectors.reg, *words);
  return registers;
}

}  // namespace mixstack::arch
