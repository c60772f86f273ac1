#include <fmt/format.h>

#include <random>

#include "web/stack_maker.h"

namespace mixstack::web_test {
namespace {

struct Named {
  const char* name;
  const char* module;
  CodeKind kind;
  bool user;
};

constexpr Named kOuter[] = {
    {"clone3", "libc.so.6", CodeKind::native, false},
    {"CorUnix::CPalThread::ThreadEntry(void*)", "libcoreclr.so", CodeKind::runtime, false},
    {"ThreadNative::KickOffThread(void*)", "libcoreclr.so", CodeKind::runtime, false},
    {"System.Threading.PortableThreadPool.WorkerThread.WorkerThreadStart()", "System.Private.CoreLib",
     CodeKind::managed, false},
    {"System.Threading.ThreadPoolWorkQueue.Dispatch()", "System.Private.CoreLib", CodeKind::managed, false},
    {"System.Runtime.CompilerServices.AsyncTaskMethodBuilder<TResult>.AsyncStateMachineBox<TStateMachine>.MoveNext()",
     "System.Private.CoreLib", CodeKind::managed, false},
    {"Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http.HttpProtocol.ProcessRequests<TContext>(IHttpApplication<"
     "TContext>)",
     "Microsoft.AspNetCore.Server.Kestrel.Core", CodeKind::managed, false},
    {"Microsoft.AspNetCore.Routing.EndpointMiddleware.Invoke(HttpContext)", "Microsoft.AspNetCore.Routing",
     CodeKind::managed, false},
};
constexpr Named kInner[] = {
    {"Shop.Api.OrdersController.Checkout(CheckoutRequest)", "Shop.Api", CodeKind::managed, true},
    {"Shop.Api.CatalogController.Search(string, int)", "Shop.Api", CodeKind::managed, true},
    {"Shop.Pricing.DiscountEngine.Evaluate(Basket, IReadOnlyList<Rule>)", "Shop.Pricing", CodeKind::managed, true},
    {"Shop.Pricing.Rule.Matches(in BasketLine)", "Shop.Pricing", CodeKind::managed, true},
    {"Shop.Data.OrderRepository.LoadAsync(Guid, CancellationToken)", "Shop.Data", CodeKind::managed, true},
    {"System.Text.Json.JsonSerializer.Serialize<TValue>(Utf8JsonWriter, TValue, JsonSerializerOptions)",
     "System.Text.Json", CodeKind::managed, false},
    {"System.Linq.Enumerable.OrderBy<TSource, TKey>(IEnumerable<TSource>, Func<TSource, TKey>)", "System.Linq",
     CodeKind::managed, false},
    {"System.Collections.Generic.Dictionary<TKey, TValue>.FindValue(TKey)", "System.Private.CoreLib", CodeKind::managed,
     false},
    {"System.String.Concat(string, string, string)", "System.Private.CoreLib", CodeKind::managed, false},
    {"[stub: virtual call]", "", CodeKind::stub, false},
    {"JIT_New", "libcoreclr.so", CodeKind::runtime, false},
    {"WKS::gc_heap::mark_object_simple(unsigned char**)", "libclrgc.so", CodeKind::runtime, false},
    {"sqlite3VdbeExec", "libe_sqlite3.so", CodeKind::native, false},
    {"std::__introsort_loop<Line*, long, Compare>(Line*, Line*, long, Compare)", "libpricing.so", CodeKind::native,
     true},
    {"entry_SYSCALL_64_after_hwframe", "[kernel]", CodeKind::kernel, false},
    {"", "libicui18n.so.72", CodeKind::native, false},
    {"", "", CodeKind::unknown, false},
};

/// Stacks that branch at random, more often where others went before.
class Walks {
 public:
  Walks(StackMaker& maker, unsigned seed, unsigned variants, unsigned spread)
      : maker_(maker), random_(seed), variants_(variants), spread_(spread) {}

