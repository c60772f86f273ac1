#include "session/clr_runtime.h"

#include <algorithm>

#include "session/crash_facts.h"
#include "symbolize/demangle.h"

namespace mixstack::session {
namespace {

/// Bytes that cannot be right, in contrast to versions that are not known and memory that cannot be read.
bool is_damage(ErrorCode code) {
  return code == ErrorCode::malformed || code == ErrorCode::mismatch || code == ErrorCode::truncated ||
         code == ErrorCode::limit_exceeded;
}

constexpr const char* kDamaged =
    "the runtime's description of itself is there, but damaged (or not complete yet, where the process has just "
    "started)";

/// The files of a runtime number the release 10.0.12 as "10.0.1226.42308": patch times 100 plus the year it was built
/// in (eng/Versions in dotnet/runtime). People say 10.0.12.
std::string version_for_people(const std::string& file_version) {
  const auto second = file_version.find('.', file_version.find('.') + 1);
  if (second == std::string::npos) return file_version;
  const auto third = file_version.find('.', second + 1);
  const std::string build = file_version.substr(second + 1, third - second - 1);
  const bool is_number =
      !build.empty() && build.size() < 9 && build.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || std::stoul(build) < 100) return file_version;
  return file_version.substr(0, second + 1) + std::to_string(std::stoul(build) / 100);
}

/// A field that neither the descriptor nor the supplement tells.
std::optional<Diagnosis> unavailable(const dotnet::SupplementEntry& entry) {
  using State = dotnet::SupplementEntry::State;
  if (entry.state == State::no_match)
    return Diagnosis{
        {ErrorCode::field_unavailable, 0, 0}, std::string(entry.field), "no known layout fits this runtime"};
  if (entry.state == State::contradicted)
    return Diagnosis{
        {ErrorCode::mismatch, 0, 0}, std::string(entry.field), "the known layout disagrees with live data"};
  return std::nullopt;
}

}  // namespace

ClrRuntime::ClrRuntime(std::shared_ptr<const KnownRuntime> known, const Target& target, const MemoryReader& live,
                       dotnet::names::FileOpener opener, const object::ModuleMap& modules,
                       const RuntimeOptions& options)
    : known_(std::move(known)),
      target_(target),
      live_(live),
      first_look_(target.memory()),
      second_look_(target.memory()),
      third_look_(target.memory()) {
  const dotnet::RuntimeImage& image = known_->image;
  summary_.version = version_for_people(image.version);
  summary_.module_path = image.path;
  summary_.base = image.base;
  use_descriptor(opener);
  const bool wants_dac = options.provider == ManagedProvider::dac ||
                         (options.provider == ManagedProvider::automatic && !summary_.walkable);
  if (wants_dac) open_dac(image, modules, opener, options);
}

void ClrRuntime::open_dac(const dotnet::RuntimeImage& image, const object::ModuleMap& modules,
                          const dotnet::names::FileOpener& opener, const RuntimeOptions& options) {
  summary_.walkable = false;
  symbols_.reset();
  stepper_.reset();
  code_.reset();
  dotnet::dac::ProviderOptions dac_options;
  dac_options.dac_path = options.dac_path;
  dac_options.helper = options.helper;
  // What the DAC makes of a damaged process is a last resort, and may be a search without end.
  if (is_descriptor_damaged_) dac_options.limits.total = std::chrono::seconds(3);
  auto provider = dotnet::dac::DacProvider::open(image, target_.info().arch, opener, dac_options);
  if (!provider) {
    summary_.missing.push_back(provider.error());
    return;
  }
  missing_of_descriptor_ = summary_.missing.size();
  dac_ = std::make_unique<dotnet::dac::DacRuntime>(std::move(*provider), modules);
}

void ClrRuntime::lacks_of_descriptor(Diagnosis why) {
  if (is_damage(why.error.code)) {
    is_descriptor_damaged_ = true;
    why.text = kDamaged;
  }
  summary_.missing.push_back(std::move(why));
}

void ClrRuntime::use_descriptor(const dotnet::names::FileOpener& opener) {
  if (!known_->facts) {
    lacks_of_descriptor(known_->facts.error());
    return;
  }
  runtime_ = *known_->facts;
  for (const auto& refusal : runtime_->contracts().refusals()) lacks_of_descriptor(refusal);
  for (const auto& entry : runtime_->supplement().entries())
    if (auto d = unavailable(entry)) summary_.missing.push_back(std::move(*d));
  if (runtime_->contracts().admits(dotnet::Contract::thread))
    roots_ = std::make_unique<dotnet::ThreadRoots>(runtime_->layouts());
  const bool cpu_fits = runtime_->layouts().arch == target_.info().arch;
  if (!cpu_fits)
    summary_.missing.push_back(
        {{ErrorCode::mismatch, 0, 0}, "Architecture", "the descriptor is of another CPU than the process"});
  summary_.walkable = runtime_->can_walk() && cpu_fits;
  const dotnet::RuntimeMemory memory = runtime_->memory(live_);
  dotnet::names::NameOptions options;
  options.fresh = &target_.memory();
  names_ = std::make_unique<dotnet::names::MethodNames>(memory, options, opener);
  if (!summary_.walkable) return;
  code_ = std::make_unique<dotnet::CodeManager>(memory, runtime_->contracts());
  stepper_ = std::make_unique<dotnet::ManagedStepper>(*code_);
  symbols_ = std::make_unique<dotnet::names::ManagedSymbols>(*names_, runtime_->layouts());
}

