#include "frontends/cli/help.h"

namespace mixstack::cli {
namespace {

/// Where the files of a core are, for commands that take one.
std::vector<HelpEntry> core_file_entries() {
  return {{"--sysroot", "DIR", "where a core's files are, as in 'mixstack dump'"},
          {"--exe", "FILE", "the program it is of, the same"},
          {"--only-sysroot", "", "not the files of this machine"}};
}

HelpBlock dump_subjects() {
  return options("Of what", {{"-p, --pid", "PID", "the process (the same as PID without the option)"},
                             {"-n, --name", "NAME",
                              "all .NET processes called so: the executable or the assembly. Of several each has "
                              "a report of its own"},
                             {"-c, --core", "FILE",
                              "a core written by the kernel, gdb or createdump; also .zst, .gz, .lz4 and .xz, - "
                              "for a pipe, a FIFO"},
                             {"--core-of", "PID|NAME", "the newest core that systemd-coredump keeps of it"},
                             {"--sysroot", "DIR",
                              "for cores: files of its machine, below DIR or in it; may be given again. They must "
                              "match those of the core"},
                             {"--exe", "FILE", "for cores: the program's own file"},
                             {"--only-sysroot", "", "for cores: never look at this machine's own files"}});
}

HelpBlock dump_threads() {
  return options("Which threads",
                 {{"-t, --thread", "TID...", "only these threads: -t 12 13, -t 12,13, -t 12 -t 13 (also --threads)"}});
}

HelpBlock dump_shown() {
  return options(
      "What is shown",
      {{"-m, --merge", "", "threads with the same stack once, with their number"},
       {"--tree", "", "all threads as one tree of calls, outermost first"},
       {"-a, --all", "", "stacks of the runtime's waiting threads, too"},
       {"-w, --wide", "", "on a terminal: names in full"},
       {"--no-pager", "", "on a terminal: not through a pager"},
       {"--managed-only", "", "managed frames only"},
       {"--frames", "", "the runtime's explicit Frames, too, where they lie"},
       {"--registers", "", "the registers known in each frame"},
       {"--arguments", "",
        "this and arguments of managed frames: numbers, types and addresses of objects, where "
        "the code keeps them"},
       {"--data", "", "with --arguments: what strings hold, too (cut)"},
       {"--explain", "", "for each frame: who found it, by which evidence, and who else was asked and declined"},
       {"--async", "", "async methods that have not ended, as chains; with --merge equal ones once"},
       {"--heap", "",
        "with --async: those that only a search of the heap finds; the process stands still for "
        "it, some 0.5 s for each GB"},
       {"--heap-limit", "SIZE", "not if there is more to search (2G); 512M, 8G"},
       {"--raw-names", "", "names as metadata and symbol tables have them"},
       {"--no-fold", "", "every frame: of recursions, async calls, and images without symbols"},
       {"--no-lines", "", "no source lines, and nothing that was inlined"},
       {"--all-lines", "",
        "of native code, too, whose debug information takes long to unpack (more than a "
        "megabyte packed)"},
       {"-j, --json", "", "one JSON document (docs/formats/dump.schema.json)"},
       {"--color", "WHEN", "auto (on a terminal), always or never"}});
}

HelpBlock dump_providers() {
  return options("How managed frames are found",
                 {{"--provider", "WHICH",
                   "cdac: by the runtime's own description (.NET 10); dac: by its debugging library, "
                   "libmscordaccore.so, in mixstack-helper, a program without privileges; auto "
                   "(default): cdac, dac where that is not enough"},
                  {"--dac", "FILE",
                   "the debugging library, of exactly this runtime; else the one beside the process's "
                   "libcoreclr.so"}});
}

HelpBlock dump_symbols() {
  return options(
      "Where names of native code and source lines come from, beside the files themselves and /usr/lib/debug "
      "(docs/symbols.md)",
      {{"--symbol-path", "PATH",
        "folders and http(s) URLs of symbol servers with ; between them; else "
        "MIXSTACK_SYMBOL_PATH. Servers of DEBUGINFOD_URLS are asked, too. Without a URL "
        "the network is not used"}});
}

HelpBlock dump_limits() {
  return options("Limits", {{"--no-stop", "",
                             "stop nothing: threads that wait are looked at while they wait, threads that run are "
                             "left out. Needs Linux 5.18 and root, or CAP_BPF and CAP_PERFMON"},
                            {"--max-frames", "N", "at most N frames a thread (65536)"},
                            {"--frame-budget", "N", "about N frames of all threads together (2097152)"},
                            {"--stop-timeout", "TIME",
                             "the threads that stop within this time (20ms) are seen at one instant, and "
                             "then run on"},
                            {"--wait", "TIME",
                             "wait so long (2s) for the next of the others, which are marked \"late by N ms\"; at "
                             "most 5 times as long. Threads that get no processor even then are looked at without a "
                             "stop, with the rights of --no-stop"}});
}

}  // namespace

HelpPage dump_page() {
  return {"dump",
          27,
          {prose(R"(Print the stack of every thread of a process, native and managed frames in
their true order. A running process needs no preparation and does not help; it
is stopped for about a millisecond, and nothing in it is changed. A core is
read without its machine, its CPU or a debugging library of its runtime.)"),
           usage({"mixstack dump PID... [OPTIONS]", "mixstack dump --core FILE [OPTIONS]"}), dump_subjects(),
           dump_threads(), dump_shown(), dump_providers(), dump_symbols(), dump_limits(),
           table("Marks before a name", R"(  M managed   N native   S runtime stub   F explicit Frame of the runtime
  ! signal handler's return   ? code nobody describes
A frame that is not certain says so behind its name; a stack whose end was not
reached says why.)"),
           table("Exit codes", R"(  0  everything was printed        5  another tracer (gdb, strace) is attached
  1  fault of mixstack or system   6  kernel thread, zombie, 32-bit, other CPU
  2  wrong command line            7  partial: printed, something is missing
  3  no such process or file       8  the process exited or changed meanwhile
  4  not permitted                 9  the report could not be written
                                  10  no memory, no files left, foreign /proc
                                  11  why: something is stuck
                                  12  why: the same, but it may time out)"),
           prose(R"(You need to be allowed to trace the process: as root, with CAP_SYS_PTRACE, or
as the same user where kernel.yama.ptrace_scope is 0.)")}};
}

HelpPage symbols_page() {
  return {"symbols",
          27,
          {prose(R"(Which modules have symbols (names of native functions, source lines of managed
code), what the others need, and where that usually is.)"),
           usage({"mixstack symbols status PID|FILE.mxr|--core FILE [OPTIONS]",
                  "mixstack symbols fetch PID|FILE.mxr|--core FILE [OPTIONS]"}),
           table("", R"(  status                   tell; nothing is fetched
  fetch                    ask servers for what is missing. It is kept in
                           ~/.cache/mixstack/symbols, where 'mixstack dump'
                           finds it)"),
           options("", joined({{"-p, --pid", "PID", "the process (the same as PID)"},
                               {"-c, --core", "FILE", "a core"},
                               {"--symbol-path", "PATH",
                                "folders and http(s) URLs with ; between them; else MIXSTACK_SYMBOL_PATH. "
                                "'fetch' asks the servers of DEBUGINFOD_URLS, too, and where there is no server "
                                "at all, https://msdl.microsoft.com/download/symbols"},
                               {"-a, --all", "", "all modules, not only those that stacks run through"},
                               {"-j, --json", "", "one JSON document"},
                               {"--timeout", "TIME", "fetch: for all files together (600s)"}},
                              core_file_entries())),
           prose(R"(The process is stopped for about a millisecond, as by 'mixstack dump'. Of a raw
recording (FILE.mxr, of 'mixstack record') all native modules are told.
Exit codes: as of 'mixstack dump'; 7: fetch, and something is still missing, or
a server failed.)")}};
}

HelpPage pack_page() {
  return {
      "pack",
      27,
      {prose(R"(Put into one file what a dump of a process or core needs, and no more: stacks,
what walking and naming them reads of memory, and the files that stacks run
through. 'mixstack dump --core FILE' reads it on any machine. The process is
stopped as long as for a dump.)"),
       usage({"mixstack pack PID -o FILE [OPTIONS]", "mixstack pack CORE -o FILE [OPTIONS]"}),
       options("", joined({{"-o, --out", "FILE", "the pack; - for standard output"},
                           {"-f, --force", "", "replace a file that is there"},
                           {"--full", "",
                            "all private memory of the process, for debuggers that look at objects; all that a core "
                            "holds"},
                           {"--with-environment", "", "its environment, which is left out otherwise, in memory, too"},
                           {"--with-command-line", "", "its command line, the same"},
                           {"-c, --core", "FILE", "the core (the same as CORE), - for a pipe"}},
                          core_file_entries())),
       prose(R"(A pack is a tar archive, compressed by zstd: manifest.json, core, and sysroot/
with the files: tar -I zstd -xf FILE. docs/pack.md tells what can be in it that
is not meant for others.
Exit codes: as of 'mixstack dump'; 7: written, but it does not tell the same as
the process now; 9: could not be written.)")}};
}

HelpPage why_page() {
  return {
      "why",
      23,
      {prose(R"(Say why a process is stuck or slow: deadlocks, locks that hold many threads
up, threads that keep a garbage collection from beginning; collections,
exceptions, compiling, memory that grows, a crowded machine, each with its
numbers and its place in the program; then what each thread waits for and who
holds it. Read from outside, from the runtime's own records and from objects
that prove each other; the process is stopped as long as for a dump.)"),
       usage({"mixstack why PID [OPTIONS]", "mixstack why CORE [OPTIONS]"}),
       options("", joined({{"-n, --name", "NAME", "the .NET process called so"},
                           {"-c, --core", "FILE", "a core or pack (the same as CORE)"},
                           {"-j, --json", "", "all of it as JSON: docs/formats/why.schema.json"},
                           {"--dot", "",
                            "the graph of threads and objects, for Graphviz: mixstack why 4711 --dot | dot -Tsvg > "
                            "why.svg"},
                           {"--data", "",
                            "the user's own data, too, cut: variables of async methods, paths of requests, text of "
                            "database commands"},
                           {"--heap", "",
                            "all async methods, found by a search of the heap: the process stands still for it, some "
                            "0.5 s for each GB"},
                           {"--heap-limit", "SIZE", "not if there is more to search (2G); 512M, 8G"},
                           {"-o, --out", "FILE",
                            "into a file, by the end of its name: .html (a page with the picture of the graph), "
                            ".txt, .json, .dot"},
                           {"--sample", "TIME",
                            "if nothing is stuck, say what runs and what makes it slow, sampled so long (1s, if "
                            "it runs); 0: do not"},
                           {"--watch", "TIME",
                            "the answer again, each 10 (seconds), 10s, 5m, with what has not moved since"}},
                          core_file_entries())),
       prose(R"(Exit codes: 0 nothing is stuck, be it slow or not; 11 something is; 12 it is,
but ends by a time-out of its own; 7 nothing can be told (.NET before 10, no
.NET, a core without its heap); else as of 'mixstack dump'.)")}};
}

}  // namespace mixstack::cli