  std::uint32_t outer() {
    std::uint32_t node = 0;
    for (const Named& f : kOuter) node = maker_.below(node, frame_of(f, 0));
    return node;
  }
  std::uint32_t inwards(std::uint32_t node, unsigned most) {
    const unsigned depth = 3 + below(most);
    std::size_t which = below(4) == 0 ? 1 : 0;
    for (unsigned i = 0; i < depth; i++) {
      node = maker_.below(node, frame_of(kInner[which], std::min(below(variants_), below(variants_))));
      // Each calls a few others, one of them most often.
      const unsigned choice = below(10);
      which = (which * 5 + 2 + (choice < 6 ? 0 : choice < 9 ? 1 : 2 + below(spread_))) % std::size(kInner);
    }
    return node;
  }
  unsigned below(std::size_t limit) { return static_cast<unsigned>(random_() % limit); }

 private:
  std::uint32_t frame_of(const Named& f, unsigned variant) {
    std::string name = f.name;
    if (variant > 0 && !name.empty() && f.kind == CodeKind::managed)
      name.insert(name.rfind('.') + 1, fmt::format("V{}", variant));
    const std::uint32_t line = f.user ? 10 + variant * 7 : 0;
    return maker_.frame(maker_.function(name, f.module, f.kind, f.user), line,
                        f.user ? std::string("/src/") + f.module + "/Code.cs" : "");
  }
  StackMaker& maker_;
  std::mt19937 random_;
  unsigned variants_, spread_;
};

}  // namespace

Recording server_recording(unsigned seed) {
  StackMaker maker;
  Walks walks(maker, seed, 2, 2 + seed);
  const std::uint32_t wait = maker.frame(maker.function("futex_wait_queue", "[kernel]", CodeKind::kernel));
  const std::uint32_t block = maker.frame(maker.function("io_schedule", "[kernel]", CodeKind::kernel));
  for (unsigned t = 0; t < 12; t++) {
    const std::uint32_t thread = maker.thread(t == 0 ? "dotnet" : ".NET TP Worker", t == 0 ? "Main" : "");
    for (unsigned i = 0; i < 1000; i++) {
      const bool busy = (i / 150 + t) % 3 != 0, gc = i % 180 < 7;
      const unsigned chance = walks.below(100);
      const std::uint32_t stack = walks.outer();
      if (!busy) {
        maker.sample(i * 10, maker.below(stack, wait), maker.context(thread, Activity::waiting, gc));
      } else if (chance < 4) {
        maker.sample(i * 10, maker.below(walks.inwards(stack, 5), block), maker.context(thread, Activity::blocked, gc));
      } else {
        const Activity activity = chance < 10 ? Activity::runnable : Activity::running;
        const StopReason stop = chance == 99 ? StopReason::no_unwind_info : StopReason::end_of_stack;
        maker.sample(i * 10, walks.inwards(stack, 14), maker.context(thread, activity, gc, SampleClock::wall, stop));
      }
    }
  }
  return std::move(maker.recording());
}

Recording large_recording() {
  StackMaker maker;
  maker.recording().facts.cpu_hertz = 999;
  Walks walks(maker, 7, 12, 8);
  std::vector<std::uint32_t> contexts;
  for (unsigned t = 0; t < 40; t++) {
    const std::uint32_t thread = maker.thread(".NET TP Worker", t == 0 ? "Main" : fmt::format("Worker {}", t));
    contexts.push_back(maker.context(thread, Activity::running, false, SampleClock::cpu));
    contexts.push_back(maker.context(thread, Activity::runnable, t % 3 == 0, SampleClock::cpu));
    contexts.push_back(maker.context(thread, Activity::waiting));
  }
  for (unsigned i = 0; i < 390'000; i++) {
    const std::uint32_t context = contexts[walks.below(contexts.size())];
    std::uint32_t stack = walks.outer();
    stack = walks.inwards(stack, 12);
    maker.sample(i / 39, stack, context);
  }
  return std::move(maker.recording());
}

}  // namespace mixstack::web_test
