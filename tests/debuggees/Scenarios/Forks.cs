using System.Diagnostics;

namespace Scenarios;

/// <summary>Children made all the time: by fork alone, and with another program.</summary>
internal static class Forks
{
    private static long s_forked;
    private static long s_started;
    private static long s_failed;

    public static string Progress =>
        $"{Volatile.Read(ref s_forked)} {Volatile.Read(ref s_started)} {Volatile.Read(ref s_failed)}";

    [Scenario("forks")]
    private static void Run()
    {
        Scene.Actor("forker", () => Again(() => Native.ForkChild() == 0, ref s_forked));
        Scene.Actor("starter", () => Again(Start, ref s_started));
        Scene.Actor("spinner", () =>
        {
            Scene.InPlace();
            Spinning.Forever();
        });
    }

    private static bool Start()
    {
        using Process child = Process.Start(new ProcessStartInfo("/bin/true"))!;
        child.WaitForExit();
        return child.ExitCode == 0;
    }

    private static void Again(Func<bool> work, ref long count)
    {
        Scene.InPlace();
        for (; ; )
        {
            if (!work())
            {
                Interlocked.Increment(ref s_failed);
            }
            Interlocked.Increment(ref count);
        }
    }
}
