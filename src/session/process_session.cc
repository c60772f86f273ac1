#include "session/process_session.h"

#include "engine/images/file_bytes.h"
#include "process/live/live_target.h"
#include "process/self/self_target.h"
#include "session/core_opening.h"
#include "session/dump_stages.h"
#include "session/launch.h"
#include "session/unloaded_code.h"
#include "session/walker_implementation.h"

namespace mixstack {

Result<std::unique_ptr<Session>> Session::open_process(std::uint32_t pid) {
  auto target = process::open_live(pid);
  if (!target) return fail(target.error());
  return session::ProcessSession::open(std::move(*target));
}

Result<std::unique_ptr<Session>> Session::open_core(const CoreOptions& options) {
  const session::SharedFinder finder = session::make_symbol_finder(options.symbols);
  auto opened = session::open_core_target(options, session::executable_fetcher(finder));
  if (!opened) return fail(opened.error());
  return session::ProcessSession::open(std::move(opened->target), finder, options.symbols.lines);
}

Result<std::unique_ptr<Session>> Session::open_self(const SelfOptions& options) {
  auto target = process::open_self(options);
  if (!target) return fail(target.error());
  // Lines of native code are read in a child process, which a walk of our own must not start (crash handlers).
  return session::ProcessSession::open(std::move(*target), nullptr, NativeLines::none);
}

Result<std::unique_ptr<Session>> Session::launch(const LaunchOptions& options) {
  const auto pid = session::launch(options);
  if (!pid) return fail(pid.error());
  return open_process(*pid);
}

Result<std::unique_ptr<Session>> Session::open(std::unique_ptr<Target> target) {
  if (!target) return fail(ErrorCode::invalid_argument);
  return session::ProcessSession::open(std::move(target));
}

namespace session {
namespace {

std::shared_ptr<symbols::LineTables> line_tables(NativeLines lines) {
  if (lines == NativeLines::none) return nullptr;
  using Packed = symbols::DebugSections::Packed;
  return std::make_shared<symbols::LineTables>(lines == NativeLines::all ? Packed::all : Packed::few);
}

}  // namespace

ProcessSession::ProcessSession(std::unique_ptr<Target> target, ImageFacts images)
    : target_(std::move(target)),
      generated_(std::make_shared<GeneratedCode>(*target_)),
      images_(std::move(images)),
      line_tables_(line_tables(SymbolOptions{}.lines)) {}

Result<std::unique_ptr<ProcessSession>> ProcessSession::open(std::unique_ptr<Target> target, SharedFinder finder,
                                                             NativeLines lines, ImageFacts images) {
  std::unique_ptr<ProcessSession> session(new ProcessSession(std::move(target), std::move(images)));
  session->line_tables_ = line_tables(lines);
  if (finder) session->use(std::move(finder));
  if (auto read = session->read_facts(); !read) return fail(read.error());
  return session;
}

Result<void> ProcessSession::read_facts() {
  auto regions = target_->regions();
  if (!regions) return fail(regions.error());
  read_facts(*regions, nullptr);
  return {};
}

void ProcessSession::read_facts(const std::vector<Region>& regions, const ProcessGeneration* before) {
  facts_ = ProcessGeneration::read({*target_, [this](const Region& r) { return open_mapped(r); }, images_.images},
                                   regions, before);
}

/// The caller's own until it is given back.
WorkerPool::Lease ProcessSession::worker() {
  auto worker = workers_->take(
      {*target_, path_opener(), images_.rules, runtime_options_, finder_ ? pdb_fetcher(finder_) : nullptr, generated_},
      facts_);
  worker->forget_memory();
  return worker;
}

Result<std::shared_ptr<const FileBytes>> ProcessSession::budgeted(Result<std::shared_ptr<const FileBytes>> file) const {
  if (!file || *file == nullptr) return file;
  return images::within_budget(std::move(*file), images_.budget);
}

Result<std::shared_ptr<const FileBytes>> ProcessSession::open_mapped(const Region& region) const {
  const std::lock_guard lock(files_mutex_);
  return budgeted(target_->open_file(region));
}

images::PathOpener ProcessSession::path_opener() const {
  return [this](const std::string& path) {
    const std::lock_guard lock(files_mutex_);
    return budgeted(target_->open_path(path));
  };
}

/// Libraries come and go between the captures of one session.
void ProcessSession::follow_mappings(const std::shared_ptr<const std::vector<Region>>& regions) {
  if (regions == followed_) return;
  if (!are_same_mappings(image_mappings(*regions), facts_->mappings())) read_facts(*regions, facts_.get());
  followed_ = regions;
}

/// A process that has ended has no mappings any more: the last samples of it are of those that were seen before.
Result<std::shared_ptr<const std::vector<Region>>> ProcessSession::mappings_now() {
  auto regions = target_->regions();
  const bool has_ended = regions ? regions->empty() : regions.error().code == ErrorCode::no_such_process;
  if (has_ended && followed_) return followed_;
  if (!regions) return fail(regions.error());
  return std::make_shared<const std::vector<Region>>(std::move(*regions));
}

void ProcessSession::set_runtime_options(const RuntimeOptions& options) {
  runtime_options_ = options;
  workers_->empty();
}

void ProcessSession::set_symbol_options(const SymbolOptions& options) {
  line_tables_ = options.native_names ? line_tables(options.lines) : nullptr;
  native_names_ = options.native_names;
  use(make_symbol_finder(options));
}

void ProcessSession::use(SharedFinder finder) {
  finder_ = std::move(finder);
  images_.symbols = std::make_shared<symbols::SymbolTables>(debug_fetcher(finder_, images_.budget), native_names_);
  workers_->empty();
}

Result<void> ProcessSession::refresh() {
  workers_->empty();
  followed_ = nullptr;
  return read_facts();
}

void ProcessSession::add_name_provider(std::shared_ptr<NameProvider> provider) {
  if (provider) providers_.push_back(std::move(provider));
}

Result<Capture> ProcessSession::capture(const DumpOptions& options) {
  auto capture = take_capture(*target_, *worker(), options, true);
  if (capture) join_late(*capture);
  return capture;
}

Result<Walker> ProcessSession::walker(Capture capture, const WalkOptions& options) {
  if (!capture.regions) {
    auto regions = mappings_now();
    if (!regions) return fail(regions.error());
    capture.regions = std::move(*regions);
  }
  follow_mappings(capture.regions);
  return Walker(std::make_unique<Walker::Implementation>(parts(), std::move(capture), options));
}

Result<Walker> ProcessSession::walker_of(WalkContext context, const WalkOptions& options) {
  if (!context.regions) {
    auto regions = mappings_now();
    if (!regions) return fail(regions.error());
    context.regions = std::move(*regions);
  }
  follow_mappings(context.regions);
  return Walker(Walker::Implementation::over(std::move(context), parts(), options));
}

Walker::Implementation::Parts ProcessSession::parts() {
  return {worker(), *target_, steppers_, providers_, images_.symbols, line_tables_, finder_, path_opener()};
}

Result<ProcessDump> ProcessSession::dump(const DumpOptions& options) {
  const auto follow = [this](const std::shared_ptr<const std::vector<Region>>& regions) {
    follow_mappings(regions);
    return facts_;
  };
  return make_dump({*target_, worker(), follow, steppers_, providers_, images_.symbols, line_tables_, images_.rules,
                    finder_, path_opener(), *images_.budget, reads_types_of_heaps_},
                   options);
}

}  // namespace session
}  // namespace mixstack
