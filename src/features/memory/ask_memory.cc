#include "mixstack/ask_memory.h"

#include <algorithm>

#include "features/memory/account.h"
#include "features/memory/moment_mark.h"
#include "output/report/memory.h"
#include "output/report/memory_html.h"
#include "output/report/writer.h"
#include "process/live/proc_files.h"

namespace mixstack {

bool MemoryAnswer::is_whole() const {
  return std::all_of(heaps.begin(), heaps.end(), [](const HeapTypes& h) { return h.is_exact; }) &&
         std::all_of(holders.begin(), holders.end(), [](const HeapHolders& h) { return h.is_exact; });
}

Result<MemoryAnswer> ask_memory(Session& session, const MemoryOptions& options) {
  const TargetInfo& target = session.target().info();
  MemoryAnswer answer{target.pid, target.comm, target.core_path};
  if (!answer.core_path.empty() && !options.types && !options.holders) return fail(ErrorCode::unsupported);
  auto managed = session.managed_memory();
  answer.mark = memory_use::mark_of(session, managed ? *managed : std::vector<ManagedMemory>{});
  if (answer.core_path.empty()) {
    auto account =
        memory_use::account_of(session.target(), managed ? std::move(*managed) : std::vector<ManagedMemory>{});
    if (!account) return fail(account.error());
    if (!managed) account->diagnoses.push_back({managed.error(), "runtimes", "the runtimes' memory could not be read"});
    answer.account = std::move(*account);
    if (answer.name.empty()) answer.name = process::comm_of(answer.pid);
  }
  if (options.types) {
    auto heaps = session.heap_types(options.heap);
    if (!heaps) return fail(heaps.error());
    answer.heaps = std::move(*heaps);
  }
  if (options.holders) {
    auto holders = session.holders(options.of_holders);
    if (!holders) return fail(holders.error());
    answer.holders = std::move(*holders);
  }
  return answer;
}

namespace {

report::MemoryReport report_of(const MemoryAnswer& answer) {
  return {answer.pid,   answer.name,  answer.core_path, answer.account ? &*answer.account : nullptr,
          answer.heaps, &answer.mark, answer.holders};
}

}  // namespace

void write_text(const MemoryAnswer& answer, const ReportSink& sink, const ReportOptions& options) {
  report::Writer writer(sink);
  report::write_memory_text(writer, report_of(answer), options);
  writer.flush();
}

void write_json(const MemoryAnswer& answer, const ReportSink& sink) {
  report::Writer writer(sink);
  report::write_memory_json(writer, report_of(answer));
  writer.flush();
}

void write_html(const MemoryAnswer& answer, const ReportSink& sink) {
  report::Writer writer(sink);
  const report::MemoryReport moment = report_of(answer);
  report::write_memory_html(writer, {{&moment, 1}});
  writer.flush();
}

}  // namespace mixstack
