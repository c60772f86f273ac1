// Everything precompiled into one composite image: a thread that spins below code of the framework and of the program.
using System.Runtime.CompilerServices;

Thread spinner = new(() => new List<int> { 1 }.ForEach(_ => Program.Spin())) { Name = "spinner", IsBackground = true };
spinner.Start();
while (Program.Turns == 0)
{
    Thread.Sleep(5);
}
Console.WriteLine($"READY {Environment.ProcessId}");
Console.In.ReadLine();

internal partial class Program
{
    public static long Turns;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Spin()
    {
        for (; ; )
        {
            Turns = Turn(Turns);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long Turn(long turns) => turns + 1;
}
