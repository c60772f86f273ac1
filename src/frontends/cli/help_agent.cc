#include "frontends/cli/help.h"

namespace mixstack::cli {

HelpPage agent_page() {
  return {"agent",
          24,
          {prose(R"(Sample a running .NET process from inside: its runtime is asked to load
libmixstack_agent.so, which walks native and managed frames in signal handlers.
Unlike dump this changes the process: the library stays in it until it ends.)"),
           usage({"mixstack agent record PID [OPTIONS]", "mixstack agent attach PID [OPTIONS]",
                  "mixstack agent status PID [--json]", "mixstack agent stop PID"}),
           table("What to do", R"(  record   sample for a time, and write what was seen; has the agent loaded
           where it is not, and leaves it silent afterwards
  attach   have it loaded; with --out it samples, and the process writes the
           file at its end or at 'stop'. One that was stopped starts again
  status   what it does, what was sampled, cut and lost, and what that takes
  stop     it falls silent: no timers, no memory for code and samples. What
           stays loaded is said)"),
           options("What is sampled (record, attach)",
                   {{"--hz", "N",
                     "each thread, N times a second of its CPU time (100, where nothing else is said; at most "
                     "10000)"},
                    {"--wall", "N",
                     "N times a second of wall time, threads that wait, too (at most 1000); calls they wait in "
                     "may return EINTR"},
                    {"--wall-threads", "N", "of so many threads a tick, in turn (16)"},
                    {"--native-only", "", "walks end where managed code begins"}}),
           options("What is written",
                   {{"-o, --out", "FILE",
                     "record: by mixstack (standard output); attach: by the process, with its rights, as "
                     "it sees the path"},
                    {"--format", "FORMAT", "collapsed (for flame graphs) or json (docs/formats/profile.schema.json)"},
                    {"-d, --duration", "TIME", "record: 10, 10s, 500ms; without it until Ctrl-C"},
                    {"-j, --json", "", "status: as JSON"}}),
           options("How it gets there (record, attach)",
                   {{"--library", "FILE",
                     "the agent, as the process sees the path; else the one beside mixstack or in "
                     "../lib. Only root and the process's user may be able to write it"},
                    {"--timeout", "TIME", "for the runtime to load it (10s)"}}),
           table("At the start of a process instead, by environment",
                 R"(  CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER={ANY-GUID}
  CORECLR_PROFILER_PATH=/path/libmixstack_agent.so MIXSTACK_AGENT_HZ=100
  MIXSTACK_AGENT_OUT=stacks.txt; MIXSTACK_DEBUG=1: it says what it does)"),
           prose(R"(You need to be the process's user or root. Exit codes: as of 'mixstack dump';
6: no diagnostics socket, no agent, or the runtime refuses; 7: the recording
ended early. docs/agent.md tells what it promises and what it costs.)")}};
}

}  // namespace mixstack::cli
