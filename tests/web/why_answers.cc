#include "web/why_answers.h"

#include <map>

namespace mixstack::web_test {
namespace {

class Maker {
 public:
  Maker() {
    answer.dump.target.pid = 4711;
    answer.dump.target.executable = "/srv/bank/Bank";
    answer.dump.target.command_line = {"/srv/bank/Bank", "--urls", "http://localhost:5000"};
    answer.dump.symbols.emplace_back();
    RuntimeSummary& runtime = answer.dump.runtimes.emplace_back();
    runtime.version = "10.0.12";
    runtime.module_path = "/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.12/libcoreclr.so";
  }

  std::uint32_t symbol(const std::string& name, const std::string& module, const std::string& file = {},
                       std::uint32_t line = 0) {
    const auto [at, is_new] = known_.try_emplace(name, static_cast<std::uint32_t>(answer.dump.symbols.size()));
    if (!is_new) return at->second;
    SymbolInfo& made = answer.dump.symbols.emplace_back();
    made.name = name;
    made.module = module;
    made.file = file;
    made.line = line;
    return at->second;
  }

  ThreadDump& thread(ThreadId tid, const std::string& name, const std::string& method) {
    ThreadDump& t = answer.dump.threads.emplace_back();
    t.tid = t.ns_tid = tid;
    t.comm = ".NET TP Worker";
    t.kernel_state = 'S';
    t.captured = true;
    t.managed.emplace().name = name;
    const auto frame = [&](std::uint32_t symbol, FrameKind kind) {
      Frame& f = t.trace.frames.emplace_back();
      f.kind = kind;
      t.symbols.push_back(symbol);
    };
    frame(symbol("__futex_abstimed_wait_common64", "libc.so.6"), FrameKind::native);
    frame(symbol("System.Threading.Monitor.Enter(object)", "System.Private.CoreLib"), FrameKind::managed);
    frame(symbol(method, "Bank", "/srv/bank/Bank.cs", 42), FrameKind::managed);
    frame(symbol("System.Threading.Thread.StartCallback()", "System.Private.CoreLib"), FrameKind::managed);
    return t;
  }

  static void wait(ThreadDump& t, WaitKind kind, Address object, const std::string& type,
                   std::vector<std::uint32_t> owners) {
    ThreadWait& w = t.wait.emplace();
    w.kind = kind;
    w.proof = Proof::recorded;
    w.object = {object, type, {}};
    w.owners = std::move(owners);
  }

  WhyAnswer answer;

