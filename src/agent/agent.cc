#include "agent/agent.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "memory/system_call.h"
#include "self_walk/host.h"
#include "symbolize/demangle.h"

namespace mixstack::agent {
namespace {

constexpr std::size_t kRing = 1024;
constexpr std::size_t kRules = 1 << 15;
constexpr unsigned kMostHertz = 10'000;
constexpr unsigned kDrainEvery = 20'000;  // us

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

std::atomic<Agent*> Agent::in_use_{nullptr};

void AgentOptions::set(std::string_view name, std::string_view value) {
  const bool is_on = !value.empty() && value != "0";
  if (name == "MIXSTACK_AGENT_HZ") {
    hertz = 0;
    (void)std::from_chars(value.data(), value.data() + value.size(), hertz);
    hertz = std::min(hertz, kMostHertz);
  } else if (name == "MIXSTACK_AGENT_OUT") {
    out = value;
  } else if (name == "MIXSTACK_HYBRID_UNWINDING") {
    walks_managed = value != "0";
  } else if (name == "MIXSTACK_DEBUG") {
    explains = is_on;
  }
}

AgentOptions AgentOptions::of_environment() {
  AgentOptions options;
  for (const char* name : {"MIXSTACK_AGENT_HZ", "MIXSTACK_AGENT_OUT", "MIXSTACK_HYBRID_UNWINDING", "MIXSTACK_DEBUG"})
    if (const char* value = std::getenv(name)) options.set(name, value);
  return options;
}

AgentOptions AgentOptions::of_lines(std::string_view text) {
  AgentOptions options;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (const std::size_t equals = line.find('='); equals != line.npos)
      options.set(line.substr(0, equals), line.substr(equals + 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return options;
}

Agent::Agent(clr::ProfilerInfo info, AgentOptions options)
    : info_(info), options_(std::move(options)), rules_(self_walk::host::arch(), jitted_, images_), ring_(kRing) {}

Result<std::unique_ptr<Agent>> Agent::create(clr::ProfilerInfo info, const AgentOptions& options) {
  std::unique_ptr<Agent> agent(new Agent(info, options));
  if (!agent->jitted_.is_usable() || !agent->ring_.is_usable()) return fail(ErrorCode::limit_exceeded);
  agent->layout_ = CodeHeaderLayout::of_own_runtime();
  SelfWalker::Options of_walker;
  of_walker.rules = kRules;
  if (options.walks_managed) of_walker.code = &agent->rules_;
  of_walker.frame_pointers = true;
  auto walker = SelfWalker::create(of_walker);
  if (!walker) return fail(walker.error());
  agent->walker_ = std::move(*walker);
  return agent;
}

/// FunctionUnload does not come for collectible assemblies: their functions are remembered by module.
bool Agent::may_be_unloaded(clr::Id function) {
  const clr::Id module = info_.module_of(function);
  const std::lock_guard lock(mutex_);
  const auto at = collectible_.find(module);
  if (at == collectible_.end()) return false;
  if (!methods_.knows(function)) at->second.push_back(function);
  return true;
}

void Agent::freed(clr::Id function) {
  if (const std::uint64_t number = methods_.forget(function); number != 0) (void)jitted_.free_method(number);
}

void Agent::unloaded(clr::Id module) {
  std::vector<clr::Id> functions;
  {
    const std::lock_guard lock(mutex_);
    const auto at = collectible_.find(module);
    if (at == collectible_.end()) return;
    functions = std::move(at->second);
    collectible_.erase(at);
  }
  for (const clr::Id function : functions) freed(function);
}

void Agent::catch_up() {
  for (const clr::Id module : info_.modules()) loaded(module);
  for (const clr::Function& function : info_.compiled()) compiled(function, false);
}

void Agent::compiled(const clr::Function& function, bool is_dynamic) {
  const bool may_go = is_dynamic || may_be_unloaded(function.id);
  std::string name;  // of what may be freed it must be asked for now
  if (may_go && !methods_.knows(function.id))
    name = is_dynamic ? info_.dynamic_name(function.id) : info_.name(function.id);
  const std::uint64_t number = methods_.number_of(function.id, std::move(name));
  if (number == 0) return;
  // All versions, and each again: a callback for one tells nothing of others that were made at the same time.
  for (const Address start : info_.code_starts(function))
    for (const JitCode& code :
         pieces_of(self_walk::host::arch(), memory_, layout_, info_.code_ranges(start), number, may_go))
      if (!is_known(code)) (void)jitted_.add(code);
}

bool Agent::is_known(const JitCode& code) const {
  const JitMap::Reading reading(jitted_);
  JitCode known;
  return jitted_.find(code.range.begin, known) && known.range == code.range && known.method == code.method;
}

void Agent::loaded(clr::Id id) {
  const auto module = info_.module(id);
  if (!module) return;
  if ((module->flags & clr::Module::kCollectible) != 0) {
    const std::lock_guard lock(mutex_);
    collectible_.try_emplace(id);
  }
  if (module->base == 0) return;
  if (const auto image = module_code_.of(module->base, module->path, self_walk::host::arch(), memory_))
    (void)images_.add(*image);
}

void Agent::begin() {
  if (options_.hertz == 0) return;
  in_use_ = this;
  drain_ = std::thread([this] { drain(); });
  struct sigaction action {};
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  action.sa_sigaction = [](int, siginfo_t*, void* context) { in_use_.load(std::memory_order_acquire)->take(context); };
  // Others wait: on the alternate stack that the runtime gives its threads there is room for one handler of ours, or
  // one of its own that suspends a thread, and not for both. Faults are not held up.
  (void)::sigfillset(&action.sa_mask);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) (void)::sigdelset(&action.sa_mask, fault);
  (void)::sigaction(SIGPROF, &action, nullptr);
  const timeval period{options_.hertz == 1 ? 1 : 0, static_cast<suseconds_t>(1'000'000 / options_.hertz % 1'000'000)};
  const itimerval every{period, period};
  (void)::setitimer(ITIMER_PROF, &every, nullptr);
}

void Agent::end() {
  if (::getpid() != pid_) return;  // a child made by fork: our thread is not in it
  const itimerval none{};
  if (options_.hertz != 0) (void)::setitimer(ITIMER_PROF, &none, nullptr);
  is_ending_ = true;
  if (drain_.joinable()) drain_.join();
  write_report();
  if (options_.explains) explain();
}

/// In a signal handler.
void Agent::take(void* context) {
  const int error = errno;
  if (Sample* sample = ring_.reserve()) {
    const SelfTrace trace = walker_->walk(context, sample->addresses);
    const JitMap::Reading reading(jitted_);
    JitCode code;
    for (std::size_t i = 0; i < trace.count; i++) {
      const Address at = sample->addresses[i] - (i == 0 ? 0 : 1);
      sample->methods[i] = jitted_.find(at, code) ? code.method : 0;
    }
    sample->tid = static_cast<std::uint32_t>(memory::system_call(SYS_gettid));
    sample->count = static_cast<std::uint16_t>(trace.count);
    sample->stop = trace.stop;
    ring_.commit(sample);
  }
  errno = error;
}

void Agent::drain() {
  sigset_t all;
  (void)::sigfillset(&all);
  (void)::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  for (bool is_last = false; !is_last;) {
    is_last = is_ending_;
    while (const Sample* sample = ring_.next()) {
      counts_.add(*sample);
      ring_.release();
    }
    if (!is_last) ::usleep(kDrainEvery);
  }
}

std::string Agent::name_of(Address address, std::uint64_t method, bool is_exact) const {
  const Address at = is_exact ? address : address - 1;
  const MethodNumbers::Method known_method = methods_[method];
  if (!known_method.name.empty()) return known_method.name;
  clr::Id function = known_method.id;
  if (method == 0 && images_.find(at) != nullptr) function = info_.function_at(at);
  if (function != 0) {
    std::string name = info_.name(function);
    return name.empty() ? "[unknown method]" : name;
  }
  Dl_info known{};
  if (::dladdr(reinterpret_cast<void*>(at), &known) == 0 || known.dli_fname == nullptr) return "[unknown]";
  if (known.dli_sname != nullptr) return symbolize::demangle(known.dli_sname);
  const char* slash = std::strrchr(known.dli_fname, '/');
  return slash == nullptr ? known.dli_fname : slash + 1;
}

void Agent::write_report() const {
  if (options_.out.empty()) return;
  std::unordered_map<std::uint64_t, std::string> names;
  const std::string text = counts_.collapsed([&](Address address, std::uint64_t method, bool is_exact) {
    const auto [at, is_new] = names.try_emplace(method != 0 ? method << 1 | 1 : address << 1);
    if (is_new) at->second = name_of(address, method, is_exact);
    return at->second;
  });
  const int file = ::open(options_.out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) {
    std::fprintf(stderr, "mixstack agent: cannot write %s: %s\n", options_.out.c_str(), std::strerror(errno));
    return;
  }
  write_all(file, text);
  (void)::close(file);
}

void Agent::explain() const {
  const JitMap::Account a = jitted_.account();
  std::fprintf(stderr, "mixstack agent: %llu samples, %llu cut, %llu lost\n",
               static_cast<unsigned long long>(counts_.samples()), static_cast<unsigned long long>(counts_.cut()),
               static_cast<unsigned long long>(ring_.lost()));
  std::fprintf(stderr, "mixstack agent: %zu pieces of code, %zu freed, %zu refused, %zu bytes; %zu images\n", a.pieces,
               a.freed, a.refused, a.bytes, images_.size());
}

}  // namespace mixstack::agent