/// The DAC is started here, not when the session is opened: what it then says of the process is fresh, and a process
/// that was too young for it the last time may be old enough now.
RootSource* ClrRuntime::prepare_roots() {
  if (!dac_) return roots_.get();
  summary_.missing.resize(missing_of_descriptor_);
  auto roots = dac_->prepare_roots(target_.memory());
  summary_.walkable = summary_.by_dac = roots.has_value();
  if (roots) return *roots;
  summary_.missing.push_back(roots.error());
  return roots_.get();
}

void ClrRuntime::begin_capture(const Capture& capture, const MemoryReader& overlay, unwind::RuleStepper* engine) {
  thread_names_.reset();
  captured_.clear();
  for (const ThreadCapture& t : capture.threads)
    if (t.captured && t.instant == 0) captured_.push_back(t.ns_tid);
  threads_ = {};
  by_os_id_.clear();
  if (summary_.by_dac) {
    dac_->begin_capture(capture, overlay);
    threads_.threads = dac_->threads();
  }
  if (names_) names_->new_capture();
  if (code_) code_->rebind(runtime_->memory(overlay));
  if (stepper_ && engine != nullptr) stepper_->use(*engine);
  if (roots_) threads_ = dotnet::read_threads(runtime_->memory(overlay));
  for (std::size_t i = 0; i < threads_.threads.size(); i++) {
    const auto& t = threads_.threads[i];
    if (t.os_id != 0 && !t.is_dead()) by_os_id_.emplace(t.os_id, i);
  }
}

const dotnet::ManagedThread* ClrRuntime::thread(std::uint64_t os_id) const {
  const auto it = by_os_id_.find(os_id);
  return it == by_os_id_.end() ? nullptr : &threads_.threads[it->second];
}

dotnet::CheckpointList ClrRuntime::checkpoints(const dotnet::ManagedThread& thread, bool methods, std::size_t most) {
  if (summary_.by_dac) return dac_->checkpoints(thread);
  if (!code_) return {};
  return dotnet::read_checkpoints(*code_, thread, methods, most);
}

ManagedThreadFacts ClrRuntime::facts(const dotnet::ManagedThread& thread) {
  ManagedThreadFacts facts;
  facts.managed_id = thread.id;
  facts.cooperative = thread.cooperative;
  facts.state = thread.state;
  if (!roots_) return facts;  // the DAC alone: it tells no names, and of exceptions only which was thrown last
  const dotnet::RuntimeMemory memory = captured_memory();
  facts.name = thread_name(thread);
  dotnet::names::ExceptionReader exceptions(memory, code_.get(), *names_);
  read_exceptions(memory, thread, exceptions, facts);
  return facts;
}

void ClrRuntime::read_thread_names() {
  for (memory::CachedMemory* look : {&first_look_, &second_look_, &third_look_}) look->clear();
  std::vector<const dotnet::ManagedThread*> asked;
  for (const ThreadId tid : captured_)
    if (const dotnet::ManagedThread* t = thread(tid)) asked.push_back(t);
  const auto names = names_of_threads_.read(runtime_->memory(first_look_), runtime_->memory(second_look_),
                                            runtime_->memory(third_look_), runtime_->memory(target_.memory()), asked);
  thread_names_.emplace();
  for (std::size_t i = 0; i < asked.size(); i++)
    thread_names_->emplace(asked[i]->address, names[i] ? symbolize::printable(*names[i]) : std::string());
}

std::string ClrRuntime::thread_name(const dotnet::ManagedThread& thread) {
  if (!thread_names_) read_thread_names();
  if (const auto known = thread_names_->find(thread.address); known != thread_names_->end()) return known->second;
  const auto name = dotnet::thread_name(runtime_->memory(target_.memory()), thread);
  return name ? symbolize::printable(*name) : std::string();
}

void ClrRuntime::explain_abort(std::span<const SymbolInfo> symbols, ThreadDump& thread) const {
  if (runtime_ && this->thread(thread.ns_tid) != nullptr)
    session::explain_abort(captured_memory(), summary_, symbols, thread);
}

dotnet::RuntimeMemory ClrRuntime::captured_memory() const { return code_ ? code_->memory() : runtime_->memory(live_); }

std::vector<Diagnosis> ClrRuntime::take_diagnoses() {
  std::vector<Diagnosis> list = dac_ ? dac_->take_diagnoses() : std::vector<Diagnosis>{};
  // Where it is not walkable, the summary says why. Where the DAC has helped out, it would go unsaid.
  if (!summary_.by_dac) return list;
  for (std::size_t i = 0; i < missing_of_descriptor_; i++)
    if (const Diagnosis& d = summary_.missing[i]; is_damage(d.error.code) && !d.text.empty())
      list.push_back({d.error, summary_.module_path + ": " + d.subject, d.text + "; its DAC was asked instead"});
  return list;
}

std::uint64_t ClrRuntime::finalizer_os_id() const {
  const auto& global = runtime_->layouts().globals.finalizer_thread;
  if (!code_ || !global) return 0;
  const auto finalizer = code_->memory().through(global);
  if (!finalizer) return 0;
  const auto is_it = [&](const dotnet::ManagedThread& t) { return t.address == *finalizer; };
  const auto found = std::find_if(threads_.threads.begin(), threads_.threads.end(), is_it);
  return found == threads_.threads.end() ? 0 : found->os_id;
}

bool ClrRuntime::is_same_code(const Frame& frame, const MemoryReader& now) {
  dotnet::CodeManager again(runtime_->memory(now), runtime_->contracts());
  const dotnet::CodeInfo info = again.find(frame.pc);
  const dotnet::CodeInfo& before = code_->find(frame.pc);
  return info.kind == before.kind && info.method_desc == before.method_desc &&
         info.method_start == before.method_start && info.code_header == before.code_header;
}

}  // namespace mixstack::session
