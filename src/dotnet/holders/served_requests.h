// Requests that async methods of a heap work on.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "dotnet/async/async_chains.h"
#include "dotnet/holders/heap_image.h"
#include "dotnet/names/method_names.h"
#include "mixstack/holders.h"

namespace mixstack::dotnet::holders {

/// The input of a search for them. Borrows all.
struct RequestSources {
  const RuntimeMemory& moment;  ///< through the image
  const HeapImage& image;
  CodeManager& code;
  names::MethodNames& names;
  bool data = false;  ///< paths and texts, which no image has: they are read as they are now
  /// No object has moved since the moment; null: none ever does.
  std::function<bool()> is_unmoved;
};

/// From the box of an async method up to the methods that await it, and the requests in their variables. Nothing is
/// told that cannot be proved so. Not thread-safe.
class ServedRequests {
 public:
  explicit ServedRequests(const RequestSources& of);
  ServedRequests(const ServedRequests&) = delete;
  ServedRequests& operator=(const ServedRequests&) = delete;
  ~ServedRequests();

  /// Nothing: none is known.
  [[nodiscard]] std::optional<HolderRequest> of(Address box);

 private:
  class Reading;
  [[nodiscard]] static std::optional<HolderRequest> find(Reading& reading, Address box, bool data);

  RequestSources of_;
  std::unique_ptr<Reading> moment_;
};

}  // namespace mixstack::dotnet::holders
