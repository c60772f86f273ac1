// The helper's request loop, until the library closes the socket.
#pragma once

#include <memory>

#include "helpers/dac/queries.h"

namespace mixstack::helper {

/// Borrows the channel. The request `open` loads the DAC at `dac_path`.
class Service {
 public:
  Service(dotnet::dac::MessageChannel& channel, const char* dac_path)
      : channel_(channel), memory_(channel), dac_path_(dac_path) {}

  /// Returns when the peer is gone.
  void run();

 private:
  [[nodiscard]] bool answer(const dotnet::dac::DacMessage& message);
  [[nodiscard]] bool open(const dotnet::dac::DacMessage& message);
  [[nodiscard]] bool list_threads();
  [[nodiscard]] bool walk(const dotnet::dac::DacMessage& message);
  [[nodiscard]] bool refuse(const dotnet::dac::DacRefusal& refusal);

  dotnet::dac::MessageChannel& channel_;
  RemoteMemory memory_;
  const char* dac_path_;
  std::unique_ptr<DataTarget> target_;
  std::unique_ptr<Dac> dac_;
  std::unique_ptr<Queries> queries_;
};

}  // namespace mixstack::helper
