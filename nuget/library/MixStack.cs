using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Mixstack;

/// <summary>Stacks of processes, of cores and of one's own process. Any number of threads may call.</summary>
public static class MixStack
{
    /// <summary>The version of the native library.</summary>
    /// <exception cref="PlatformNotSupportedException">There is none for this machine.</exception>
    public static Version Version
    {
        get
        {
            uint version = Words(Native.Version);
            return new Version((int)(version >> 16), (int)(version >> 8 & 0xff), (int)(version & 0xff));
        }
    }

    /// <summary>The stacks of another process, which is stopped for about a millisecond. Needs the right to trace it:
    /// root, CAP_SYS_PTRACE, or the same user where kernel.yama.ptrace_scope is 0.</summary>
    /// <exception cref="MixStackException">What stood in the way.</exception>
    public static ProcessDump Dump(int pid, DumpOptions? options = null)
    {
        Native.Error error = Native.Error.Empty;
        uint number = pid > 0 ? (uint)pid : throw new ArgumentOutOfRangeException(nameof(pid), pid, "not a pid");
        nint session = Words(() => Native.OpenProcess(number, ref error));
        return Take(session, options, error, $"process {pid}");
    }

    /// <summary>Why another process is stuck or slow: looks at it as often as it takes, up to some seconds; it runs on
    /// between the looks. Needs the right to trace it.</summary>
    /// <param name="pid">The process.</param>
    /// <param name="sample">How long a process in which nothing is stuck is sampled; null: a second, if it runs; zero: never.</param>
    /// <exception cref="MixStackException">What stood in the way.</exception>
    public static WhyAnswer Why(int pid, TimeSpan? sample = null)
    {
        Native.Error error = Native.Error.Empty;
        uint number = pid > 0 ? (uint)pid : throw new ArgumentOutOfRangeException(nameof(pid), pid, "not a pid");
        nint session = Words(() => Native.OpenProcess(number, ref error));
        if (session == 0) throw new MixStackException($"process {pid}", error);
        Native.WhyOptions options = new()
        {
            Size = (nuint)Unsafe.SizeOf<Native.WhyOptions>(),
            SampleMs = Milliseconds(sample),
            NoSamples = sample == TimeSpan.Zero ? 1 : 0,
        };
        nint answer;
        try
        {
            answer = Native.Why(session, ref options, ref error);
        }
        finally
        {
            Native.Close(session);
        }
        return answer != 0 ? WhyAnswer.Read(answer) : throw new MixStackException($"process {pid}", error);
    }

    /// <summary>What the threads of another process do over a time. Needs the right to trace it; several files are held
    /// open for each thread.</summary>
    /// <param name="pid">The process.</param>
    /// <param name="duration">How long; it ends earlier when the process ends.</param>
    /// <param name="options">What is wanted.</param>
    /// <param name="cancellation">Ends it with what was recorded until then; before the first sample nothing is: "cancelled".</param>
    /// <exception cref="MixStackException">What stood in the way.</exception>
    public static ProcessRecording Record(int pid, TimeSpan duration, RecordOptions? options = null, CancellationToken cancellation = default)
    {
        if (duration <= TimeSpan.Zero) throw new ArgumentOutOfRangeException(nameof(duration), duration, "not a time");
        Native.Error error = Native.Error.Empty;
        uint number = pid > 0 ? (uint)pid : throw new ArgumentOutOfRangeException(nameof(pid), pid, "not a pid");
        nint session = Words(() => Native.OpenProcess(number, ref error));
        if (session == 0) throw new MixStackException($"process {pid}", error);
        RecordOptions wanted = options ?? new RecordOptions();
        Native.RecordOptions native = new()
        {
            Size = (nuint)Unsafe.SizeOf<Native.RecordOptions>(),
            DurationMs = Milliseconds(duration),
            Hertz = checked((uint)wanted.Hertz),
            Mode = (int)wanted.Mode,
            NoStop = wanted.NoStop ? 1 : 0,
            Kernel = wanted.Kernel ? 1 : 0,
            AsyncCallers = wanted.AsyncCallers ? 1 : 0,
        };
        try
        {
            nint recording = new Recorder(wanted.Progress, cancellation).Record(session, native, ref error);
            return recording != 0 ? new ProcessRecording(recording) : throw new MixStackException($"process {pid}", error);
        }
        finally
        {
            Native.Close(session);
        }
    }

