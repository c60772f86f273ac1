#include "session/clr_runtime.h"

#include "dotnet/code/exceptions.h"

namespace mixstack::session {
namespace {

Diagnosis public_form(const dotnet::Diagnosis& d) { return {{d.code, 0, d.value}, d.subject, {}}; }

/// "10.0.1226.42308" is how the runtime's files number 10.0.12; the directory of a framework-dependent program says it
/// as people do.
std::string version_for_people(const dotnet::RuntimeImage& image) {
  const auto end = image.path.rfind('/');
  const auto start = end == std::string::npos || end == 0 ? std::string::npos : image.path.rfind('/', end - 1);
  if (start != std::string::npos) {
    const std::string name = image.path.substr(start + 1, end - start - 1);
    if (!name.empty() && name[0] >= '0' && name[0] <= '9' && name.find('.') != std::string::npos) return name;
  }
  return image.version;
}

}  // namespace

ClrRuntime::ClrRuntime(const dotnet::RuntimeImage& image, const MemoryReader& live, dotnet::names::FileOpener opener)
    : live_(live) {
  summary_.version = version_for_people(image);
  summary_.module_path = image.path;
  summary_.base = image.base;
  auto runtime = dotnet::Runtime::open(live, image);
  if (!runtime) {
    summary_.missing.push_back(public_form(runtime.error()));
    return;
  }
  runtime_ = std::move(*runtime);
  for (const auto& refusal : runtime_->contracts().refusals()) summary_.missing.push_back(public_form(refusal));
  if (runtime_->contracts().admits(dotnet::Contract::thread))
    roots_ = std::make_unique<dotnet::ThreadRoots>(runtime_->layouts());
  summary_.walkable = runtime_->can_walk();
  const dotnet::RuntimeMemory memory = runtime_->memory(live);
  dotnet::names::NameOptions options;
  names_ = std::make_unique<dotnet::names::MethodNames>(memory, options, std::move(opener));
  if (!summary_.walkable) return;
  code_ = std::make_unique<dotnet::CodeManager>(memory, runtime_->contracts());
  stepper_ = std::make_unique<dotnet::ManagedStepper>(*code_, 0);
  symbols_ = std::make_unique<dotnet::names::ManagedSymbols>(*names_, runtime_->layouts());
}

RootSource* ClrRuntime::prepare_roots() {
  if (roots_) roots_->prepare(live_);
  return roots_.get();
}

void ClrRuntime::begin_capture(const MemoryReader& overlay) {
  threads_ = {};
  by_os_id_.clear();
  if (names_) names_->new_capture();
  if (code_) code_->rebind(runtime_->memory(overlay));
  if (!roots_) return;
  threads_ = dotnet::read_threads(runtime_->memory(overlay));
  for (std::size_t i = 0; i < threads_.threads.size(); i++) {
    const auto& t = threads_.threads[i];
    if (t.os_id != 0 && !t.is_dead()) by_os_id_.emplace(t.os_id, i);
  }
}

const dotnet::ManagedThread* ClrRuntime::thread(std::uint64_t os_id) const {
  const auto it = by_os_id_.find(os_id);
  return it == by_os_id_.end() ? nullptr : &threads_.threads[it->second];
}

dotnet::CheckpointList ClrRuntime::checkpoints(const dotnet::ManagedThread& thread, bool methods) {
  if (!code_) return {};
  return dotnet::read_checkpoints(*code_, thread, methods);
}

ManagedThreadFacts ClrRuntime::facts(const dotnet::ManagedThread& thread) {
  ManagedThreadFacts facts;
  facts.managed_id = thread.id;
  facts.cooperative = thread.cooperative;
  facts.state = thread.state;
  const dotnet::RuntimeMemory memory = code_ ? code_->memory() : runtime_->memory(live_);
  if (auto name = dotnet::thread_name(memory, thread)) facts.name = std::move(*name);
  const auto chain = dotnet::current_exceptions(memory, thread);
  if (!chain.exceptions.empty() && chain.exceptions.front().method_table != 0)
    if (auto type = names_->type_name(chain.exceptions.front().method_table)) facts.exception_type = std::move(*type);
  return facts;
}

}  // namespace mixstack::session
