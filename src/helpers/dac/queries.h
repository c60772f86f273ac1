// Answers the requests of libmixstack by calling a DAC.
#pragma once

#include <functional>
#include <vector>

#include "helpers/dac/dac.h"

namespace mixstack::helper {

/// Borrows the DAC and the memory it reads through. The DAC is not trusted: lists and texts are bounded, and a value
/// that it cannot give stays empty.
class Queries {
 public:
  Queries(Dac& dac, RemoteMemory& memory, Arch arch) : dac_(dac), memory_(memory), arch_(arch) {}

  void flush();
  [[nodiscard]] Outcome<std::vector<dotnet::dac::ThreadRecord>> threads();
  [[nodiscard]] dotnet::dac::Description describe(DacAddress code);
  [[nodiscard]] dotnet::dac::Description describe_method(DacAddress method);

  struct WalkResult {
    HResult result = kOk;
    dotnet::dac::WalkEnd end = dotnet::dac::WalkEnd::end_of_stack;
  };
  using ElementSink = std::function<void(const dotnet::dac::Element&)>;
  /// Calls `sink` for each element of the stack, innermost first.
  [[nodiscard]] Outcome<WalkResult> walk(const dotnet::dac::WalkRequest& request, const ElementSink& sink);

 private:
  [[nodiscard]] Outcome<ComPointer<IXCLRDataStackWalk>> start_walk(const dotnet::dac::WalkRequest& request);
  [[nodiscard]] HResult read_element(IXCLRDataStackWalk& walk, dotnet::dac::Element& out);
  [[nodiscard]] std::string exception_type(DacAddress handle);
  [[nodiscard]] std::string module_path(DacAddress method);
  [[nodiscard]] std::string method_name(DacAddress method);

  Dac& dac_;
  RemoteMemory& memory_;
  Arch arch_;
};

}  // namespace mixstack::helper
