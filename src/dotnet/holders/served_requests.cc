#include "dotnet/holders/served_requests.h"

#include "dotnet/waits/requests.h"

namespace mixstack::dotnet::holders {
namespace {

constexpr std::size_t kMostAbove = 64;  // methods that await each other

/// Bytes that were copied at the moment, and all else as it is now.
class ImageOrNow final : public MemoryReader {
 public:
  explicit ImageOrNow(const HeapImage& image) : image_(image) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    auto read = image_.read_some(address, out);
    return read ? read : image_.below().read_some(address, out);
  }
  [[nodiscard]] bool has_whole_pages() const override { return false; }

 private:
  const HeapImage& image_;
};

}  // namespace

class ServedRequests::Reading {
 public:
  Reading(const RequestSources& of, const RuntimeMemory& memory)
      : types_(memory, of.names),
        objects_(types_),
        delegates_(objects_, of.code, of.names),
        machines_(objects_, delegates_),
        chains_(objects_, delegates_, machines_, std::nullopt) {}

  objects::LoadedTypes types_;
  objects::ManagedObjects objects_;
  objects::Delegates delegates_;
  objects::StateMachines machines_;
  objects::AsyncChains chains_;
};

ServedRequests::ServedRequests(const RequestSources& of) : of_(of), moment_(std::make_unique<Reading>(of, of.moment)) {}
ServedRequests::~ServedRequests() = default;

std::optional<HolderRequest> ServedRequests::find(Reading& r, Address box, bool data) {
  AsyncChain chain;
  r.machines_.add_steps(box, chain.steps);
  std::size_t above = 0;
  for (const Address up : r.chains_.way_up(box))
    if (above++ < kMostAbove && up != box && r.machines_.is_async(up)) r.machines_.add_steps(up, chain.steps);
  objects::Requests requests(r.objects_, r.machines_, r.chains_, data, std::nullopt);
  requests.look_at(chain, 1);
  std::optional<HolderRequest> found;
  for (const Request& request : requests.take()) {
    if (request.chain != 1) continue;  // of the connection, perhaps another one's
    const bool is_better = !found || (found->kind != RequestKind::incoming && request.kind == RequestKind::incoming);
    if (is_better) found = HolderRequest{request.kind, request.method, request.what};
  }
  return found;
}

std::optional<HolderRequest> ServedRequests::of(Address box) {
  auto found = find(*moment_, box, of_.data);
  if (!found || !of_.data || !found->what.empty() || !of_.is_unmoved) return found;
  const ImageOrNow memory(of_.image);
  Reading reading(of_, of_.moment.with(memory));
  auto with_text = find(reading, box, true);
  return with_text && of_.is_unmoved() ? with_text : found;
}

}  // namespace mixstack::dotnet::holders
