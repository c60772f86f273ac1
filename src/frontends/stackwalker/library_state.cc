#include <algorithm>

#include "frontends/stackwalker/access.h"
#include "frontends/stackwalker/error_map.h"
#include "frontends/stackwalker/library_changes.h"
#include "frontends/stackwalker/mapped_libraries.h"
#include "process/debugger/link_map_list.h"

namespace Dyninst::Stackwalker {
namespace {

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_library(const mixstack::images::Module& module) {
  return module.kind != mixstack::images::ModuleKind::other && (module.has_file || module.path == "[vdso]");
}

LibAddrPair pair_of(const mixstack::images::Module& module) { return {module.path, module.load_bias}; }

/// Recognises the C library by the names that glibc (libc.so.6, libc-2.31.so) and musl (ld-musl-x86_64.so.1) use.
bool is_libc(std::string_view name) {
  return name.starts_with("libc.so") || name.starts_with("libc-") || name.starts_with("ld-musl-");
}

bool is_libthread(std::string_view name) {
  return name.starts_with("libpthread.so") || name.starts_with("libpthread-");
}

mixstack::ModuleIndex find_executable(Engine& engine) {
  const auto modules = engine.modules().modules();
  const std::string& path = engine.target().info().executable;
  const auto at = std::find_if(modules.begin(), modules.end(), [&](const auto& m) { return m.path == path; });
  return at == modules.end() ? mixstack::kNoModule : static_cast<mixstack::ModuleIndex>(at - modules.begin());
}

mixstack::Result<Address> find_trap(Engine& engine) {
  const mixstack::ModuleIndex executable = find_executable(engine);
  const auto image = engine.modules().image(executable);
  if (!image) return mixstack::fail(image.error());
  mixstack::process::LinkMapList list(engine.target().info().program_headers, (*image)->segments().size());
  return list.trap(engine.target().memory());
}

template <class Predicate>
bool find_library(LibraryState& libraries, Predicate predicate, LibAddrPair& out) {
  std::vector<LibAddrPair> all;
  if (!libraries.getLibraries(all)) return false;
  for (const LibAddrPair& library : all) {
    if (!predicate(base_name(library.first))) continue;
    out = library;
    return true;
  }
  return failed(err_nofile, "no such library is loaded");
}

}  // namespace

LibraryState::LibraryState(ProcessState* parent) : procstate(parent) {}
LibraryState::~LibraryState() = default;

bool LibraryState::getLibc(LibAddrPair& lc) { return find_library(*this, is_libc, lc); }

bool LibraryState::getLibthread(LibAddrPair& lt) {
  std::vector<LibAddrPair> all;
  if (!getLibraries(all)) return false;
  for (const LibAddrPair& library : all) {
    if (!is_libthread(base_name(library.first))) continue;
    lt = library;
    return true;
  }
  // glibc since 2.34 and musl have threads in libc itself.
  return getLibc(lt);
}

MappedLibraries::MappedLibraries(ProcessState* parent) : LibraryState(parent) {}
MappedLibraries::~MappedLibraries() = default;

bool MappedLibraries::getLibraryAtAddr(Address addr, LibAddrPair& lib) {
  const auto engine = WalkerAccess::engine(procstate);
  if (!engine) return false;
  const auto find = [&] {
    const mixstack::ModuleIndex at = engine->modules().find(addr);
    return at != mixstack::kNoModule && is_library(engine->modules().modules()[at]) ? at : mixstack::kNoModule;
  };
  mixstack::ModuleIndex index = find();
  // It may have been loaded since the last look.
  if (index == mixstack::kNoModule && engine->refresh()) index = find();
  if (index == mixstack::kNoModule) return failed(err_nofile, "no library at this address");
  lib = pair_of(engine->modules().modules()[index]);
  return true;
}

bool MappedLibraries::getLibraries(std::vector<LibAddrPair>& libs, bool allow_refresh) {
  const auto engine = WalkerAccess::engine(procstate);
  if (!engine) return false;
  if (allow_refresh) {
    if (const auto read = engine->refresh(); !read) {
      set_error(read.error(), "read the list of libraries");
      return false;
    }
  }
  libs.clear();
  for (const auto& module : engine->modules().modules())
    if (is_library(module)) libs.push_back(pair_of(module));
  return true;
}

void MappedLibraries::notifyOfUpdate() {
  if (const auto engine = WalkerAccess::engine(procstate)) (void)engine->refresh();
}

Address MappedLibraries::getLibTrapAddress() {
  const auto engine = WalkerAccess::engine(procstate);
  if (!engine) return 0;
  const mixstack::Result<Address> trap = find_trap(*engine);
  if (trap) return *trap;
  set_error(trap.error(), "find r_debug");
  return 0;
}

bool MappedLibraries::getAOut(LibAddrPair& ao) {
  const auto engine = WalkerAccess::engine(procstate);
  if (!engine) return false;
  const mixstack::ModuleIndex index = find_executable(*engine);
  if (index == mixstack::kNoModule) return failed(err_nofile, "the executable is not mapped");
  ao = pair_of(engine->modules().modules()[index]);
  return true;
}

namespace {

using Libraries = std::map<Address, std::string>;

Libraries loaded_libraries(Engine& engine) {
  Libraries all;
  for (const auto& module : engine.modules().modules())
    if (is_library(module)) all.emplace(module.load_bias, module.path);
  return all;
}

void tell(Walker& walker, const std::vector<std::pair<LibAddrPair, lib_change_t>>& changes) {
  if (changes.empty()) return;
  try {
    LibraryState* tracker = walker.getProcessState()->getLibraryTracker();
    // The default one reads the mappings itself.
    if (tracker != nullptr && dynamic_cast<MappedLibraries*>(tracker) == nullptr) tracker->notifyOfUpdate();
    for (auto [library, change] : changes) {
      trace_line("[stackwalker] %s %s\n", change == library_load ? "loaded" : "unloaded", library.first.c_str());
      if (StepperGroup* group = walker.getStepperGroup()) group->newLibraryNotification(&library, change);
    }
  } catch (...) {
    trace_line("[stackwalker] a library notification threw an exception\n");
  }
}

}  // namespace

void know_libraries(Walker& walker, Engine& engine) {
  Walker::Parts& parts = WalkerAccess::parts(walker);
  const std::lock_guard lock(parts.libraries_mutex);
  parts.libraries = loaded_libraries(engine);
}

void tell_changes(Walker& walker, Engine& engine) {
  Libraries now = loaded_libraries(engine);
  std::vector<std::pair<LibAddrPair, lib_change_t>> changes;
  {
    Walker::Parts& parts = WalkerAccess::parts(walker);
    const std::lock_guard lock(parts.libraries_mutex);
    const auto missing = [](const Libraries& in, Address base) { return !in.contains(base); };
    for (const auto& [base, path] : parts.libraries)
      if (missing(now, base)) changes.push_back({{path, base}, library_unload});
    for (const auto& [base, path] : now)
      if (missing(parts.libraries, base)) changes.push_back({{path, base}, library_load});
    parts.libraries = std::move(now);
  }
  tell(walker, changes);
}

void tell_change(Walker& walker, const LibAddrPair& library, lib_change_t change) {
  std::string path = library.first;
  {
    Walker::Parts& parts = WalkerAccess::parts(walker);
    const std::lock_guard lock(parts.libraries_mutex);
    const auto known = parts.libraries.find(library.second);
    if ((known != parts.libraries.end()) == (change == library_load)) return;
    if (change == library_load) parts.libraries.emplace(library.second, path);
    if (change == library_unload) path = known->second;
    if (change == library_unload) parts.libraries.erase(known);
  }
  tell(walker, {{{path, library.second}, change}});
}

}  // namespace Dyninst::Stackwalker
