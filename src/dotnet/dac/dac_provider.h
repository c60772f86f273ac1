// The runtime's own data access library (DAC) as a provider of managed frames and names. It runs in mixstack-helper, a
// process of its own, and sees the target only through what this library serves it: works for live processes, captures
// and cores alike, and can harm neither the target nor us.
#pragma once

#include <memory>
#include <unordered_map>

#include "dotnet/dac/dac_client.h"
#include "mixstack/target.h"

namespace mixstack::dotnet::dac {

struct ProviderOptions {
  std::string dac_path;  ///< on this machine; empty: beside the target's libcoreclr.so, as the target sees it
  std::string helper;    ///< empty: find_helper()
  ClientLimits limits;
};

/// One managed frame or explicit Frame of a thread, innermost first.
struct ManagedFrame {
  FrameKind kind = FrameKind::managed;  ///< managed or runtime_frame
  Address ip = 0;
  Address sp = 0;      ///< of a runtime_frame: the Frame's address
  Address method = 0;  ///< MethodDesc, 0 when it has none
  std::string name;    ///< the DAC's text for the method, or the Frame's type
  std::string module_path;
};

/// Names are cached as long as the binding lasts. Not thread-safe.
class DacProvider {
 public:
  using FileOpener = std::function<Result<std::shared_ptr<const FileBytes>>(const std::string&)>;

  /// Finds and checks the DAC's file; the helper starts with the first question. Diagnoses: `not_found` (no DAC, no
  /// helper), `mismatch` (of another build than the runtime). `open_path` opens files as the target sees them and must
  /// outlive the provider.
  [[nodiscard]] static Outcome<std::unique_ptr<DacProvider>> open(const RuntimeImage& runtime, Arch arch,
                                                                  const FileOpener& open_path,
                                                                  const ProviderOptions& options);

  /// The state to look at, until the next call: a capture over the live process, a core.
  void bind(Source source);
  /// See DacClient::renew_budget.
  void renew_budget() { client_->renew_budget(); }

  [[nodiscard]] Outcome<std::vector<ThreadRecord>> threads() { return client_->threads(); }
  /// The DAC's own walk of a thread, with names.
  [[nodiscard]] Outcome<std::vector<ManagedFrame>> walk(std::uint32_t thread);
  /// The same as the DAC gives it, with registers.
  [[nodiscard]] Outcome<DacClient::Walk> raw_walk(const WalkRequest& request) { return client_->walk(request); }
  /// The code at an address; kind `none` when it is not the runtime's.
  [[nodiscard]] const Description& describe(CodeAddress code);
  [[nodiscard]] const Description& describe_method(Address method);
  /// The article's question: IXCLRDataProcess::GetRuntimeNameByAddress, or the method's name.
  [[nodiscard]] std::string name_of(Address code) { return describe(CodeAddress::exact(code)).name; }

  /// Failures of questions whose answers have no room for them (names), each once.
  [[nodiscard]] std::vector<mixstack::Diagnosis> take_diagnoses() { return std::move(diagnoses_); }
  [[nodiscard]] const std::string& dac_path() const { return path_; }
  [[nodiscard]] DacClient& client() { return *client_; }
  [[nodiscard]] Arch arch() const { return arch_; }

 private:
  DacProvider(std::string path, Arch arch, DacClient::Setup setup);
  [[nodiscard]] const Description& keep(std::unordered_map<Address, Description>& cache, Address key,
                                        Outcome<Description> answer);

  std::string path_;
  Arch arch_;
  std::unique_ptr<DacClient> client_;
  std::unordered_map<Address, Description> by_code_, by_method_;
  std::vector<mixstack::Diagnosis> diagnoses_;
};

}  // namespace mixstack::dotnet::dac
