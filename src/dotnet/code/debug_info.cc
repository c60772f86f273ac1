#include "dotnet/code/debug_info.h"

#include <algorithm>
#include <array>
#include <span>

#include "dotnet/code/nibbles.h"

namespace mixstack::dotnet {
namespace {

constexpr std::uint8_t kHasPatchpoints = 1, kHasInlined = 2;
constexpr std::uint32_t kInstrumented = 0xffffffff;
constexpr std::uint32_t kMostBytes = 1 << 20;  // of the bounds, and of the variables, of one method
constexpr std::uint32_t kMostPatchpoints = 1 << 16, kMostInlinedBytes = 16 << 20;

/// Reads the flags that the JIT's information begins with. Answers where the lengths of the other parts lie.
Result<Address> skip_flags(const MemoryReader& memory, Address at, DebugInfoForm form, DebugInfoPart& inlined) {
  const auto flags = memory.read<std::uint8_t>(at);
  if (!flags) return fail(flags.error());
  if ((*flags & ~(kHasPatchpoints | kHasInlined)) != 0) return fail(ErrorCode::malformed, at);
  at++;
  if ((*flags & kHasPatchpoints) != 0) {
    // PatchpointInfo (src/coreclr/inc/patchpointinfo.h): numbers, then a word for each local. .NET 10 has two more.
    const bool is_short = form == DebugInfoForm::nibbles;
    const Address count_at = is_short ? 8 : 16, header = is_short ? 32 : 40;
    const auto locals = memory.read<std::uint32_t>(at + count_at);
    if (!locals) return fail(locals.error());
    if (*locals > kMostPatchpoints) return fail(ErrorCode::limit_exceeded, *locals);
    at += header + 4 * Address{*locals};
  }
  if ((*flags & kHasInlined) != 0) {
    const auto bytes = memory.read<std::uint32_t>(at);
    if (!bytes) return fail(bytes.error());
    if (*bytes > kMostInlinedBytes) return fail(ErrorCode::limit_exceeded, *bytes);
    inlined = {at + 4, *bytes};
    at += 4 + Address{*bytes};
  }
  return at;
}

/// A header with the sizes of two parts, or behind a 0 of all six; then the parts in the order of their sizes.
Result<DebugInfoParts> find_by_headers(const MemoryReader& memory, Address blob) {
  enum Part : std::size_t { bounds, variables, uninstrumented, patchpoints, inlined, async, count };
  constexpr std::size_t kPartsOfSlim = 2, kMostOfNumber = 6;   // bytes: eleven nibbles
  std::array<std::byte, (1 + count) * kMostOfNumber> bytes{};  // the memory may end before
  const auto n = memory.read_some(blob, bytes);
  if (!n) return fail(n.error());
  const auto there = std::span(bytes).first(std::min<std::size_t>(*n, bytes.size()));
  Nibbles header(there);
  std::array<std::uint32_t, count> sizes{};
  const std::uint32_t first = header.number();
  if (first == 0) {
    for (std::uint32_t& size : sizes) size = header.number();
  } else {
    sizes[bounds] = first;
    for (std::size_t i = 1; i < kPartsOfSlim; i++) sizes[i] = header.number();
  }
  if (!header.ok()) return fail(ErrorCode::malformed, blob);
  std::array<DebugInfoPart, count> parts{};
  Address at = blob + header.whole_bytes();
  for (std::size_t i = 0; i < count; i++) {
    if (sizes[i] > (i == inlined ? kMostInlinedBytes : kMostBytes)) return fail(ErrorCode::limit_exceeded, sizes[i]);
    if (sizes[i] != 0) parts[i] = {at, sizes[i]};
    at += sizes[i];
  }
  return DebugInfoParts{parts[inlined], parts[bounds], parts[variables], parts[async]};
}

}  // namespace

Result<DebugInfoParts> find_debug_info_parts(const MemoryReader& memory, Address blob, DebugInfoWriter writer,
                                             DebugInfoForm form) {
  if (form == DebugInfoForm::headers) return find_by_headers(memory, blob);
  DebugInfoParts parts;
  Address at = blob;
  if (writer == DebugInfoWriter::jit) {
    const auto lengths = skip_flags(memory, blob, form, parts.inlined);
    if (!lengths) return fail(lengths.error());
    at = *lengths;
  }
  std::array<std::byte, 24> lengths{};  // four numbers of up to eleven nibbles; the memory may end before
  const auto n = memory.read_some(at, lengths);
  if (!n) return fail(n.error());
  const auto there = std::span(lengths).first(std::min<std::size_t>(*n, lengths.size()));
  Nibbles header(there);
  std::uint32_t bounds = header.number(), uninstrumented = 0;
  if (bounds == kInstrumented) {
    bounds = header.number();
    uninstrumented = header.number();
  }
  const std::uint32_t variables = header.number();
  if (!header.ok()) return fail(ErrorCode::malformed, at);
  for (const std::uint32_t bytes : {bounds, uninstrumented, variables})
    if (bytes > kMostBytes) return fail(ErrorCode::limit_exceeded, bytes);
  at += header.whole_bytes();
  parts.bounds = {at, bounds};
  parts.variables = {at + bounds + uninstrumented, variables};
  return parts;
}

}  // namespace mixstack::dotnet
