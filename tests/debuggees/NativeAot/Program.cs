// A program without a JIT: compiled ahead of time, its runtime inside.
using System.Runtime.CompilerServices;

new Thread(() => Sleeper.Sleep(5)) { IsBackground = true, Name = "aot-sleeper" }.Start();
while (!Sleeper.Sleeps)
{
    Thread.Yield();
}
Console.WriteLine($"READY {Environment.ProcessId}");
Console.ReadLine();

internal static class Sleeper
{
    public static volatile bool Sleeps;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Sleep(int n)
    {
        if (n > 0)
        {
            Sleep(n - 1);
            GC.KeepAlive(n);
            return;
        }
        Sleeps = true;
        Thread.Sleep(Timeout.Infinite);
    }
}
