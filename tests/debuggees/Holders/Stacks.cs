using System.Runtime.CompilerServices;

namespace Holders;

/// <summary>What stacks hold: variables, and numbers that look like references.</summary>
internal static class Stacks
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static List<Order> Fill(int count)
    {
        List<Order> orders = [];
        for (int i = 0; i < count; i++)
        {
            orders.Add(new Order(i));
        }
        return orders;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Run(int count, ManualResetEventSlim isReady)
    {
        List<Order> cache = Fill(count);
        isReady.Set();
        Shapes.Gate.WaitOne();
        for (int i = 0; i < count; i++)  // else the compiler makes no variable of it
        {
            Console.WriteLine(cache.Count);
        }
    }

    public static void Worker(int count)
    {
        ManualResetEventSlim isReady = new();
        new Thread(() => Run(count, isReady)) { IsBackground = true, Name = "shop worker" }.Start();
        isReady.Wait();
        Tell(count);
    }

    private static void Tell(int count)
    {
        Shapes.Truth("items", count);
        Shapes.Truth("least", (long)count * (Shapes.Array + 32));
        Shapes.Truth("most", (long)count * (Shapes.Array + 32 + 16) + 4096);
    }

    /// <summary>After the last collection: what only numbers lead to is there until the next one.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static unsafe nint AddressOf(int count)
    {
        List<Order> orders = Fill(count);
        Shapes.Settle();
        return *(nint*)Unsafe.AsPointer(ref orders);
    }

    public static unsafe void Raw(int count, Action ready)
    {
        nint* numbers = stackalloc nint[16];
        numbers[8] = AddressOf(count);
        Tell(count);
        ready();
        Console.WriteLine(numbers[8]);
    }
}
