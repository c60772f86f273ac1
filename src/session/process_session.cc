#include "session/process_session.h"

#include "session/capture_walk.h"
#include "symbolize/symbolizer.h"
#include "target/core/core_target.h"
#include "target/live/live_target.h"

namespace mixstack {

Result<std::unique_ptr<Session>> Session::open_process(std::uint32_t pid) {
  auto target = target::open_live(pid);
  if (!target) return fail(target.error());
  return session::ProcessSession::open(std::move(*target));
}

Result<std::unique_ptr<Session>> Session::open_core(const CoreOptions& options) {
  auto bytes = target::CoreBytes::open(options.path);
  if (!bytes) return fail(bytes.error());
  auto target = target::open_core(std::move(*bytes), {options.sysroots, options.executable, {}, options.use_own_files});
  if (!target) return fail(target.error());
  return session::ProcessSession::open(std::move(*target));
}

namespace session {

namespace {

void name_throw_frames(ManagedThreadFacts& facts, symbolize::Symbolizer& symbolizer) {
  for (ExceptionInFlight& exception : facts.exceptions) {
    for (ManagedException& e : exception.chain) {
      for (ThrowFrame& thrown : e.thrown_at) {
        Frame frame{.pc = CodeAddress::exact(thrown.ip), .sp = thrown.sp, .kind = FrameKind::managed};
        frame.method = thrown.method;
        frame.method_start = thrown.ip - thrown.offset;
        thrown.symbol = symbolizer.name(frame);
      }
    }
  }
}

}  // namespace

ProcessSession::ProcessSession(std::unique_ptr<Target> target)
    : target_(std::move(target)), memory_(target_->memory()) {}

Result<std::unique_ptr<Session>> ProcessSession::open(std::unique_ptr<Target> target) {
  std::unique_ptr<ProcessSession> session(new ProcessSession(std::move(target)));
  if (auto loaded = session->load_modules(); !loaded) return fail(loaded.error());
  session->find_runtimes();
  return session;
}

Result<void> ProcessSession::load_modules() {
  auto regions = target_->regions();
  if (!regions) return fail(regions.error());
  modules_ = object::ModuleMap::build(
      *regions, memory_, [this](const Region& r) { return target_->open_file(r); }, images_);
  return {};
}

void ProcessSession::find_runtimes() {
  runtimes_.clear();
  auto opener = [this](const std::string& path) { return target_->open_path(path); };
  for (const dotnet::RuntimeImage& image : dotnet::find_runtimes(modules_, target_->info().executable))
    runtimes_.push_back(std::make_unique<ClrRuntime>(image, *target_, memory_, opener));
}

Result<ProcessDump> ProcessSession::dump(const DumpOptions& options) {
  CaptureRequest request;
  request.threads = options.threads;
  request.stop_timeout = options.stop_timeout;
  request.stack_byte_budget = options.stack_byte_budget;
  for (const auto& runtime : runtimes_)
    if (RootSource* roots = runtime->prepare_roots()) request.roots = roots;
  auto capture = target_->capture(request);
  if (!capture) return fail(capture.error());
  memory_.clear();
  auto regions = target_->regions();
  if (!regions) return fail(regions.error());

  ProcessDump dump;
  dump.target = target_->info();
  dump.pause = capture->pause;
  dump.consistency = capture->consistency;
  dump.threads_not_stopped = capture->threads_not_stopped;
  symbolize::ElfSymbols elf(
      modules_, [this](const std::string& p) { return target_->open_path(p); }, symbol_tables_);
  CaptureWalk walk(*capture, *target_, memory_, modules_, runtimes_, *regions, elf, options.walk);
  dump.threads.reserve(capture->threads.size());
  for (const ThreadCapture& thread : capture->threads) dump.threads.push_back(walk.walk(thread));
  dump.diagnoses = walk.take_diagnoses();
  for (const auto& runtime : runtimes_) dump.runtimes.push_back(runtime->summary());
  name_frames(dump, elf);
  const auto of_target = target_->diagnoses();
  dump.diagnoses.insert(dump.diagnoses.end(), of_target.begin(), of_target.end());
  return dump;
}

void ProcessSession::name_frames(ProcessDump& dump, symbolize::ElfSymbols& elf) {
  std::vector<NameProvider*> providers;
  for (const auto& runtime : runtimes_)
    if (runtime->is_walkable()) providers.push_back(&runtime->symbols());
  providers.push_back(&elf);
  symbolize::Symbolizer symbolizer(std::move(providers));
  for (ThreadDump& t : dump.threads) {
    t.symbols.reserve(t.trace.frames.size());
    for (const Frame& f : t.trace.frames) t.symbols.push_back(symbolizer.name(f));
    if (t.managed) name_throw_frames(*t.managed, symbolizer);
  }
  dump.symbols = symbolizer.take_symbols();
  for (ThreadDump& t : dump.threads)
    for (const auto& runtime : runtimes_) runtime->explain_abort(dump.symbols, t);
}

}  // namespace session
}  // namespace mixstack
