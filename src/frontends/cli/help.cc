// Input: none.
// Output: the texts of --help, one per command.
// Algorithm: constants, written by hand so that they read well. help_page.cc parses them, and completions and the
// manual page are made from the result, so the layout has rules. Empty lines separate blocks. A heading is not indented
// and ends in ':'. An option begins a line indented by less than kContinuation columns; two spaces separate it from its
// description; further lines of the description are indented by kContinuation or more. Tests compare the options with
// those of the parsers.
// Bounds: 80 columns.
#include "frontends/cli/help.h"

namespace mixstack::cli {
namespace {

constexpr std::string_view kMainHelp = R"(mixstack: the native and managed stacks of a .NET process, from outside: of a
running one, or of the core file a crashed one left

Usage: mixstack COMMAND [OPTIONS]

Commands:
  dump PID          print the stack of every thread of a process; 'mixstack PID'
                    and 'mixstack -n NAME' mean the same
  dump --core FILE  the same of a core file, of this machine or another CPU
  why PID|CORE      what a stuck or slow process waits for
  memory PID|CORE   where its memory is, and how many objects of which types
  record -p PID     where its time goes: samples of all stacks over a time, as
                    a flame graph and other formats
  top PID           the same while it runs: functions and threads by their share
                    of the time, callers, states; in a pipe as text
  convert FILE      a recording in another format, or another part of it
  diff FILE FILE    what changed from one recording to another
  view FILE         a recording in the browser, served on this machine alone
  ps                the .NET processes of this machine
  doctor [PID]      what would stop a dump here, and what to do about it
  symbols VERB PID  which modules have symbols, where the others usually are
                    (status); get them from servers (fetch)
  pack PID|CORE     one file to mail, of which a dump can be made anywhere
  agent VERB PID    sample a .NET process from inside: attach, status, stop,
                    record; 'mixstack agent --help'
  completions SHELL
                    completions for bash, zsh or fish; the manual page

Options:
  -h, --help        this text; 'mixstack dump --help' tells the options of dump
  -V, --version     the version

Start here:
  mixstack ps                  which processes there are
  mixstack dump 4711           all threads, all frames
  mixstack dump 4711 --merge   threads with the same stack shown once
  mixstack dump --core core.4711 --sysroot /srv/app-files
                               a core from a machine with other files
)";

constexpr std::string_view kDumpHelp = R"(Print the stack of every thread of a process, native and managed frames in
their true order. A running process needs no preparation and does not help; it
is stopped for about a millisecond, and nothing in it is changed. A core is
read without its machine, its CPU or a debugging library of its runtime.

Usage: mixstack dump PID... [OPTIONS]
       mixstack dump --core FILE [OPTIONS]

Of what:
  -p, --pid PID            the process (the same as PID without the option)
  -n, --name NAME          all .NET processes called so: the executable or the
                           assembly. Of several each has a report of its own
  -c, --core FILE          a core written by the kernel, gdb or createdump;
                           also .zst, .gz, .lz4 and .xz, - for a pipe, a FIFO
      --core-of PID|NAME   the newest core that systemd-coredump keeps of it
      --sysroot DIR        for cores: files of its machine, below DIR or in it;
                           may be given again. They must match those of the core
      --exe FILE           for cores: the program's own file
      --only-sysroot       for cores: never look at this machine's own files

Which threads:
  -t, --thread TID...      only these threads: -t 12 13, -t 12,13, -t 12 -t 13
                           (also --threads)

What is shown:
  -m, --merge              threads with the same stack once, with their number
      --tree               all threads as one tree of calls, outermost first
  -a, --all                stacks of the runtime's waiting threads, too
  -w, --wide, --no-pager   on a terminal: names in full; without less
      --managed-only       managed frames only
      --frames             the runtime's explicit Frames, too, where they lie
      --registers          the registers known in each frame
      --arguments          this and arguments of managed frames: numbers, types
                           and addresses of objects, where the code keeps them
      --data               with --arguments: what strings hold, too (cut)
      --explain            for each frame: who found it, by which evidence,
                           and who else was asked and declined
      --async              async methods that have not ended, as chains; with
                           --merge equal ones once
      --heap               with --async: those that only a search of the heap
                           finds; the process stands still for it, some 0.5 s
                           for each GB
      --heap-limit SIZE    not if there is more to search (2G); 512M, 8G
      --raw-names          names as metadata and symbol tables have them
      --no-fold            every frame: of recursions, async calls, and images
                           without symbols
      --no-lines           no source lines, and nothing that was inlined
      --all-lines          of native code, too, whose debug information takes
                           long to unpack (more than a megabyte packed)
  -j, --json               one JSON document (docs/formats/dump.schema.json)
      --color WHEN         auto (on a terminal), always or never

How managed frames are found:
      --provider WHICH     cdac: by the runtime's own description (.NET 10);
                           dac: by its debugging library, libmscordaccore.so,
                           in mixstack-helper, a program without privileges;
                           auto (default): cdac, dac where that is not enough
      --dac FILE           the debugging library, of exactly this runtime; else
                           the one beside the process's libcoreclr.so

Where names of native code and source lines come from, beside the files
themselves and /usr/lib/debug (docs/symbols.md):
      --symbol-path PATH   folders and http(s) URLs of symbol servers with ;
                           between them; else MIXSTACK_SYMBOL_PATH. Servers of
                           DEBUGINFOD_URLS are asked, too. Without a URL the
                           network is not used

Limits:
      --no-stop            stop nothing: threads that wait are looked at while
                           they wait, threads that run are left out. Needs
                           Linux 5.18 and root, or CAP_BPF and CAP_PERFMON
      --max-frames N       at most N frames a thread (65536)
      --frame-budget N     about N frames of all threads together (2097152)
      --stop-timeout TIME  the threads that stop within this time (20ms) are
                           seen at one instant, and then run on
      --wait TIME          wait so long (2s) for the next of the others, which
                           are marked "late by N ms"; at most 5 times as long.
                           Threads that get no processor even then are looked
                           at without a stop, with the rights of --no-stop

Marks before a name:
  M managed   N native   S runtime stub   F explicit Frame of the runtime
  ! signal handler's return   ? code nobody describes
A frame that is not certain says so behind its name; a stack whose end was not
reached says why.

Exit codes:
  0  everything was printed        5  another tracer (gdb, strace) is attached
  1  fault of mixstack or system   6  kernel thread, zombie, 32-bit, other CPU
  2  wrong command line            7  partial: printed, something is missing
  3  no such process or file       8  the process exited or changed meanwhile
  4  not permitted                 9  the report could not be written
                                  10  no memory, no files left, foreign /proc
                                  11  why: something is stuck
                                  12  why: the same, but it may time out

You need to be allowed to trace the process: as root, with CAP_SYS_PTRACE, or
as the same user where kernel.yama.ptrace_scope is 0.
)";

