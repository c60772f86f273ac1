using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;

namespace Mixstack;

/// <summary>mixstack.h. Texts are pointers: they belong to the dump.</summary>
internal static unsafe partial class Native
{
    private const string Library = "mixstack";

    /// <summary>MIXSTACK_BY_HELPER: a child process captures us.</summary>
    public const int ByHelper = 2;

    public struct Error
    {
        public nuint Size;
        public int Code, OsError;
        public ulong Value;

        public static Error Empty => new() { Size = (nuint)Unsafe.SizeOf<Error>() };
    }

    public struct CoreOptions
    {
        public nuint Size;
        public nint Sysroots;
        public nuint SysrootCount;
        public nint Executable;
        public int OnlySysroot, Reserved;
    }

    public struct SelfOptions
    {
        public nuint Size;
        public int OtherThreads, Signal;
        public uint HelperTimeoutMs;
        public int Reserved;
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

    public struct WhyOptions
    {
        public nuint Size;
        public uint SampleMs;
        public int NoSamples, Data, Reserved;
    }

    public struct RecordOptions
    {
        public nuint Size;
        public uint DurationMs, Hertz;
        public int Mode, NoStop, Kernel, AsyncCallers;
        public uint PieceMs;
        public int Reserved;
        public delegate* unmanaged<nint, RecordProgress*, int> Progress;
        public nint Piece, Context;
    }

#pragma warning disable CS0649 // the library writes it
    public struct RecordProgress
    {
        public nuint Size;
        public ulong ElapsedNs, Samples, Lost;
        public int Step, Reserved;
    }
#pragma warning restore CS0649

    public struct Function
    {
        public nuint Size;
        public nint Name, RawName, Module;
        public ulong SelfNs, TotalNs;
        public int Kind, IsUser;
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

    [LibraryImport(Library, EntryPoint = "mixstack_version")]
    public static partial uint Version();
    [LibraryImport(Library, EntryPoint = "mixstack_open_process")]
    public static partial nint OpenProcess(uint pid, ref Error error);
    [LibraryImport(Library, EntryPoint = "mixstack_open_self")]
    public static partial nint OpenSelf(ref SelfOptions options, ref Error error);
    [LibraryImport(Library, EntryPoint = "mixstack_open_core", StringMarshalling = StringMarshalling.Utf8)]
    public static partial nint OpenCore(string path, ref CoreOptions options, ref Error error);
    [LibraryImport(Library, EntryPoint = "mixstack_close")]
    public static partial void Close(nint session);
    [LibraryImport(Library, EntryPoint = "mixstack_take_dump")]
    public static partial nint TakeDump(nint session, ref Options options, ref Error error);
    [LibraryImport(Library, EntryPoint = "mixstack_why")]
    public static partial nint Why(nint session, ref WhyOptions options, ref Error error);
    [LibraryImport(Library, EntryPoint = "mixstack_free_answer")]
    public static partial void FreeAnswer(nint answer);
    [LibraryImport(Library, EntryPoint = "mixstack_answer_verdict")]
    public static partial int AnswerVerdict(nint answer);
    [LibraryImport(Library, EntryPoint = "mixstack_answer_json")]
    public static partial nint AnswerJson(nint answer);
    [LibraryImport(Library, EntryPoint = "mixstack_answer_text")]
    public static partial nint AnswerText(nint answer);
    [LibraryImport(Library, EntryPoint = "mixstack_record")]
    public static partial nint Record(nint session, ref RecordOptions options, ref Error error);
    [LibraryImport(Library, EntryPoint = "mixstack_free_recording")]
    public static partial void FreeRecording(nint recording);
    [LibraryImport(Library, EntryPoint = "mixstack_recording_samples")]
    public static partial ulong RecordingSamples(nint recording);
    [LibraryImport(Library, EntryPoint = "mixstack_function_count")]
    public static partial nuint FunctionCount(nint recording);
    [LibraryImport(Library, EntryPoint = "mixstack_get_function")]
    public static partial int GetFunction(nint recording, nuint function, ref Function result);
    [LibraryImport(Library, EntryPoint = "mixstack_recording_file", StringMarshalling = StringMarshalling.Utf8)]
    public static partial nint RecordingFile(nint recording, string format, out nuint size);
    [LibraryImport(Library, EntryPoint = "mixstack_free_dump")]
    public static partial void FreeDump(nint dump);
    [LibraryImport(Library, EntryPoint = "mixstack_thread_count")]
    public static partial nuint ThreadCount(nint dump);
    [LibraryImport(Library, EntryPoint = "mixstack_get_thread")]
    public static partial int GetThread(nint dump, nuint thread, ref Thread result);
    [LibraryImport(Library, EntryPoint = "mixstack_get_frame")]
    public static partial int GetFrame(nint dump, nuint thread, nuint frame, ref Frame result);
    [LibraryImport(Library, EntryPoint = "mixstack_text")]
    public static partial nint DumpText(nint dump);
    [LibraryImport(Library, EntryPoint = "mixstack_json")]
    public static partial nint Json(nint dump);
    [LibraryImport(Library, EntryPoint = "mixstack_error_name")]
    public static partial nint ErrorName(int code);
    [LibraryImport(Library, EntryPoint = "mixstack_describe_error")]
    private static partial nuint DescribeError(ref Error error, byte* text, nuint capacity);
    [LibraryImport(Library, EntryPoint = "mixstack_frame_text")]
    private static partial nuint FrameText(nint dump, nuint thread, nuint frame, byte* text, nuint capacity);

    public static string Text(nint text) => Marshal.PtrToStringUTF8(text) ?? "";

    public static string Describe(ref Error error)
    {
        byte[] buffer = new byte[1024];
        fixed (byte* text = buffer)
        {
            nuint length = DescribeError(ref error, text, (nuint)buffer.Length);
            return Encoding.UTF8.GetString(buffer, 0, (int)nuint.Min(length, (nuint)buffer.Length - 1));
        }
    }

    public static string FrameText(nint dump, nuint thread, nuint frame)
    {
        const int usual = 512;
        byte* small = stackalloc byte[usual];
        int length = (int)FrameText(dump, thread, frame, small, usual);
        if (length < usual) return Encoding.UTF8.GetString(small, length);
        byte[] buffer = new byte[length + 1];
        fixed (byte* text = buffer) _ = FrameText(dump, thread, frame, text, (nuint)buffer.Length);
        return Encoding.UTF8.GetString(buffer, 0, length);
    }
}
