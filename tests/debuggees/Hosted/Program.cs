// What every hosting must show alike: a thread blocked below static, generic, virtual and lambda code, and one that
// spins.
using System.Runtime.CompilerServices;

namespace Hosted;

internal static class Program
{
    private static void Main(string[] arguments)
    {
        new Thread(() =>
        {
            Nest.Outer("a", 1);
            GC.KeepAlive(arguments);  // no call at the end: precompiled code would leave the frame for it
        }) { IsBackground = true, Name = "nest" }.Start();
        new Thread(Spin) { IsBackground = true, Name = "spin" }.Start();
        while (Volatile.Read(ref Nest.InPlace) < 2)
        {
            Thread.Yield();
        }
        Thread.Sleep(50);
        Console.WriteLine($"READY {Environment.ProcessId}");
        Console.ReadLine();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Spin()
    {
        Interlocked.Increment(ref Nest.InPlace);
        for (ulong x = 1; x != 0; x = x * 3 | 1)
        {
        }
    }
}

internal static class Nest
{
    public static int InPlace;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Outer(string text, int number)
    {
        Middle(number);
        GC.KeepAlive(text);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Middle<T>(T value)
    {
        Shape shape = new Square();
        shape.Draw(new[] { 1, 2 });
        GC.KeepAlive(value);
    }
}

internal abstract class Shape
{
    public abstract void Draw(int[] points);
}

internal sealed class Square : Shape
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public override void Draw(int[] points)
    {
        Holder<int>.Hold(points.Length, points);
        GC.KeepAlive(points);
    }
}

internal static class Holder<T>
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Hold(T value, T[] values)
    {
        Interlocked.Increment(ref Nest.InPlace);
        Thread.Sleep(Timeout.Infinite);
        GC.KeepAlive(values);
    }
}