constexpr std::string_view kPsHelp = R"(List the .NET processes of this machine, without stopping any.

Usage: mixstack ps [OPTIONS]

  -n, --name NAME   only those called NAME: the kernel's name, the executable or
                    the assembly that is run
  -w, --wide        on a terminal: command lines in full
  -q, --quick       pids and commands alone, at once
  -j, --json        one JSON document

HOSTING   framework: the runtime is the machine's; self-contained: beside the
          program; single-file: inside it; native-aot: compiled, no JIT
CONTAINER the container's id, as docker, containerd and Kubernetes write it
CPU       of one processor, over 0.2 s
Exit codes: as of 'mixstack dump'; 3: nothing is called NAME.
)";

constexpr std::string_view kDoctorHelp =
    R"(Say what would stop a dump, a recording or a capture without a stop here, and
what to type about it. Nothing is stopped or changed; what can be tried is
tried on children of mixstack's own.

Usage: mixstack doctor [PID] [OPTIONS]

  PID               look at this process, too
  -j, --json        one JSON document

Exit codes: 0: a dump works; else that of the dump (4: not permitted, ...).
)";

constexpr std::string_view kSymbolsHelp =
    R"(Which modules have symbols (names of native functions, source lines of managed
code), what the others need, and where that usually is.

Usage: mixstack symbols status PID|FILE.mxr|--core FILE [OPTIONS]
       mixstack symbols fetch PID|FILE.mxr|--core FILE [OPTIONS]

  status                   tell; nothing is fetched
  fetch                    ask servers for what is missing. It is kept in
                           ~/.cache/mixstack/symbols, where 'mixstack dump'
                           finds it

  -p, --pid PID            the process (the same as PID)
  -c, --core FILE          a core
      --sysroot DIR        where its files are, as for 'mixstack dump'
      --exe FILE           the program it is of, the same
      --only-sysroot       not the files of this machine
      --symbol-path PATH   folders and http(s) URLs with ; between them; else
                           MIXSTACK_SYMBOL_PATH. 'fetch' asks the servers of
                           DEBUGINFOD_URLS, too, and where there is no server
                           at all, https://msdl.microsoft.com/download/symbols
  -a, --all                all modules, not only those that stacks run through
  -j, --json               one JSON document
      --timeout TIME       fetch: for all files together (600s)

