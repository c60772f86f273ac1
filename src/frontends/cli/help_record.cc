#include "frontends/cli/help.h"

namespace mixstack::cli {
namespace {

// Options of several commands are declared once.

std::vector<HelpEntry> sampling_entries(std::string_view until) {
  return {{"-m, --mode", "MODE",
           "wall: all threads, also those that wait; cpu: threads that run, by their processor time; auto (as wall); "
           "record alone: alloc, faults"},
          {"-r, -F, --rate", "N",
           "samples a second of each thread, 1 to 20000 (wall: 100, cpu: 999); by stops at most 100"},
          {"-d, --duration", "TIME", "10 or 10s, 500ms, 5m, 1h; without it until " + std::string(until)},
          {"--kernel", "", "where in the kernel threads are, too"},
          {"--no-stop", "", "stop no thread, even if threads that wait cannot be seen then"},
          {"--max-pause", "SHARE",
           "the largest share of its time for which a thread may be stopped (1%); where that does not suffice, stops "
           "are left out"}};
}

std::vector<HelpEntry> matching_entries() {
  return {{"--managed-only", "", "without native frames"},
          {"-I, --include", "TEXT",
           "only stacks with a function whose name holds TEXT, or that it matches as a whole, if it has * (any "
           "letters) or ? (one); again for more"},
          {"-X, --exclude", "TEXT", "no stacks with such a function"}};
}

/// The part of a recording that `convert` and `diff` show.
std::vector<HelpEntry> view_entries() {
  return joined({{"-t, --threads", "", "stacks begin with their thread"},
                 {"-i, --idle", "", "threads that wait are counted, too"},
                 {"--state", "STATES",
                  "only running, runnable, waiting, blocked, unknown, or gc (while the runtime stopped its threads): "
                  "some of them with commas"},
                 {"--clock", "CLOCK",
                  "cpu, wall, bytes; auto: processor time, where that was sampled and no waiting is asked for"},
                 {"--no-kernel", "", "without frames of the kernel"},
                 {"--inverted", "", "from the functions that ran to their callers"}},
                matching_entries());
}

HelpBlock record_sampling() {
  return options(
      "What is sampled",
      joined(
          joined({{"-p, --pid", "PID", "a process; again, or with commas, for several"},
                  {"-n, --name", "NAME", "all .NET processes that are called so"},
                  {"-s, --subprocesses", "", "processes that they start, too"}},
                 sampling_entries("Ctrl-C or the end of the process")),
          {{"--alloc", "",
            "(--mode alloc) what makes objects, by their bytes, with types; --mode faults: where memory is first used, "
            "by bytes"},
           {"--async", "", "async methods that await what a thread runs as its outermost frames, marked {awaits}"},
           {"--no-names", "",
            "native code without names, which cost no time then: 'mixstack convert FILE.mxr' finds them "
            "later"}}));
}

HelpBlock record_output() {
  return options(
      "What is written",
      joined({{"-o, --out", "FILE",
               "its end tells the format: .html, .svg, .folded, .speedscope.json, .pb.gz (pprof), "
               ".profile.json.gz (Firefox), .trace.json (Chrome), .txt, .mxr (raw, for 'mixstack "
               "convert'); -: standard output. Without it mixstack-NAME-PID-TIME.html"},
              {"-f, --format", "FORMAT",
               "html, svg, folded, speedscope, pprof, firefox, chrome, text, raw: whatever "
               "the file is called"},
              {"--rotate", "TIME", "a file for each 10m or 1h, numbered: for days of it"},
              {"-t, --threads", "", "stacks begin with their thread"},
              {"-i, --idle", "",
               "threads that wait are counted, too (html holds them in any case, and begins without "
               "them; raw does)"},
              {"--state", "STATES",
               "only running, runnable, waiting, blocked, unknown, or gc (while the runtime "
               "stopped its threads): some of them with commas; raw holds all"},
              {"--serve", "", "meanwhile, and until Ctrl-C, the page at an address of this machine that is printed"},
              {"--port", "N", "of that address; else one that is free"},
              {"--stats", "", "how long threads were held, and what recording cost"},
              {"-q, --quiet", "", "no progress, no summary"}},
             matching_entries()));
}

HelpBlock record_push() {
  return options(
      "Where it is sent, while it goes on (docs/push.md; a file only with -o, too)",
      {{"--push", "URL",
        "http://HOST:4040: Pyroscope; otlp+http://HOST:4318: OpenTelemetry's profiles; with "
        "https, too"},
       {"--push-interval", "TIME", "how often: 10s, or 1s to 1h"},
       {"--push-name", "NAME", "of the application; else the command's name"},
       {"--push-label", "NAME=VALUE", "something to find it by; again for more"},
       {"--push-header-file", "FILE",
        "lines like 'X-Scope-OrgID: team'; a token also by the environment "
        "variable MIXSTACK_PUSH_TOKEN"},
       {"--push-spool", "DIR", "where profiles wait while the server is not there; else ~/.cache/mixstack/push"}});
}

}  // namespace

HelpPage record_page() {
  return {"record",
          24,
          {prose(R"(Sample the stacks of a process over a time, native and managed frames in their
true order, and write what was seen as a flame graph or another format. Nothing
has to be prepared, and nothing in the process is changed. Where the kernel
allows it no thread is stopped: threads that run are seen by perf events.)"),
           usage({"mixstack record -p PID [-d TIME] [-o FILE] [OPTIONS]", "mixstack record -n NAME [OPTIONS]",
                  "mixstack record [OPTIONS] -- PROGRAM [ARGUMENTS]"}),
           record_sampling(), record_output(), record_push(),
           prose(R"(Exit codes: as of 'mixstack dump'; 4: nothing is allowed that could show a
stack; 8: written, but the process ended before the time was over; 9: could
not be written, or was dropped by --push. docs/record.md tells more.)")}};
}

HelpPage top_page() {
  return {"top",
          24,
          {prose(R"(Show where a process spends its time while it runs, by functions or by threads:
samples as of 'mixstack record', looked at every second. Nothing has to be
prepared, and nothing in the process is changed.)"),
           usage({"mixstack top PID [OPTIONS]", "mixstack top -n NAME [OPTIONS]"}),
           options("What is sampled", joined({{"-p, --pid", "PID", "the process (the same as PID without the option)"},
                                              {"-n, --name", "NAME", "the .NET process that is called so"}},
                                             sampling_entries("q, Ctrl-C or the end of the process"))),
           options("What is shown",
                   joined({{"--interval", "TIME", "how often it changes: 1, 500ms, 10s"},
                           {"--whole", "", "shares of the whole run, not of the last interval"},
                           {"--async", "", "async methods that await what a thread runs are its outermost frames"},
                           {"-t, --threads", "", "threads, not functions"},
                           {"-i, --idle", "", "threads that wait are counted, too"}},
                          matching_entries())),
           options("Without a terminal a table each interval, as text",
                   {{"--count", "N", "so many tables"}, {"--rows", "N", "rows of each (20)"}}),
           table("Keys", R"(  up down PgUp PgDn     choose a row; Home and End the first and the last
  Enter, c              callers of the function, callees of it; of a thread its
                        functions
  Esc, Backspace        back
  t                     threads or functions
  w                     the last interval or the whole run
  s, i                  only threads that run, are ready, wait, or while a
                        collection stops them; idle ones, too
  < > o                 sort by another column
  /                     only functions and modules with a text in their names
  space, r              hold the picture; forget what was counted
  h ? q                 help, quit)"),
           prose(R"(Exit codes: as of 'mixstack record'; 8: the process ended before the time was
over. docs/top.md tells what the numbers mean.)")}};
}

HelpPage convert_page() {
  return {
      "convert",
      24,
      {prose(R"(Show a recording as a flame graph, a table, or in the format of another tool.)"),
       usage({"mixstack convert FILE [-o FILE] [OPTIONS]"}),
       prose(R"(FILE is a raw recording ('mixstack record -o FILE.mxr'), or folded stacks of
any profiler: lines "outermost;...;innermost count". - is standard input.)"),
       options("What is written", {{"-o, --out", "FILE",
                                    "its end tells the format: .html, .svg, .folded, .speedscope.json, .pb.gz (pprof), "
                                    ".profile.json.gz (Firefox), .trace.json (Chrome), .txt, .mxr (raw). Without it "
                                    "text, on standard output"},
                                   {"-f, --format", "FORMAT",
                                    "html, svg, folded, speedscope, pprof, firefox, chrome, text, raw: whatever "
                                    "the file is called"},
                                   {"-q, --quiet", "", "no remarks, only what went wrong"}}),
       options("Names that the recording lacks",
               {{"--symbol-path", "PATH",
                 "folders and http(s) URLs with ; between them; else MIXSTACK_SYMBOL_PATH. "
                 "Native code gets names, lines and inlined functions of the files with its "
                 "build ids, also of those of this machine. With -o FILE.mxr they are kept"}}),
       options("What is shown (raw recordings are written whole)", view_entries()),
       prose(R"(Exit codes: 3 no such file, 4 it may not be read, 6 it is no recording; 7
written, but the recording was cut, or symbols were refused; 9 could not be
written.)")}};
}

HelpPage diff_page() {
  return {"diff",
          24,
          {prose(R"(Say which functions took more of the time, and which less, in one of two
recordings.)"),
           usage({"mixstack diff FILE FILE [-o FILE] [OPTIONS]"}),
           prose(R"(The first is what it was before, the second after; each as in 'mixstack
convert'. Shares are compared, so they need not be of the same length.)"),
           options("What is written", {{"-o, --out", "FILE",
                                        "its end tells the format: .txt, .html (a flame graph in colours of change), "
                                        ".folded (lines \"stack BEFORE AFTER\" for flamegraph.pl). Without it text, on "
                                        "standard output"},
                                       {"-f, --format", "FORMAT", "text, html, folded: whatever the file is called"},
                                       {"-q, --quiet", "", "no remarks, only what went wrong"}}),
           options("What is compared", view_entries()), prose(R"(Exit codes: as of 'mixstack convert'.)")}};
}

}  // namespace mixstack::cli
