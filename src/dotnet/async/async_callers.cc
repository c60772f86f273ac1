#include "dotnet/async/async_callers.h"

#include <algorithm>
#include <cstring>

#include "dotnet/bcl/async_plumbing.h"

namespace mixstack::dotnet::objects {
namespace {

constexpr Address kLowestObject = 1 << 16;
constexpr std::int32_t kRunning = -1;

/// Words of a stack below an address, at most those that are next to it.
std::vector<Address> words_below(const ManagedObjects& objects, const WaitingThread& at, Address begin, Address end) {
  begin = std::max(begin & ~Address{7}, end - std::min<Address>(end, 8 * AsyncCallers::kMostWords));
  if (begin >= end) return {};
  std::vector<Address> words((end - begin) / 8);
  if (at.copied != nullptr) {
    const AddressRange copied = at.copied->range();
    if (begin < copied.begin || end > copied.end) return {};
    std::memcpy(words.data(), at.copied->bytes.data() + (begin - copied.begin), 8 * words.size());
    return words;
  }
  const auto n = objects.memory().reader().read_some(begin, std::as_writable_bytes(std::span(words)));
  words.resize(n ? *n / sizeof(Address) : 0);
  return words;
}

}  // namespace

bool is_frame_of_box(const WaitFrame& frame) {
  return frame.is_managed && frame.method.find(bcl::kBoxMethods) != std::string_view::npos;
}

bool restores_context(const WaitFrame& frame) {
  return frame.is_managed && frame.method.starts_with(bcl::kContextMethods);
}

std::string_view bare_method(std::string_view method) { return method.substr(0, method.find_first_of("(<", 1)); }

/// The box that a frame of one runs, with the method that the frame has called, and running: in this frame or that of
/// the method (which saves the register that holds it), else on the stack from there inwards, where a former call may
/// have left others. If several may be it, none is.
Address AsyncCallers::box_at(const WaitingThread& at, std::size_t frame) {
  std::size_t callee = frame;
  const auto is_between = [&](const WaitFrame& f) {
    return !f.is_managed || is_frame_of_box(f) || restores_context(f);
  };
  while (callee > 0 && is_between(at.frames[callee])) callee--;
  if (is_between(at.frames[callee]) || at.frames[frame].cfa == 0) return 0;
  const std::string_view method = bare_method(at.frames[callee].method);
  const Address inner = at.frames.front().sp, own = std::max(at.frames[callee].sp, inner), end = at.frames[frame].cfa;
  if (const auto found = box_among(at, words_below(objects_, at, own, end), method)) return *found;
  // Each word of a sampled stack costs a look at the running process.
  if (at.copied != nullptr) return 0;
  return box_among(at, words_below(objects_, at, inner, own), method).value_or(0);
}

std::optional<Address> AsyncCallers::box_among(const WaitingThread& at, std::span<const Address> words,
                                               std::string_view method) {
  std::optional<Address> found;
  for (const Address word : words) {
    if (word < kLowestObject || word % 8 != 0 || word == found || at.thread->stack.contains(word)) continue;
    const Address type = objects_.header_is_clear(word) ? objects_.type_of(word) : 0;
    if (type == 0 || !machines_.box_layout(type)) continue;
    const auto machine = machines_.machine_of(word);
    if (!machine || machines_.state_of(*machine) != kRunning) continue;
    if (bare_method(machines_.method_of(*machine)) != method) continue;
    if (found) return 0;
    found = word;
  }
  return found;
}

void AsyncCallers::add_methods(const RuntimeAsync::Methods& found, Address task, std::vector<LogicalCaller>& out) {
  RuntimeAsync& tasks = machines_.runtime_async();
  for (auto m = found.methods.rbegin(); m != found.methods.rend() && out.size() < kMost; ++m) {
    LogicalCaller caller{tasks.method_of(*m), {}, task, m->state, 0, 0, 0};
    const MethodOfCode& method = tasks.continuations().method_at(m->resume);
    if (method.method_desc != 0) {
      caller.ip = m->resume;
      caller.method_desc = method.method_desc;
      caller.method_start = method.method_start;
    }
    out.push_back(std::move(caller));
  }
}

void AsyncCallers::add_above(Address object, std::vector<LogicalCaller>& out) {
  const std::vector<Address> way = chains_.way_up(object);
  for (std::size_t i = 1; i < way.size() && out.size() < kMost; i++) {
    const auto machine = machines_.machine_of(way[i]);
    if (!machine) {
      if (machines_.runtime_async().is_task(way[i]))
        add_methods(machines_.runtime_async().methods_of(way[i]), way[i], out);
      continue;
    }
    const TypeFacts* type = objects_.types().at(machine->method_table);
    out.push_back({machines_.method_of(*machine), type == nullptr ? std::string() : type->assembly, way[i],
                   machines_.state_of(*machine).value_or(kRunning), 0, 0, 0});
  }
}

std::optional<std::vector<LogicalCaller>> AsyncCallers::of(const WaitingThread& at) {
  if (at.thread == nullptr) return std::nullopt;
  std::vector<LogicalCaller> callers;
  for (std::size_t i = 0; i < at.frames.size(); i++) {
    if (!at.frames[i].is_managed) continue;
    if (dispatches_continuations(at.frames[i].method)) {
      const auto tasks = dispatchers_.of(*at.thread, at.copied);
      if (tasks.empty()) return std::nullopt;
      add_methods(machines_.runtime_async().methods_from(tasks.front().next), tasks.front().task, callers);
      add_above(tasks.front().task, callers);
      return callers;
    }
    if (is_frame_of_box(at.frames[i])) {
      const Address box = box_at(at, i);
      if (box == 0) return std::nullopt;
      add_above(box, callers);
      // A method that ends meanwhile has nobody any more who awaits it.
      const auto machine = callers.empty() ? machines_.machine_of(box) : std::nullopt;
      if (callers.empty() && (!machine || machines_.state_of(*machine) != kRunning)) return std::nullopt;
      return callers;
    }
  }
  return std::nullopt;
}

}  // namespace mixstack::dotnet::objects