The process is stopped for about a millisecond, as by 'mixstack dump'. Of a raw
recording (FILE.mxr, of 'mixstack record') all native modules are told.
Exit codes: as of 'mixstack dump'; 7: fetch, and something is still missing, or
a server failed.
)";

constexpr std::string_view kPackHelp =
    R"(Put into one file what a dump of a process or core needs, and no more: stacks,
what walking and naming them reads of memory, and the files that stacks run
through. 'mixstack dump --core FILE' reads it on any machine. The process is
stopped as long as for a dump.

Usage: mixstack pack PID -o FILE [OPTIONS]
       mixstack pack CORE -o FILE [OPTIONS]

  -o, --out FILE           the pack; - for standard output
  -f, --force              replace a file that is there
      --full               all private memory of the process, for debuggers that
                           look at objects; all that a core holds
      --with-environment   its environment, which is left out otherwise, in
                           memory, too
      --with-command-line  its command line, the same
  -c, --core FILE          the core (the same as CORE), - for a pipe
      --sysroot DIR        where a core's files are, as in 'mixstack dump'
      --exe FILE           the program it is of, the same
      --only-sysroot       not the files of this machine

A pack is a tar archive, compressed by zstd: manifest.json, core, and sysroot/
with the files: tar -I zstd -xf FILE. docs/pack.md tells what can be in it that
is not meant for others.
Exit codes: as of 'mixstack dump'; 7: written, but it does not tell the same as
the process now; 9: could not be written.
)";

constexpr std::string_view kWhyHelp =
    R"(Say why a process is stuck or slow: deadlocks, locks that hold many threads
up, threads that keep a garbage collection from beginning; collections,
exceptions, compiling, memory that grows, a crowded machine, each with its
numbers and its place in the program; then what each thread waits for and who
holds it. Read from outside, from the runtime's own records and from objects
that prove each other; the process is stopped as long as for a dump.

Usage: mixstack why PID [OPTIONS]
       mixstack why CORE [OPTIONS]

  -n, --name NAME      the .NET process called so
  -c, --core FILE      a core or pack (the same as CORE)
      --sysroot DIR    where a core's files are, as in 'mixstack dump'
      --exe FILE       the program it is of, the same
      --only-sysroot   not the files of this machine
  -j, --json           all of it as JSON: docs/formats/why.schema.json
      --dot            the graph of threads and objects, for Graphviz:
                       mixstack why 4711 --dot | dot -Tsvg > why.svg
      --data           the user's own data, too, cut: variables of async
                       methods, paths of requests, text of database commands
      --heap           all async methods, found by a search of the heap: the
                       process stands still for it, some 0.5 s for each GB
      --heap-limit SIZE  not if there is more to search (2G); 512M, 8G
  -o, --out FILE       into a file, by the end of its name: .html (a page with
                       the picture of the graph), .txt, .json, .dot
      --sample TIME    if nothing is stuck, say what runs and what makes it
                       slow, sampled so long (1s, if it runs); 0: do not
      --watch TIME     the answer again, each 10 (seconds), 10s, 5m, with what
                       has not moved since

Exit codes: 0 nothing is stuck, be it slow or not; 11 something is; 12 it is,
but ends by a time-out of its own; 7 nothing can be told (.NET before 10, no
.NET, a core without its heap); else as of 'mixstack dump'.
)";

constexpr std::string_view kRecordHelp =
    R"(Sample the stacks of a process over a time, native and managed frames in their
true order, and write what was seen as a flame graph or another format. Nothing
has to be prepared, and nothing in the process is changed. Where the kernel
allows it no thread is stopped: threads that run are seen by perf events.

