using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

// What the runtime runs before Main, where DOTNET_STARTUP_HOOKS names this assembly.
internal static class StartupHook
{
    public static void Initialize()
    {
        Console.WriteLine($"READY {Environment.ProcessId}");
        Thread.Sleep(Timeout.Infinite);
    }
}

namespace Scenarios
{
    // Waits for other processes, for locks that many want, and for a pool that cannot grow fast enough.
    internal static partial class Waits
    {
        [DllImport("libc", EntryPoint = "open")] private static extern int OpenFile(string path, int flags, int mode);
        [DllImport("libc", EntryPoint = "flock")] private static extern int LockFile(int file, int operation);

        private static Process Child(string program, bool redirects, params string[] arguments)
        {
            ProcessStartInfo how = new(program, arguments) { RedirectStandardOutput = redirects, RedirectStandardInput = true };
            Process child = Process.Start(how)!;
            Console.WriteLine($"TRUTH parent child_process {child.Id} -");
            return child;
        }

        private static string LockPath() => Path.Combine(Path.GetTempPath(), $"mixstack-lock-{Environment.ProcessId}");

        // A child wants the file lock that its parent holds, and the parent waits for the child's end.
        [Scenario("file_lock_cycle")]
        private static void FileLockCycle()
        {
            _ = LockFile(OpenFile(LockPath(), 0x42 /* O_RDWR | O_CREAT */ | 0x80000 /* O_CLOEXEC */, 0x180), 2);
            Process child = Child("flock", false, LockPath(), "true");
            Scene.Actor("parent", () => { Scene.InPlace(); child.WaitForExit(); });
            Thread.Sleep(500);
            File.Delete(LockPath());
        }

        // A child holds the file lock that its parent wants, and sleeps.
        [Scenario("file_lock_held")]
        private static void FileLockHeld()
        {
            int file = OpenFile(LockPath(), 0x42 | 0x80000, 0x180);
            Process child = Child("flock", false, "--no-fork", LockPath(), "sleep", "600");
            Thread.Sleep(500);
            Scene.Actor("parent", () => { Scene.InPlace(); _ = LockFile(file, 2); });
            Thread.Sleep(300);
            File.Delete(LockPath());
            GC.KeepAlive(child);
        }

        // A child fills a pipe that nobody reads, and the parent waits for its end.
        [Scenario("full_pipe")]
        private static void FullPipe()
        {
            Process child = Child("cat", true, "/dev/zero");
            Scene.Actor("parent", () => { Scene.InPlace(); child.WaitForExit(); });
            Thread.Sleep(500);
        }

        // A child that waits for questions, one thread for its answers, one for its end: nothing is wrong.
        [Scenario("coprocess")]
        private static void Coprocess()
        {
            Process child = Child("cat", true);
            Scene.Actor("parent", () => { Scene.InPlace(); child.WaitForExit(); });
            Scene.Actor("reader", () => { Scene.InPlace(); _ = child.StandardOutput.ReadLine(); });
            Thread.Sleep(500);
        }

        // A child that somebody has stopped.
        [Scenario("stopped_child")]
        private static void StoppedChild()
        {
            Process child = Child("cat", false);
            Process.Start("kill", ["-STOP", child.Id.ToString()]).WaitForExit();
            Scene.Actor("parent", () => { Scene.InPlace(); child.WaitForExit(); });
            Thread.Sleep(300);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Book(object gate)
        {
            lock (gate)
            {
                Thread.Sleep(80);
            }
        }

        // A lock that six threads want all the time, each of which gets it now and then.
        [Scenario("contended")]
        private static void Contended()
        {
            object gate = new();
            for (int i = 0; i < 6; i++)
            {
                Scene.Actor($"booker{i}", () =>
                {
                    Scene.InPlace();
                    while (true)
                    {
                        Book(gate);
                    }
                });
            }
            Thread.Sleep(300);
        }
    }
}
