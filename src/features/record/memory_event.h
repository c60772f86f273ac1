// Something that a sampled thread did to the address space of its process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "mixstack/address.h"
#include "mixstack/registers.h"

namespace mixstack::record {

struct MemoryEvent {
  enum class Kind : std::uint8_t {
    touched,  ///< used a page that was not there: `range` is the page
    mapped,   ///< mmap(2) or mremap(2): `range` is what it made
    broke,    ///< brk(2): `range.begin` is the end of the heap now, `range` is empty
  };
  Kind kind = Kind::touched;
  AddressRange range;
  std::uint64_t time_ns = 0;  ///< CLOCK_MONOTONIC
};

[[nodiscard]] MemoryEvent touched_page(Address address, std::uint64_t page_bytes);
/// From the fields of the tracepoint raw_syscalls/sys_exit and the registers of the caller, which still hold the
/// arguments then. Nothing: it failed, or is none of the calls below.
[[nodiscard]] std::optional<MemoryEvent> memory_call(std::span<const std::byte> raw, const Registers& user,
                                                     std::uint64_t page_bytes);
/// The calls that `memory_call` knows, in the kernel's language of filters: "id==9||id==12||id==25".
[[nodiscard]] std::string memory_calls_filter();

}  // namespace mixstack::record