Usage: mixstack record -p PID [-d TIME] [-o FILE] [OPTIONS]
       mixstack record -n NAME [OPTIONS]
       mixstack record [OPTIONS] -- PROGRAM [ARGUMENTS]

What is sampled:
  -p, --pid PID         a process; again, or with commas, for several
  -n, --name NAME       all .NET processes that are called so
  -s, --subprocesses    processes that they start, too
  -m, --mode MODE       wall: all threads, also those that wait; cpu: threads
                        that run, by their processor time; auto (as wall)
  -r, -F, --rate N      samples a second of each thread, 1 to 20000 (wall: 100,
                        cpu: 999); by stops at most 100
  -d, --duration TIME   10 or 10s, 500ms, 5m, 1h; without it until Ctrl-C or
                        the end of the process
      --kernel          where in the kernel threads are, too
      --no-stop         stop no thread, even if threads that wait cannot be
                        seen then
      --max-pause SHARE of its time for which a thread may be stopped (1%);
                        where that does not suffice, stops are left out
      --async           async methods that await what a thread runs as its
                        outermost frames, marked {awaits}
      --no-names        native code without names, which cost no time then:
                        'mixstack convert FILE.mxr' finds them later

What is written:
  -o, --out FILE        its end tells the format: .html, .svg, .folded,
                        .speedscope.json, .pb.gz (pprof), .profile.json.gz
                        (Firefox), .trace.json (Chrome), .txt, .mxr (raw, for
                        'mixstack convert'); -: standard output. Without it
                        mixstack-NAME-PID-TIME.html
  -f, --format FORMAT   html, svg, folded, speedscope, pprof, firefox, chrome,
                        text, raw: whatever the file is called
      --rotate TIME     a file for each 10m or 1h, numbered: for days of it
  -t, --threads         stacks begin with their thread
  -i, --idle            threads that wait are counted, too (html holds them
                        in any case, and begins without them; raw does)
      --state STATES    only running, runnable, waiting, blocked, unknown, or
                        gc (while the runtime stopped its threads): some of
                        them with commas; raw holds all
      --managed-only    without native frames
  -I, --include TEXT    only stacks with a function whose name holds TEXT, or
                        that it matches as a whole, if it has * (any letters)
                        or ? (one); again for more
  -X, --exclude TEXT    no stacks with such a function
      --serve           meanwhile, and until Ctrl-C, the page at an address of
                        this machine that is printed
      --port N          of that address; else one that is free
      --stats           how long threads were held, and what recording cost
  -q, --quiet           no progress, no summary

Where it is sent, while it goes on (docs/push.md; a file only with -o, too):
      --push URL        http://HOST:4040: Pyroscope; otlp+http://HOST:4318:
                        OpenTelemetry's profiles; with https, too
      --push-interval TIME
                        how often: 10s, or 1s to 1h
      --push-name NAME  of the application; else the command's name
      --push-label NAME=VALUE
                        something to find it by; again for more
      --push-header-file FILE
                        lines like 'X-Scope-OrgID: team'; a token also by the
                        environment variable MIXSTACK_PUSH_TOKEN
      --push-spool DIR  where profiles wait while the server is not there; else
                        ~/.cache/mixstack/push

Exit codes: as of 'mixstack dump'; 4: nothing is allowed that could show a
stack; 8: written, but the process ended before the time was over; 9: could
not be written, or was dropped by --push. docs/record.md tells more.
)";

constexpr std::string_view kTopHelp =
    R"(Show where a process spends its time while it runs, by functions or by threads:
samples as of 'mixstack record', looked at every second. Nothing has to be
prepared, and nothing in the process is changed.

Usage: mixstack top PID [OPTIONS]
       mixstack top -n NAME [OPTIONS]

What is sampled:
  -p, --pid PID         the process (the same as PID without the option)
  -n, --name NAME       the .NET process that is called so
  -m, --mode MODE       wall: all threads, also those that wait; cpu: threads
                        that run, by their processor time; auto (as wall)
  -r, -F, --rate N      samples a second of each thread, 1 to 20000 (wall: 100,
                        cpu: 999); by stops at most 100
  -d, --duration TIME   10 or 10s, 500ms, 5m, 1h; without it until q, Ctrl-C or
                        the end of the process
      --kernel          where in the kernel threads are, too
      --no-stop         stop no thread, even if threads that wait cannot be
                        seen then
      --max-pause SHARE of its time for which a thread may be stopped (1%);
                        where that does not suffice, stops are left out