    /// <summary>Our own stacks, those of all threads: a child process looks at us. Needs no rights.</summary>
    /// <exception cref="MixStackException">What stood in the way.</exception>
    public static ProcessDump DumpSelf(DumpOptions? options = null)
    {
        Native.Error error = Native.Error.Empty;
        Native.SelfOptions self = new() { Size = (nuint)Unsafe.SizeOf<Native.SelfOptions>(), OtherThreads = Native.ByHelper };
        nint session = Words(() => Native.OpenSelf(ref self, ref error));
        return Take(session, options, error, "our own process");
    }

    /// <summary>The stacks in a core file, plain or compressed, of this machine or another CPU.</summary>
    /// <param name="path">A core of the kernel, of gdb or of createdump.</param>
    /// <param name="sysroot">A folder with the files of the core's machine.</param>
    /// <param name="options">What is wanted.</param>
    /// <exception cref="MixStackException">What stood in the way.</exception>
    public static unsafe ProcessDump DumpCore(string path, string? sysroot = null, DumpOptions? options = null)
    {
        ArgumentException.ThrowIfNullOrEmpty(path);
        nint root = Marshal.StringToCoTaskMemUTF8(sysroot);
        try
        {
            Native.Error error = Native.Error.Empty;
            Native.CoreOptions core = new() { Size = (nuint)Unsafe.SizeOf<Native.CoreOptions>() };
            if (sysroot != null)
            {
                core.Sysroots = (nint)(&root);
                core.SysrootCount = 1;
            }
            nint session;
            try
            {
                session = Native.OpenCore(path, ref core, ref error);
            }
            catch (DllNotFoundException missing)
            {
                throw NoLibrary(missing);
            }
            return Take(session, options, error, path);
        }
        finally
        {
            Marshal.FreeCoTaskMem(root);
        }
    }

    private static unsafe ProcessDump Take(nint session, DumpOptions? options, Native.Error error, string what)
    {
        if (session == 0) throw new MixStackException(what, error);
        DumpOptions wanted = options ?? new DumpOptions();
        uint[] threads = wanted.Threads is null ? [] : [.. wanted.Threads];
        nint dump;
        try
        {
            fixed (uint* ids = threads)
            {
                Native.Options native = new()
                {
                    Size = (nuint)Unsafe.SizeOf<Native.Options>(),
                    Threads = (nint)ids,
                    ThreadCount = (nuint)threads.Length,
                    MaxFrames = checked((uint)wanted.MaxFrames),
                    StopTimeoutMs = Milliseconds(wanted.StopTimeout),
                    LateTimeoutMs = Milliseconds(wanted.LateTimeout),
                    ExplicitFrames = wanted.ExplicitFrames ? 1 : 0,
                };
                dump = Native.TakeDump(session, ref native, ref error);
            }
        }
        finally
        {
            Native.Close(session);
        }
        return dump != 0 ? new ProcessDump(new DumpHandle(dump)) : throw new MixStackException(what, error);
    }

    private static uint Milliseconds(TimeSpan? time) => time is { } some ? checked((uint)Math.Ceiling(some.TotalMilliseconds)) : 0;

    /// <summary>The first call into the library says in words that there is none.</summary>
    private static T Words<T>(Func<T> call)
    {
        try
        {
            return call();
        }
        catch (DllNotFoundException missing)
        {
            throw NoLibrary(missing);
        }
    }

    private static PlatformNotSupportedException NoLibrary(DllNotFoundException missing) =>
        new("Mixstack has libraries for Linux with glibc 2.36 or later, on x86-64 and ARM64: " + missing.Message, missing);
}
