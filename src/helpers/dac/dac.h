// A loaded DAC and two of its interfaces: IXCLRDataProcess and ISOSDacInterface.
#pragma once

#include <memory>

#include "helpers/dac/data_target.h"

namespace mixstack::helper {

template <class T>
using Outcome = tl::expected<T, dotnet::dac::DacRefusal>;

[[nodiscard]] inline tl::unexpected<dotnet::dac::DacRefusal> refuse(dotnet::dac::Stage stage, HResult result,
                                                                    std::string text) {
  return tl::unexpected(dotnet::dac::DacRefusal{stage, result, std::move(text)});
}

/// Never unloaded: a DAC does not support that.
class Dac {
 public:
  /// Loads the library at `path`, starts its platform layer and creates the interfaces for the target.
  [[nodiscard]] static Outcome<std::unique_ptr<Dac>> load(const char* path, DataTarget& target);

  [[nodiscard]] IXCLRDataProcess& process() { return *process_.get(); }
  [[nodiscard]] ISOSDacInterface& sos() { return *sos_.get(); }

 private:
  ComPointer<IXCLRDataProcess> process_;
  ComPointer<ISOSDacInterface> sos_;
};

}  // namespace mixstack::helper
