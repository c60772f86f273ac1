#include "dotnet/waits/requests.h"

#include <algorithm>
#include <array>
#include <map>

#include "dotnet/bcl/sockets_and_requests.h"
#include "dotnet/bcl/types.h"
#include "dotnet/names/type_tree.h"

namespace mixstack::dotnet::objects {
namespace {

/// RequestProcessingStatus of Kestrel: the program has begun to answer, and has not ended.
constexpr std::int32_t kAppStarted = 3, kResponseCompleted = 6;
/// HttpMethod of Kestrel, a byte.
constexpr std::array<std::string_view, 9> kMethods{"GET",   "PUT",   "DELETE",  "POST",   "HEAD",
                                                   "TRACE", "PATCH", "CONNECT", "OPTIONS"};

constexpr std::size_t kMostMembers = 64;  // of one list
constexpr std::size_t kMostWay = 32;      // boxes above one on a stack
constexpr std::size_t kMostMethod = 24;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Whether code of a method works on a request of this kind: what lies in its frame, or its variables, is under way.
bool works_on(std::string_view method, RequestKind kind) {
  switch (kind) {
    case RequestKind::incoming:
      return has(method, bcl::kKestrelMethods);
    case RequestKind::outgoing:
      return method.starts_with(bcl::kHttpMethods);
    case RequestKind::database:
      return has(method, bcl::kCommandMethods) && has(method, bcl::kExecuteMethods);
  }
  return false;
}

}  // namespace

std::string Requests::string_in(Address object, std::string_view field) {
  const Address text = objects_.reference(object, field).value_or(0);
  return objects_.is_a(text, bcl::kString) ? objects_.text(text, kMostText) : std::string();
}

std::optional<RequestKind> Requests::kind_of(Address object) {
  LoadedTypes& types = objects_.types();
  const Address type = objects_.type_of(object);
  if (type == 0) return std::nullopt;
  if (types.is_a(type, bcl::HttpRequest::kType)) return RequestKind::outgoing;
  if (types.is_a(type, bcl::DbCommand::kType)) return RequestKind::database;
  if (!types.is_a(type, bcl::HttpProtocol::kType)) return std::nullopt;
  // A connection that is kept alive has an object of its last request.
  const auto status = objects_.value<std::uint8_t>(object, bcl::HttpProtocol::kStatus);
  if (!status || *status < kAppStarted || *status >= kResponseCompleted) return std::nullopt;
  return RequestKind::incoming;
}

std::string Requests::incoming_method(Address protocol) {
  std::string text = string_in(protocol, bcl::HttpProtocol::kMethodText);
  if (!text.empty()) return text.substr(0, kMostMethod);
  const auto method = objects_.value<std::uint8_t>(protocol, bcl::HttpProtocol::kMethod);
  return method && *method < kMethods.size() ? std::string(kMethods[*method]) : std::string();
}

std::string Requests::text_of(Address object, RequestKind kind) {
  if (!data_) return {};
  switch (kind) {
    case RequestKind::incoming: {
      std::string target = string_in(object, bcl::HttpProtocol::kTarget);
      return target.empty() ? string_in(object, bcl::HttpProtocol::kPath) : target;
    }
    case RequestKind::outgoing:
      return string_in(objects_.reference(object, bcl::HttpRequest::kUri).value_or(0), bcl::Uri::kText);
    case RequestKind::database:
      break;
  }
  return string_in(object, bcl::DbCommand::kText);
}

/// Only where the program asked for it (logs, metrics) the server notes when a request began.
std::optional<std::chrono::milliseconds> Requests::age_of(Address protocol) {
  if (!now_) return std::nullopt;
  for (const auto& field : objects_.types().own_fields(objects_.type_of(protocol))) {
    if (field.place.is_static || !field.name.ends_with(bcl::kHostContext)) continue;
    const Address context = objects_.reference(protocol, field.name).value_or(0);
    const auto start = objects_.value<std::int64_t>(context, bcl::HostContext::kStart);
    constexpr std::int64_t kPerMillisecond = 1'000'000;  // Stopwatch counts nanoseconds of the same clock
    if (!start || *start <= 0 || *start / kPerMillisecond > *now_) return std::nullopt;
    return std::chrono::milliseconds(*now_ - *start / kPerMillisecond);
  }
  return std::nullopt;
}

void Requests::add(Address object, RequestKind kind, Where where) {
  if (!seen_.insert(object).second) return;
  if (found_.size() == kMost) {
    has_more_ = true;
    return;
  }
  Request request;
  request.kind = kind;
  request.object = object;
  request.thread = where.thread;
  request.chain = where.chain;
  request.what = text_of(object, kind);
  if (kind == RequestKind::incoming) {
    request.method = incoming_method(object);
    request.age = age_of(object);
  } else if (kind == RequestKind::outgoing) {
    request.method =
        string_in(objects_.reference(object, bcl::HttpRequest::kMethod).value_or(0), bcl::HttpMethod::kName)
            .substr(0, kMostMethod);
  } else {
    request.method = objects_.type_name(object);
  }
  found_.push_back(std::move(request));
}

/// The connection of a socket leads to the request on it by what the server calls each second of each connection.
void Requests::look_at_connection(Address transport) {
  const auto words_of_list = [&](Address list) {
    const Address items = objects_.reference(list, bcl::List::kItems).value_or(0);
    const auto size = objects_.value<std::int32_t>(list, bcl::List::kSize).value_or(0);
    if (!objects_.array_length(items) || size <= 0) return std::vector<Address>{};
    std::vector<Address> words(2 * std::min<std::size_t>(static_cast<std::size_t>(size), kMostMembers));
    const auto n =
        objects_.memory().reader().read_some(objects_.elements_of(items), std::as_writable_bytes(std::span(words)));
    words.resize(n ? *n / sizeof(Address) : 0);
    return words;
  };
  for (const Address feature : words_of_list(objects_.reference(transport, bcl::Transport::kFeatures).value_or(0))) {
    if (!objects_.is_a(feature, bcl::KestrelConnection::kType)) continue;
    for (const Address state :
         words_of_list(objects_.reference(feature, bcl::KestrelConnection::kHandlers).value_or(0))) {
      if (!objects_.is_a(state, bcl::HttpConnection::kType)) continue;
      const Address protocol = objects_.reference(state, bcl::HttpConnection::kProcessor).value_or(0);
      if (kind_of(protocol) == RequestKind::incoming) add(protocol, RequestKind::incoming, {});
    }
  }
}

std::vector<Request> Requests::take() {
  // Last, for nothing tells who works on these.
  for (const Address transport : transports_) look_at_connection(transport);
  transports_.clear();
  return std::move(found_);
}

void Requests::look_at_held(Address object, std::string_view method, Where where) {
  if (objects_.is_a(object, bcl::Transport::kType)) transports_.insert(object);
  const auto kind = kind_of(object);
  if (kind && works_on(method, *kind)) add(object, *kind, where);
}

/// A method without a state machine keeps the same in its continuation, where no field has a name.
void Requests::look_at_suspended(Address task, std::string_view method, Where where) {
  RuntimeAsync& suspended = machines_.runtime_async();
  if (!suspended.is_task(task)) return;
  for (const SuspendedMethod& m : suspended.methods_of(task).methods) {
    if (suspended.method_of(m) != method) continue;
    const auto continuation = suspended.continuations().at(m.continuation);
    if (!continuation) continue;
    for (const Address object : suspended.continuations().held_by(*continuation, RuntimeAsync::kMostHeld))
      look_at_held(object, method, where);
  }
}

void Requests::look_at_box(Address box, std::string_view method, Where where) {
  const auto machine = machines_.machine_of(box);
  if (!machine) return look_at_suspended(box, method, where);
  const auto fields = objects_.types().own_fields(machine->method_table);
  for (const auto& field : fields) {
    if (field.place.is_static || field.place.element != names::ElementType::class_) continue;
    const Address object = objects_.read<std::uint64_t>(machine->address + field.place.offset).value_or(0);
    if (object != 0 && object % 8 == 0) look_at_held(object, method, where);
  }
}

void Requests::look_at(const AsyncChain& chain, std::uint32_t number) {
  const bool is_running = chain.end == AsyncEnd::running && chain.runner != 0;
  const Where where{is_running ? chain.runner : chain.waiter, number};
  for (const AsyncStep& step : chain.steps) look_at_box(step.box, step.method, where);
}

void Requests::look_at(const WaitingThread& thread) {
  if (thread.thread == nullptr || thread.frames.empty()) return;
  const Where where{static_cast<std::uint32_t>(thread.thread->os_id), 0};
  std::map<RequestKind, std::map<Address, unsigned>> times;
  std::size_t left = kMostWords;
  for (const WaitFrame& frame : thread.frames) {
    if (!frame.is_managed || frame.cfa <= frame.sp || left == 0) continue;
    const bool is_async = frame.method.ends_with(" [async]");
    const bool may_have = is_async || works_on(frame.method, RequestKind::incoming) ||
                          works_on(frame.method, RequestKind::outgoing) ||
                          works_on(frame.method, RequestKind::database);
    if (!may_have) continue;
    std::vector<Address> words(std::min<std::size_t>((frame.cfa - frame.sp) / 8, left));
    left -= words.size();
    const auto n =
        objects_.memory().reader().read_some(frame.sp & ~Address{7}, std::as_writable_bytes(std::span(words)));
    words.resize(n ? *n / sizeof(Address) : 0);
    for (const Address word : words) {
      if (word % 8 != 0 || word < (1 << 16)) continue;
      if (const auto kind = kind_of(word); kind && works_on(frame.method, *kind)) times[*kind][word]++;
      const auto machine = is_async ? machines_.machine_of(word) : std::nullopt;
      if (!machine || machines_.state_of(*machine) != -1) continue;
      // Its request is that of who awaits it.
      const auto way = chains_.way_up(word);
      for (std::size_t i = 0; i < std::min(way.size(), kMostWay); i++)
        if (const auto at = machines_.machine_of(way[i])) look_at_box(way[i], machines_.method_of(*at), where);
    }
  }
  // A thread is inside of one of each kind; words of earlier ones are fewer.
  for (const auto& [kind, objects] : times) {
    const auto most = std::max_element(objects.begin(), objects.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    add(most->first, kind, where);
  }
}

}  // namespace mixstack::dotnet::objects