What is shown:
      --interval TIME   how often it changes: 1, 500ms, 10s
      --whole           shares of the whole run, not of the last interval
      --async           async methods that await what a thread runs are its
                        outermost frames
  -t, --threads         threads, not functions
  -i, --idle            threads that wait are counted, too
      --managed-only    without native frames
  -I, --include TEXT    only stacks with a function whose name holds TEXT, or
                        that it matches as a whole, if it has * (any letters)
                        or ? (one); again for more
  -X, --exclude TEXT    no stacks with such a function

Without a terminal a table each interval, as text:
      --count N         so many tables
      --rows N          rows of each (20)

Keys:
  up down PgUp PgDn     choose a row; Home and End the first and the last
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
  h ? q                 help, quit

Exit codes: as of 'mixstack record'; 8: the process ended before the time was
over. docs/top.md tells what the numbers mean.
)";

constexpr std::string_view kConvertHelp =
    R"(Show a recording as a flame graph, a table, or in the format of another tool.

Usage: mixstack convert FILE [-o FILE] [OPTIONS]

FILE is a raw recording ('mixstack record -o FILE.mxr'), or folded stacks of
any profiler: lines "outermost;...;innermost count". - is standard input.

What is written:
  -o, --out FILE        its end tells the format: .html, .svg, .folded,
                        .speedscope.json, .pb.gz (pprof), .profile.json.gz
                        (Firefox), .trace.json (Chrome), .txt, .mxr (raw).
                        Without it text, on standard output
  -f, --format FORMAT   html, svg, folded, speedscope, pprof, firefox, chrome,
                        text, raw: whatever the file is called
  -q, --quiet           no remarks, only what went wrong

Names that the recording lacks:
      --symbol-path PATH
                        folders and http(s) URLs with ; between them; else
                        MIXSTACK_SYMBOL_PATH. Native code gets names, lines and
                        inlined functions of the files with its build ids, also
                        of those of this machine. With -o FILE.mxr they are kept

What is shown (raw recordings are written whole):
  -t, --threads         stacks begin with their thread
  -i, --idle            threads that wait are counted, too
      --state STATES    only running, runnable, waiting, blocked, unknown, or
                        gc (while the runtime stopped its threads): some of
                        them with commas
      --clock CLOCK     cpu, wall; auto: processor time, where that was sampled
                        and no waiting is asked for
      --managed-only    without native frames
      --no-kernel       without frames of the kernel
  -I, --include TEXT    only stacks with a function whose name holds TEXT, or
                        that it matches as a whole, if it has * (any letters)
                        or ? (one); again for more
  -X, --exclude TEXT    no stacks with such a function
      --inverted        from the functions that ran to their callers

Exit codes: 3 no such file, 4 it may not be read, 6 it is no recording; 7
written, but the recording was cut, or symbols were refused; 9 could not be
written.
)";

constexpr std::string_view kDiffHelp =
    R"(Say which functions took more of the time, and which less, in one of two
recordings.

Usage: mixstack diff FILE FILE [-o FILE] [OPTIONS]

The first is what it was before, the second after; each as in 'mixstack
convert'. Shares are compared, so they need not be of the same length.

What is written:
  -o, --out FILE        its end tells the format: .txt, .html (a flame graph in
                        colours of change), .folded (lines "stack BEFORE AFTER"
                        for flamegraph.pl). Without it text, on standard output
  -f, --format FORMAT   text, html, folded: whatever the file is called
  -q, --quiet           no remarks, only what went wrong

What is compared:
  -t, --threads         stacks begin with their thread
  -i, --idle            threads that wait are counted, too
      --state STATES    as in 'mixstack convert'
      --clock CLOCK     auto, cpu or wall
      --managed-only    without native frames
      --no-kernel       without frames of the kernel
  -I, --include TEXT    only stacks with a function whose name holds TEXT, or
                        that it matches as a whole, if it has * or ?
  -X, --exclude TEXT    no stacks with such a function
      --inverted        from the functions that ran to their callers

