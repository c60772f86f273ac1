#include "process/perf/record_window.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/system/byte_cursor.h"
#include "process/perf/perf_record.h"

namespace mixstack::perf {

bool RecordWindow::extend(std::uint64_t head) {
  if (!std::has_single_bit(ring_.size()) || head < tail_ || head - tail_ > ring_.size()) {
    head_ = tail_;
    return false;
  }
  head_ = head;
  return true;
}

Result<std::span<const std::byte>> RecordWindow::first() {
  constexpr std::size_t kSizeInHeader = 6;
  const std::uint64_t there = head_ - tail_;
  const auto at = static_cast<std::size_t>(tail_ & (ring_.size() - 1));
  // Records are padded to 8 bytes, and so a header is never torn.
  const auto size = base::load_at<std::uint16_t>(ring_, at + kSizeInHeader);
  if (there < kHeaderBytes || tail_ % kHeaderBytes != 0 || !size || *size < kHeaderBytes || *size > there)
    return fail(ErrorCode::malformed, tail_);
  const std::size_t whole = std::min<std::size_t>(*size, ring_.size() - at);
  if (whole == *size) return ring_.subspan(at, whole);
  torn_.resize(kMostRecordBytes);
  std::memcpy(torn_.data(), ring_.data() + at, whole);
  std::memcpy(torn_.data() + whole, ring_.data(), *size - whole);
  return std::span<const std::byte>(torn_).first(*size);
}

}  // namespace mixstack::perf
