// The C interface by P/Invoke: the managed frames of another process, why it is stuck, and what it did for a second.
//   Example PID          MIXSTACK_LIBRARY names the library; default: libmixstack.so.0 as the loader finds it
using System;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Json;

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
if (dump == 0)
{
    Mixstack.Close(session);
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

// The same session: nothing is opened again.
Mixstack.WhyOptions whyOptions = new() { Size = (nuint)Unsafe.SizeOf<Mixstack.WhyOptions>(), NoSamples = 1 };
nint answer = Mixstack.Why(session, ref whyOptions, ref error);
if (answer != 0)
{
    using JsonDocument why = JsonDocument.Parse(Mixstack.Text(Mixstack.AnswerJson(answer)));
    string kinds = string.Join(", ", why.RootElement.GetProperty("verdicts").EnumerateArray().Select(v => v.GetProperty("kind")));
    Console.WriteLine($"why: {(kinds == "" ? "nothing is stuck" : kinds)} ({Mixstack.AnswerVerdict(answer)})");
    Mixstack.FreeAnswer(answer);
}
Mixstack.RecordOptions recordOptions = new() { Size = (nuint)Unsafe.SizeOf<Mixstack.RecordOptions>(), DurationMs = 1000 };
nint recording = answer == 0 ? 0 : Mixstack.Record(session, ref recordOptions, ref error);
Mixstack.Close(session);
if (recording == 0)
{
    Console.Error.WriteLine($"{pid}: {Mixstack.Text(Mixstack.ErrorName(error.Code))}");
    return 2;
}
Console.WriteLine($"recorded: {Mixstack.RecordingSamples(recording)} samples");
for (nuint i = 0; i < Mixstack.FunctionCount(recording) && i < 5; i++)
{
    Mixstack.Function function = new() { Size = (nuint)Unsafe.SizeOf<Mixstack.Function>() };
    if (Mixstack.GetFunction(recording, i, ref function) == 0)
        Console.WriteLine($"  {function.SelfNs / 1e6,6:F0} ms {Mixstack.Text(function.Name)}");
}
Mixstack.FreeRecording(recording);
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

    public struct WhyOptions
    {
        public nuint Size;
        public uint SampleMs;
        public int NoSamples, Data, Reserved;
        public nint Progress, Context;
    }

    public struct RecordOptions
    {
        public nuint Size;
        public uint DurationMs, Hertz;
        public int Mode, NoStop, Kernel, AsyncCallers;
        public uint PieceMs;
        public int Reserved;
        public nint Progress, Piece, Context;
    }

    public struct Function
    {
        public nuint Size;
        public nint Name, RawName, Module;
        public ulong SelfNs, TotalNs;
        public int Kind, IsUser;
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
    [LibraryImport(Library, EntryPoint = "mixstack_why")]
    public static partial nint Why(nint session, ref WhyOptions options, ref Error error);
    [LibraryImport(Library, EntryPoint = "mixstack_answer_verdict")]
    public static partial int AnswerVerdict(nint answer);
    [LibraryImport(Library, EntryPoint = "mixstack_answer_json")]
    public static partial nint AnswerJson(nint answer);
    [LibraryImport(Library, EntryPoint = "mixstack_free_answer")]
    public static partial void FreeAnswer(nint answer);
    [LibraryImport(Library, EntryPoint = "mixstack_record")]
    public static partial nint Record(nint session, ref RecordOptions options, ref Error error);
    [LibraryImport(Library, EntryPoint = "mixstack_recording_samples")]
    public static partial ulong RecordingSamples(nint recording);
    [LibraryImport(Library, EntryPoint = "mixstack_function_count")]
    public static partial nuint FunctionCount(nint recording);
    [LibraryImport(Library, EntryPoint = "mixstack_get_function")]
    public static partial int GetFunction(nint recording, nuint function, ref Function result);
    [LibraryImport(Library, EntryPoint = "mixstack_free_recording")]
    public static partial void FreeRecording(nint recording);
    [LibraryImport(Library, EntryPoint = "mixstack_error_name")]
    public static partial nint ErrorName(int code);

    public static string Text(nint text) => Marshal.PtrToStringUTF8(text) ?? "";
}
