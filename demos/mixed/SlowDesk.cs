// The same desk on a bad day: nothing is stuck, and three things make it slow.
using System.Runtime.CompilerServices;

namespace OrderDesk;

internal static class SlowDesk
{
    private static readonly object s_book = new();
    private static readonly List<object[]> s_archive = [];
    private static int s_quantities;

    public static void Open()
    {
        for (int i = 0; i < 300_000; i++)
        {
            s_archive.Add([i]);
        }
        Again("importing", () => s_quantities += Quantity("a dozen"));
        Again("tidying", Tidy);
        for (int i = 1; i <= 4; i++)
        {
            Again($"booking-{i}", Book);
        }
    }

    private static void Again(string name, Action work) => new Thread(() =>
    {
        for (; ; )
        {
            work();
        }
    })
    { Name = name, IsBackground = true }.Start();

    // An exception for each text that is no number.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Quantity(string text)
    {
        try
        {
            return int.Parse(text);
        }
        catch (FormatException)
        {
            return 12;
        }
    }

    // The collector begins by itself; this only makes it begin more often.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Tidy()
    {
        GC.Collect();
        Thread.Sleep(100);
    }

    // Something slow under a lock that everybody needs.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Book()
    {
        lock (s_book)
        {
            Thread.Sleep(10);
        }
    }
}
