// The C interface by P/Invoke: prints the managed frames of another process.
//   Example PID          MIXSTACK_LIBRARY names the library; default: libmixstack.so.0 as the loader finds it
using System;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

NativeLibrary.SetDllImportResolver(Assembly.GetExecutingAssembly(), (name, assembly, path) =>
    NativeLibrary.Load(Environment.GetEnvironmentVariable("MIXSTACK_LIBRARY") ?? name, assembly, path));

if (args.Length != 1 || !uint.TryParse(args[0], out uint pid))
{
    Console.Error.WriteLine("usage: Example PID");
    return 2;
}
Mixstack.Error error = new() { Size = (nuint)Unsafe.SizeOf<Mixstack.Error>() };
nint session = Mixstack.OpenProcess(pid, ref error);
// On a machine with much to do a thread may need longer than the usual 20 ms to stop.
Mixstack.Options options = new() { Size = (nuint)Unsafe.SizeOf<Mixstack.Options>(), StopTimeoutMs = 5000 };
nint dump = session == 0 ? 0 : Mixstack.TakeDump(session, ref options, ref error);
Mixstack.Close(session);
if (dump == 0)
{
    Console.Error.WriteLine($"{pid}: {Mixstack.Text(Mixstack.ErrorName(error.Code))}");
    return 2;
}
for (nuint i = 0; i < Mixstack.ThreadCount(dump); i++)
{
    Mixstack.Thread thread = new() { Size = (nuint)Unsafe.SizeOf<Mixstack.Thread>() };
    if (Mixstack.GetThread(dump, i, ref thread) != 0 || thread.ManagedId == 0) continue;
    Console.WriteLine($"managed thread {thread.ManagedId} {Mixstack.Text(thread.Name)}");
    for (nuint j = 0; j < thread.FrameCount; j++)
    {
        Mixstack.Frame frame = new() { Size = (nuint)Unsafe.SizeOf<Mixstack.Frame>() };
        if (Mixstack.GetFrame(dump, i, j, ref frame) == 0 && frame.Kind == Mixstack.Managed)
            Console.WriteLine($"  {Mixstack.Text(frame.Name)}");
    }
}
Mixstack.FreeDump(dump);
return 0;

/// <summary>include/mixstack.h. Texts are pointers: they belong to the dump and are never freed by us.</summary>
static partial class Mixstack
{
    private const string Library = "libmixstack.so.0";
    public const int Managed = 1;

    public struct Error
    {
        public nuint Size;
        public int Code, OsError;
        public ulong Value;
    }

    public struct Options
    {
        public nuint Size;
        public nint Threads;
        public nuint ThreadCount;
        public uint MaxFrames, StopTimeoutMs;
        public int ExplicitFrames;
        public uint LateTimeoutMs;
    }

    public struct Thread
    {
        public nuint Size;
        public uint Tid, ManagedId;
        public nint Name, Exception;
        public nuint FrameCount;
        public int Captured, IsComplete;
        public nint StopReason;
    }

    public struct Frame
    {
        public nuint Size;
        public ulong Pc, Sp, Cfa;
        public int Kind, Trust;
        public nint Name, RawName, Module, ModulePath;
        public ulong Offset, Method;
    }

    [LibraryImport(Library, EntryPoint = "mixstack_open_process")]
    public static partial nint OpenProcess(uint pid, ref Error error);
    [LibraryImport(Library, EntryPoint = "mixstack_close")]
    public static partial void Close(nint session);
    [LibraryImport(Library, EntryPoint = "mixstack_take_dump")]
    public static partial nint TakeDump(nint session, ref Options options, ref Error error);
    [LibraryImport(Library, EntryPoint = "mixstack_free_dump")]
    public static partial void FreeDump(nint dump);
    [LibraryImport(Library, EntryPoint = "mixstack_thread_count")]
    public static partial nuint ThreadCount(nint dump);
    [LibraryImport(Library, EntryPoint = "mixstack_get_thread")]
    public static partial int GetThread(nint dump, nuint thread, ref Thread result);
    [LibraryImport(Library, EntryPoint = "mixstack_get_frame")]
    public static partial int GetFrame(nint dump, nuint thread, nuint frame, ref Frame result);
    [LibraryImport(Library, EntryPoint = "mixstack_error_name")]
    public static partial nint ErrorName(int code);

    public static string Text(nint text) => Marshal.PtrToStringUTF8(text) ?? "";
}
