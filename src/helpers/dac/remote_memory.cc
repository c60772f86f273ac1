#include "helpers/dac/remote_memory.h"

#include <unistd.h>

#include <algorithm>

namespace mixstack::helper {

using dotnet::dac::DacMessage;
using dotnet::dac::MessageType;
using dotnet::dac::Writer;

namespace {

/// The library is gone or broke the protocol. Called from inside the DAC, which cannot be unwound: exit.
[[noreturn]] void end_of_service() { ::_exit(0); }

DacMessage exchange(dotnet::dac::MessageChannel& channel, MessageType type, const Writer& question,
                    MessageType expected) {
  if (!channel.send(type, question.bytes())) end_of_service();
  auto answer = channel.receive();
  if (!answer || answer->type != expected) end_of_service();
  return std::move(*answer);
}

}  // namespace

std::vector<std::byte> RemoteMemory::ask(std::uint64_t address, std::size_t size) {
  Writer question;
  question.value(address);
  question.value(static_cast<std::uint32_t>(size));
  DacMessage answer = exchange(channel_, MessageType::read_memory, question, MessageType::memory);
  answer.payload.resize(std::min(answer.payload.size(), size));
  return std::move(answer.payload);
}

const std::vector<std::byte>& RemoteMemory::page(std::uint64_t base) {
  const auto known = pages_.find(base);
  if (known != pages_.end()) return known->second;
  if (pages_.size() >= kMaxPages) pages_.clear();
  // A DAC reads small pieces in ascending order, so one exchange fetches some pages ahead.
  const std::uint64_t room = ~base;
  const std::vector<std::byte> bytes = ask(base, room < kFetch ? kPage : kFetch);
  for (std::size_t offset = kPage; offset < bytes.size(); offset += kPage) {
    const std::size_t n = std::min(kPage, bytes.size() - offset);
    if (n < kPage) break;  // a partial page is not cached: the rest of it may be readable after a hole
    pages_.try_emplace(base + offset, bytes.begin() + static_cast<std::ptrdiff_t>(offset),
                       bytes.begin() + static_cast<std::ptrdiff_t>(offset + n));
  }
  const std::size_t n = std::min(kPage, bytes.size());
  return pages_.insert_or_assign(base, std::vector(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n)))
      .first->second;
}

std::size_t RemoteMemory::read(std::uint64_t address, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::uint64_t at = address + done;
    if (at < address) break;
    const std::size_t offset = at % kPage;
    const std::size_t wanted = std::min(kPage - offset, out.size() - done);
    const auto& bytes = page(at - offset);
    std::size_t n = 0;
    if (bytes.size() > offset) {
      n = std::min(wanted, bytes.size() - offset);
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), n,
                  out.begin() + static_cast<std::ptrdiff_t>(done));
    } else {
      // The source may hold the middle of a page without its start (copied stacks, cores).
      const auto piece = ask(at, wanted);
      n = piece.size();
      std::copy(piece.begin(), piece.end(), out.begin() + static_cast<std::ptrdiff_t>(done));
    }
    if (n == 0) break;
    done += n;
  }
  return done;
}

std::size_t RemoteMemory::metadata(dotnet::dac::MetadataRequest request, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    request.offset = static_cast<std::uint32_t>(done);
    request.size = static_cast<std::uint32_t>(std::min<std::size_t>(out.size() - done, dotnet::dac::kMaxRead));
    Writer question;
    question.raw(encode(request));
    const DacMessage answer = exchange(channel_, MessageType::metadata, question, MessageType::memory);
    const std::size_t n = std::min<std::size_t>(answer.payload.size(), request.size);
    std::copy_n(answer.payload.begin(), n, out.begin() + static_cast<std::ptrdiff_t>(done));
    done += n;
    if (n < request.size) break;
  }
  return done;
}

bool RemoteMemory::context(std::uint32_t thread, std::uint32_t flags, std::span<std::byte> out) {
  Writer question;
  question.value(thread);
  question.value(flags);
  question.value(static_cast<std::uint32_t>(out.size()));
  const DacMessage answer = exchange(channel_, MessageType::thread_context, question, MessageType::context);
  if (answer.payload.empty()) return false;
  // The DAC's CONTEXT may be longer than the served part (integer registers): extended state stays zero.
  std::fill(out.begin(), out.end(), std::byte{0});
  std::copy_n(answer.payload.begin(), std::min(answer.payload.size(), out.size()), out.begin());
  return true;
}

}  // namespace mixstack::helper
