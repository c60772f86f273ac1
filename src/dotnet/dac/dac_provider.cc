#include "dotnet/dac/dac_provider.h"

#include <algorithm>

#include "dotnet/code/runtime_package.h"
#include "engine/images/file_bytes.h"

namespace mixstack::dotnet::dac {
namespace {

constexpr std::size_t kMaxNames = 1u << 20;

mixstack::Diagnosis missing(std::string subject, std::string text, Error error = {ErrorCode::not_found, 0, 0}) {
  return {error, std::move(subject), std::move(text)};
}

}  // namespace

Outcome<std::unique_ptr<DacProvider>> DacProvider::open(const RuntimeImage& runtime, Arch arch,
                                                        const FileOpener& open_path, const ProviderOptions& options) {
  auto helper = find_helper(options.helper);
  if (!helper) return tl::unexpected(helper.error());
  const std::string path = options.dac_path.empty() ? dac_path_beside(runtime) : options.dac_path;
  const auto file = options.dac_path.empty() ? open_path(path) : images::open_file_bytes(path);
  if (!file) {
    const std::string package = package_of(runtime);
    return tl::unexpected(missing(path,
                                  "the runtime's DAC cannot be opened; give its path" +
                                      (package.empty() ? "" : ": the NuGet package " + package + " has it"),
                                  file.error()));
  }
  const auto bytes = (*file)->bytes();
  if (auto fits = check_version(dac_version(bytes), runtime, path); !fits) return tl::unexpected(fits.error());
  auto copy = sealed_copy(bytes, path);
  if (!copy) return tl::unexpected(copy.error());
  DacClient::Setup setup;
  setup.helper = std::move(*helper);
  setup.subject = path;
  setup.dac = std::move(*copy);
  setup.facts = {arch, runtime.base};
  setup.open_path = open_path;
  setup.limits = options.limits;
  return std::unique_ptr<DacProvider>(new DacProvider(path, arch, std::move(setup)));
}

DacProvider::DacProvider(std::string path, Arch arch, DacClient::Setup setup)
    : path_(std::move(path)), arch_(arch), client_(std::make_unique<DacClient>(std::move(setup))) {}

void DacProvider::bind(Source source) {
  client_->bind(std::move(source));
  by_code_.clear();
  by_method_.clear();
}

const Description& DacProvider::keep(std::unordered_map<Address, Description>& cache, Address key,
                                     Outcome<Description> answer) {
  if (!answer) {
    const auto& d = answer.error();
    const bool known = std::any_of(diagnoses_.begin(), diagnoses_.end(),
                                   [&](const auto& old) { return old.error == d.error && old.text == d.text; });
    if (!known) diagnoses_.push_back(d);
    answer = Description{};
  }
  if (cache.size() >= kMaxNames) cache.clear();
  return cache.emplace(key, std::move(*answer)).first->second;
}

const Description& DacProvider::describe(CodeAddress code) {
  const auto it = by_code_.find(code.lookup());
  if (it != by_code_.end()) return it->second;
  return keep(by_code_, code.lookup(), client_->describe(code.lookup()));
}

const Description& DacProvider::describe_method(Address method) {
  const auto it = by_method_.find(method);
  if (it != by_method_.end()) return it->second;
  return keep(by_method_, method, client_->describe_method(method));
}

Outcome<std::vector<ManagedFrame>> DacProvider::walk(std::uint32_t thread) {
  WalkRequest request;
  request.thread = thread;
  auto walk = client_->walk(request);
  if (!walk) return tl::unexpected(walk.error());
  std::vector<ManagedFrame> frames;
  for (const Element& e : walk->elements) {
    if (e.kind == ElementKind::transition) continue;
    ManagedFrame f;
    f.ip = e.registers.pc();
    if (e.kind == ElementKind::method) {
      const Description& d = describe(CodeAddress::exact(f.ip));
      f.sp = e.registers.sp();
      f.method = d.method;
      f.name = d.name;
      f.module_path = d.module_path;
    } else {
      f.kind = FrameKind::runtime_frame;
      f.sp = e.record;
      f.method = e.method;
      f.name = e.record_name;
    }
    frames.push_back(std::move(f));
  }
  return frames;
}

}  // namespace mixstack::dotnet::dac