Exit codes: as of 'mixstack convert'.
)";

constexpr std::string_view kViewHelp =
    R"(Show a recording in the browser: flame graph, callers, table of functions and
timeline, to search and to zoom.

Usage: mixstack view FILE [OPTIONS]

FILE is a recording as in 'mixstack convert'. The address of the page is
printed. It is served on 127.0.0.1 alone, to whoever has the address: it holds
a random token. When FILE is written anew, the page shows the new one. Ctrl-C
ends it. The same page as a file: 'mixstack convert FILE -o FILE.html'.

Options:
      --port N          the port; without it one that is free

Exit codes: as of 'mixstack convert'; 9: the port cannot be had.
)";

constexpr std::string_view kAgentHelp = R"(Sample a running .NET process from inside: its runtime is asked to load
libmixstack_agent.so, which walks native and managed frames in signal handlers.
Unlike dump this changes the process: the library stays in it until it ends.

Usage: mixstack agent record PID [OPTIONS]
       mixstack agent attach PID [OPTIONS]
       mixstack agent status PID [--json]
       mixstack agent stop PID

What to do:
  record   sample for a time, and write what was seen; has the agent loaded
           where it is not, and leaves it silent afterwards
  attach   have it loaded; with --out it samples, and the process writes the
           file at its end or at 'stop'. One that was stopped starts again
  status   what it does, what was sampled, cut and lost, and what that takes
  stop     it falls silent: no timers, no memory for code and samples. What
           stays loaded is said

What is sampled (record, attach):
      --hz N            each thread, N times a second of its CPU time (100,
                        where nothing else is said; at most 10000)
      --wall N          N times a second of wall time, threads that wait, too
                        (at most 1000); calls they wait in may return EINTR
      --wall-threads N  of so many threads a tick, in turn (16)
      --native-only     walks end where managed code begins

What is written:
  -o, --out FILE        record: by mixstack (standard output); attach: by the
                        process, with its rights, as it sees the path
      --format FORMAT   collapsed (for flame graphs) or json
                        (docs/formats/profile.schema.json)
  -d, --duration TIME   record: 10, 10s, 500ms; without it until Ctrl-C
  -j, --json            status: as JSON

How it gets there (record, attach):
      --library FILE    the agent, as the process sees the path; else the one
                        beside mixstack or in ../lib. Only root and the
                        process's user may be able to write it
      --timeout TIME    for the runtime to load it (10s)

At the start of a process instead, by environment:
  CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER={ANY-GUID}
  CORECLR_PROFILER_PATH=/path/libmixstack_agent.so MIXSTACK_AGENT_HZ=100
  MIXSTACK_AGENT_OUT=stacks.txt; MIXSTACK_DEBUG=1: it says what it does

You need to be the process's user or root. Exit codes: as of 'mixstack dump';
6: no diagnostics socket, no agent, or the runtime refuses; 7: the recording
ended early. docs/agent.md tells what it promises and what it costs.
)";

constexpr std::string_view kCompletionsHelp =
    R"(Print what completes command lines of mixstack in a shell, or its manual page.
Packages and 'make install' put them where shells and man look.

Usage: mixstack completions SHELL

  bash   source <(mixstack completions bash)
  zsh    mixstack completions zsh > ~/.zfunc/_mixstack (a folder of $fpath)
  fish   mixstack completions fish > ~/.config/fish/completions/mixstack.fish
  man    mixstack completions man | man -l -
)";

}  // namespace

std::string_view main_help() { return kMainHelp; }
std::string_view dump_help() { return kDumpHelp; }
std::string_view agent_help() { return kAgentHelp; }
std::string_view ps_help() { return kPsHelp; }
std::string_view doctor_help() { return kDoctorHelp; }
std::string_view completions_help() { return kCompletionsHelp; }
std::string_view symbols_help() { return kSymbolsHelp; }
std::string_view pack_help() { return kPackHelp; }
std::string_view record_help() { return kRecordHelp; }
std::string_view top_help() { return kTopHelp; }
std::string_view convert_help() { return kConvertHelp; }
std::string_view diff_help() { return kDiffHelp; }
std::string_view view_help() { return kViewHelp; }
std::string_view why_help() { return kWhyHelp; }

}  // namespace mixstack::cli
