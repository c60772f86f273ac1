// Becomes the mixstack for this machine's CPU: the same process, with the same arguments, input, output and signals.
using System;
using System.IO;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;

string cpu = RuntimeInformation.ProcessArchitecture switch
{
    Architecture.X64 => "linux-x64",
    Architecture.Arm64 => "linux-arm64",
    _ => "",
};
string program = Path.Combine(AppContext.BaseDirectory, cpu, "mixstack");
if (!OperatingSystem.IsLinux() || cpu == "")
    return Launcher.Fail("it runs on Linux, on x86-64 and ARM64");
if (!File.Exists(program))
    return Launcher.Fail($"this package was built without the program for {cpu}");
string? refused = Launcher.MakeExecutable(Path.GetDirectoryName(program)!);
return Launcher.Become(program, Launcher.RawArguments(args.Length), refused);

static unsafe partial class Launcher
{
    private const int BrokenPipe = 13, FailureOfOurs = 1;

    [LibraryImport("libc", EntryPoint = "execv", SetLastError = true)]
    private static partial int Execute(byte* path, byte** arguments);
    [LibraryImport("libc", EntryPoint = "signal")]
    private static partial nint SetSignal(int signal, nint handler);
    [LibraryImport("libc", EntryPoint = "access", StringMarshalling = StringMarshalling.Utf8)]
    private static partial int Access(string path, int mode);

    public static int Fail(string words)
    {
        Console.Error.WriteLine($"mixstack: {words}");
        return FailureOfOurs;
    }

    /// <summary>Packages do not keep the right to execute. Null: it is there; else why it could not be given.</summary>
    [SupportedOSPlatform("linux")]
    public static string? MakeExecutable(string folder)
    {
        const int mayExecute = 1;
        const UnixFileMode everybodys = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute |
                                        UnixFileMode.GroupRead | UnixFileMode.GroupExecute |
                                        UnixFileMode.OtherRead | UnixFileMode.OtherExecute;
        foreach (string name in new[] { "mixstack", "mixstack-helper" })
        {
            string path = Path.Combine(folder, name);
            if (!File.Exists(path)) continue;
            try
            {
                // Where the package manager gave the right, it did so to its user alone.
                if (File.GetUnixFileMode(path) != everybodys) File.SetUnixFileMode(path, everybodys);
            }
            catch (Exception error) when (error is UnauthorizedAccessException or IOException)
            {
                if (Access(path, mayExecute) == 0) continue;
                return $"{path} cannot be executed, and only its owner can change that: run mixstack once as its owner";
            }
        }
        return null;
    }

    /// <summary>The last arguments of our own command line, byte for byte: they need not be text.</summary>
    public static byte[][] RawArguments(int count)
    {
        byte[] line = File.ReadAllBytes("/proc/self/cmdline");
        var all = new System.Collections.Generic.List<byte[]>();
        int begin = 0;
        for (int i = 0; i < line.Length; i++)
        {
            if (line[i] != 0) continue;
            all.Add(line[begin..(i + 1)]);
            begin = i + 1;
        }
        return all.GetRange(all.Count - count, count).ToArray();
    }

    /// <summary>Comes back only where that fails.</summary>
    public static int Become(string program, byte[][] arguments, string? refused)
    {
        byte*[] pointers = new byte*[arguments.Length + 2];
        pointers[0] = Copy("mixstack\0"u8);
        for (int i = 0; i < arguments.Length; i++) pointers[i + 1] = Copy(arguments[i]);
        nint usual = SetSignal(BrokenPipe, 0); // the runtime ignores it, and what is ignored stays so
        fixed (byte** start = pointers)
        {
            Execute(Copy(System.Text.Encoding.UTF8.GetBytes(program + "\0")), start);
        }
        int error = Marshal.GetLastPInvokeError();
        SetSignal(BrokenPipe, usual);
        return Fail(refused ?? $"{program} cannot be started: {Marshal.GetPInvokeErrorMessage(error)}");
    }

    private static byte* Copy(ReadOnlySpan<byte> bytes)
    {
        byte* copy = (byte*)NativeMemory.Alloc((nuint)bytes.Length);
        bytes.CopyTo(new Span<byte>(copy, bytes.Length));
        return copy;
    }
}
