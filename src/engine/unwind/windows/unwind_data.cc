#include "engine/unwind/windows/unwind_data.h"

#include <algorithm>
#include <cstring>

namespace mixstack::unwind::windows {

std::optional<RuntimeFunction> UnwindDataSource::function_at(std::uint32_t /*rva*/) const { return std::nullopt; }

Result<std::size_t> MappedUnwindData::read_some(std::uint32_t rva, std::span<std::byte> out) const {
  if (rva < first_rva_ || rva - first_rva_ >= bytes_.size()) return fail(ErrorCode::unreadable_memory, rva);
  const auto available = bytes_.subspan(rva - first_rva_);
  const std::size_t n = std::min(available.size(), out.size());
  if (n != 0) std::memcpy(out.data(), available.data(), n);
  return n;
}

}  // namespace mixstack::unwind::windows