 private:
  std::map<std::string, std::uint32_t> known_;
};

constexpr char kTransfer[] = "Bank.Transfer(Bank.Account, Bank.Account)";

WhyAnswer deadlock(const std::string& prefix) {
  Maker maker;
  maker.wait(maker.thread(11, prefix + "transfer-a", prefix + kTransfer), WaitKind::monitor, 0x1000,
             prefix + "Bank.Account", {12});
  maker.wait(maker.thread(12, prefix + "transfer-b", prefix + kTransfer), WaitKind::lock, 0x2000,
             "System.Threading.Lock", {11});
  for (ThreadId tid = 20; tid < 29; tid++)
    maker.wait(maker.thread(tid, "teller", prefix + "Bank.Teller.Read()"), WaitKind::monitor, 0x1000,
               prefix + "Bank.Account", {12});
  ThreadDump& client = maker.thread(30, "client", prefix + "Bank.Client.Ask()");
  maker.wait(client, WaitKind::socket, 0, "tcp 10.0.0.1:51012 -> 10.0.0.9:443", {});
  client.wait->object.detail = "the other end is held by 99 \"" + prefix + "\"";
  maker.answer.verdicts = {{VerdictKind::deadlock, true, {{11, 12}, {12, 11}}, 11}};
  return maker.answer;
}

WhyAnswer ring() {
  Maker maker;
  Verdict verdict{VerdictKind::deadlock, true, {}, 500};
  for (ThreadId i = 0; i < 500; i++) {
    const ThreadId tid = 1000 + i, next = 1000 + (i + 1) % 500;
    maker.wait(maker.thread(tid, "ring-" + std::to_string(i), kTransfer), WaitKind::monitor, 0x1000 + 16 * i,
               "Bank.Account", {next});
    verdict.steps.push_back({tid, next});
  }
  maker.answer.verdicts = {verdict};
  return maker.answer;
}

AsyncChain chain(ThreadId waiter, Address box, AsyncEnd end, ThreadId runner) {
  AsyncChain c;
  c.waiter = waiter;
  c.runner = runner;
  c.steps = {{"Shop.OrderApi.GetOrder(int)", box, 0},
             {"Shop.PriceService.Load()", box + 1, 0},
             {"Shop.Db.ReadRow()", box + 2, 1}};
  c.end = end;
  c.awaited = {box + 3, "System.Threading.Tasks.Task", {}};
  if (end == AsyncEnd::delay) c.due = std::chrono::milliseconds(3200);
  return c;
}

WhyAnswer async() {
  Maker maker;
  PendingWork& pending = maker.answer.dump.runtimes[0].pending.emplace();
  pending.pool.emplace();
  pending.pool->existing = pending.pool->blocked = pending.pool->goal = 58;
  pending.pool->queued = 1200;
  pending.timers = Timers{56, 56, 0, std::chrono::milliseconds(3200), false};
  for (ThreadId i = 0; i < 56; i++) {
    maker.wait(maker.thread(100 + i, "", "Shop.Orders.Get(int)"), WaitKind::task, 0x10000 + 16 * i,
               "System.Threading.Tasks.Task<int>", {});
    pending.chains.push_back(chain(100 + i, 0x10000 + 16 * i, AsyncEnd::delay, 0));
  }
  maker.wait(maker.thread(200, "holder", "Shop.Orders.Hold()"), WaitKind::task, 0x90000,
             "System.Threading.Tasks.Task<int>", {201});
  maker.wait(maker.thread(201, "resumed", "Shop.Db.Locked()"), WaitKind::lock, 0x91000, "System.Threading.Lock", {200});
  pending.chains.push_back(chain(200, 0x90000, AsyncEnd::running, 201));
  for (Address i = 0; i < 5; i++) pending.chains.push_back(chain(0, 0xa0000 + 16 * i, AsyncEnd::promise, 0));
  maker.answer.verdicts = {{VerdictKind::deadlock, true, {{200, 201}, {201, 200}}, 2}};
  return maker.answer;
}

WhyAnswer cycle() {
  Maker maker;
  maker.wait(maker.thread(200, "waiter", "Shop.Orders.Get(int)"), WaitKind::task, 0x10000,
             "System.Threading.Tasks.Task<int>", {});
  AsyncChain& entered =
      maker.answer.dump.runtimes[0].pending.emplace().chains.emplace_back(chain(200, 0x10000, AsyncEnd::cycle, 0));
  entered.awaited.address = entered.steps[1].box;
  maker.answer.verdicts = {
      {VerdictKind::await_cycle, true, {{200, 0}}, 1, {entered.steps.begin() + 1, entered.steps.end()}, 1}};
  return maker.answer;
}

WhyAnswer busy() {
  Maker maker;
  maker.thread(11, "worker", kTransfer).kernel_state = 'R';
  Busyness& busy = maker.answer.busy.emplace();
  busy.duration_ns = 1'000'000'000;
  busy.cpu_ns = 1'900'000'000;
  busy.samples = 1000;
  busy.kinds[static_cast<std::size_t>(BusyKind::program)] = 920;
  busy.kinds[static_cast<std::size_t>(BusyKind::gc)] = 80;
  busy.threads = {{11, "worker", 1000}};
  busy.functions = {{kTransfer, "Bank.cs:42", BusyKind::program, 610, 920, busy.threads}};
  busy.source = "perf events (cycles)";
  return maker.answer;
}

}  // namespace

std::optional<WhyAnswer> why_answer(const std::string& kind) {
  if (kind == "deadlock") return deadlock("");
  if (kind == "hostile")
    return deadlock("</script><script>document.title='owned'</script><img src=x onerror=alert(1)>\x1b[31m\xe2\x80\xae");
  if (kind == "ring") return ring();
  if (kind == "async") return async();
  if (kind == "cycle") return cycle();
  if (kind == "busy") return busy();
  if (kind == "none") return Maker().answer;
  return std::nullopt;
}

}  // namespace mixstack::web_test
