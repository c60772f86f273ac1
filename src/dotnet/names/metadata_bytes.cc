#include "dotnet/names/metadata_bytes.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace mixstack::dotnet::names {

std::shared_ptr<MetadataBytes> MetadataBytes::borrow(std::span<const std::byte> bytes,
                                                     std::shared_ptr<const void> owner) {
  std::shared_ptr<MetadataBytes> result(new MetadataBytes);
  // Never written: only lazy objects load.
  result->data_ = const_cast<std::byte*>(bytes.data());
  result->size_ = bytes.size();
  result->owner_ = std::move(owner);
  return result;
}

Result<std::shared_ptr<MetadataBytes>> MetadataBytes::lazy(const MemoryReader& memory, Address address,
                                                           std::uint64_t size) {
  if (size == 0 || address + size < address) return fail(ErrorCode::malformed, address);
  if (size > kMaxSize) return fail(ErrorCode::limit_exceeded, size);
  void* room = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return fail(ErrorCode::io_error, size, errno);
  std::shared_ptr<MetadataBytes> result(new MetadataBytes);
  result->data_ = static_cast<std::byte*>(room);
  result->size_ = size;
  result->memory_ = &memory;
  result->address_ = address;
  result->chunks_.assign((size + kChunk - 1) / kChunk, Chunk::absent);
  return result;
}

MetadataBytes::~MetadataBytes() {
  if (memory_ != nullptr) ::munmap(data_, size_);
}

bool MetadataBytes::ensure(std::uint64_t offset, std::uint64_t n) const {
  if (n == 0) return true;
  const std::uint64_t last = (offset + n - 1) / kChunk;
  for (std::uint64_t c = offset / kChunk; c <= last; c++) {
    const Chunk state = chunks_[c];
    if (state == Chunk::unreadable || (state == Chunk::absent && !load(c))) return false;
  }
  return true;
}

bool MetadataBytes::load(std::size_t chunk) const {
  const std::uint64_t offset = std::uint64_t{chunk} * kChunk;
  const std::uint64_t n = std::min<std::uint64_t>(kChunk, size_ - offset);
  const bool good = memory_->read_exact(address_ + offset, std::span(data_ + offset, n)).has_value();
  chunks_[chunk] = good ? Chunk::present : Chunk::unreadable;
  if (good) loaded_ += n;
  has_holes_ |= !good;
  return good;
}

std::string_view MetadataBytes::text(std::uint64_t offset, std::uint64_t end, std::uint64_t limit) const {
  end = std::min(end, size_);
  if (offset >= end) return {};
  const std::uint64_t room = std::min(limit, end - offset);
  std::uint64_t done = 0;
  for (std::uint64_t step = 64; done < room; step *= 4) {
    const std::uint64_t n = std::min(step, room - done);
    const std::byte* p = at(offset + done, n);
    if (p == nullptr) break;
    if (const void* nul = std::memchr(p, 0, n)) {
      done += static_cast<std::uint64_t>(static_cast<const std::byte*>(nul) - p);
      break;
    }
    done += n;
  }
  if (done == 0) return {};
  return {reinterpret_cast<const char*>(data_ + offset), done};
}

}  // namespace mixstack::dotnet::names
