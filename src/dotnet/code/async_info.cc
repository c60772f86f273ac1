#include "dotnet/code/async_info.h"

#include "dotnet/code/nibbles.h"

namespace mixstack::dotnet {
namespace {

constexpr std::int32_t kLowestNumber = -6;  // as in the table of variables (variables.cc)
constexpr std::int64_t kMostCode = 1 << 28;
constexpr std::uint32_t kMostOffset = 1 << 20;  // bytes of a continuation

}  // namespace

Result<std::vector<SuspensionPoint>> decode_async_info(std::span<const std::byte> bytes) {
  Nibbles in(bytes);
  const std::uint32_t count = in.number(), variables = in.number();
  if (!in.ok()) return fail(ErrorCode::truncated);
  if (count > kMostSuspensionPoints || variables > kMostSuspensionPoints) return fail(ErrorCode::limit_exceeded, count);
  if (std::uint64_t{count} + variables > bytes.size()) return fail(ErrorCode::truncated, count);  // two numbers each
  std::vector<SuspensionPoint> points(count);
  std::uint64_t in_all = 0;
  std::int64_t native = 0;
  for (SuspensionPoint& point : points) {
    native += in.signed_number();
    const std::uint32_t own = in.number();
    in_all += own;
    if (native < 0 || native > kMostCode || in_all > variables) return fail(ErrorCode::malformed, in_all);
    point.native = static_cast<std::uint32_t>(native);
    point.variables.resize(own);
  }
  if (in_all != variables) return fail(ErrorCode::malformed, in_all);
  for (SuspensionPoint& point : points) {
    for (KeptVariable& variable : point.variables) {
      variable.number = static_cast<std::int32_t>(in.number() + static_cast<std::uint32_t>(kLowestNumber));
      variable.offset = in.number();
      if (variable.offset > kMostOffset) return fail(ErrorCode::malformed, variable.offset);
    }
  }
  if (!in.ok()) return fail(ErrorCode::truncated, count);
  return points;
}

Result<std::vector<SuspensionPoint>> read_async_info(const MemoryReader& memory, Address blob, DebugInfoWriter writer,
                                                     DebugInfoForm form) {
  const auto parts = find_debug_info_parts(memory, blob, writer, form);
  if (!parts) return fail(parts.error());
  std::vector<std::byte> bytes(parts->async.bytes);
  if (bytes.empty()) return std::vector<SuspensionPoint>{};
  if (const auto read = memory.read_exact(parts->async.begin, bytes); !read) return fail(read.error());
  return decode_async_info(bytes);
}

}  // namespace mixstack::dotnet
