#include "cli/help.h"

namespace mixstack::cli {

std::string_view main_help() {
  return R"(mixstack: the native and managed stacks of a .NET process, from outside: of a
running one, or of the core file a crashed one left

Usage: mixstack COMMAND [OPTIONS]

Commands:
  dump PID          print the stack of every thread of a process
  dump --core FILE  the same of a core file, of this machine or another CPU
  agent VERB PID    sample a .NET process from inside: attach, status, stop,
                    record; 'mixstack agent --help'

Options:
  -h, --help        this text; 'mixstack dump --help' tells the options of dump
  -V, --version     the version

Start here:
  mixstack dump 4711           all threads, all frames
  mixstack dump 4711 --merge   threads with the same stack shown once
  mixstack dump --core core.4711 --sysroot /srv/app-files
                               a core from a machine with other files
)";
}

std::string_view dump_help() {
  return R"(Print the stack of every thread of a process, native and managed frames in
their true order. A running process needs no preparation and does not help; it
is stopped for about a millisecond, and nothing in it is changed. A core is
read without its machine, its CPU or a debugging library of its runtime.

Usage: mixstack dump PID [OPTIONS]
       mixstack dump --core FILE [OPTIONS]

Of what:
  -p, --pid PID            the process (the same as PID without the option)
  -c, --core FILE          a core written by the kernel, gdb or createdump;
                           also .zst, .gz, .lz4 and .xz, - for a pipe, a FIFO
      --core-of PID|NAME   the newest core that systemd-coredump keeps of it
      --sysroot DIR        for cores: files of the machine it comes from, as
                           DIR/usr/lib/libc.so.6 or DIR/libc.so.6; may be given
                           several times. Files must match those of the core
      --exe FILE           for cores: the program's own file
      --only-sysroot       for cores: never look at this machine's own files

Which threads:
  -t, --thread TID...      only these threads: -t 12 13, -t 12,13, -t 12 -t 13
                           (also --threads)

What is shown:
  -m, --merge              threads with the same stack once, with their number
      --managed-only       managed frames only
      --frames             the runtime's explicit Frames, too, where they lie
      --registers          the registers known in each frame
      --explain            for each frame: who found it, by which evidence,
                           and who else was asked and declined
      --raw-names          names as metadata and symbol tables have them
      --no-fold            every frame of a long recursion, not one round
  -j, --json               one JSON document (docs/formats/dump.schema.json)
      --color WHEN         auto (on a terminal), always or never

How managed frames are found:
      --provider WHICH     cdac: by the runtime's own description (.NET 10);
                           dac: by its debugging library, libmscordaccore.so,
                           in mixstack-helper, a program without privileges;
                           auto (default): cdac, dac where that is not enough
      --dac FILE           the debugging library, of exactly this runtime; else
                           the one beside the process's libcoreclr.so

Limits:
      --max-frames N       at most N frames a thread (65536)
      --frame-budget N     about N frames of all threads together (2097152)
      --stop-timeout TIME  the threads that stop within this time (20ms) are
                           seen at one instant, and then run on
      --wait TIME          wait so long (2s) for the next of the others, which
                           are marked "late by N ms"; at most 5 times as long

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
                                  10  too little memory, too few files, no /proc

You need to be allowed to trace the process: as root, with CAP_SYS_PTRACE, or
as the same user where kernel.yama.ptrace_scope is 0.
)";
}

std::string_view agent_help() {
  return R"(Sample a running .NET process from inside: its runtime is asked to load
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
}

}  // namespace mixstack::cli
