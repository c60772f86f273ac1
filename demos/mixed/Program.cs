// A program with something going on: each thread stands in a different kind of mixed stack when it is looked at.
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace OrderDesk;

internal sealed class OrderRejectedException(string order, Exception? inner = null) : Exception($"order {order} rejected", inner);

internal static unsafe class Program
{
    private static readonly object s_ledger = new();
    private static int s_ready;

    private static void Main()
    {
        if (Environment.GetCommandLineArgs() is [_, "slow"])
        {
            SlowDesk.Open();
            Thread.Sleep(1000);
            Console.WriteLine($"READY {Environment.ProcessId}");
            Console.In.ReadToEnd();
            return;
        }
        // managed > native (C++ templates, std::sort) > managed > native (SetLastError stub) > managed > native
        Start("quoting", () => new Desk<string>("Zürich").Quote(20));
        // in a catch block, with the throwing frames still on the stack
        Start("throwing", () => new Desk<decimal>(1.5m).Process("A-17"));
        // an exception filter that asks the user
        Start("filtering", () => new Desk<decimal>(2.5m).ProcessOrAsk("B-4"));
        Start("spinning-managed", () => Collatz(27));
        Start("spinning-native", () => Simulate(100));
        lock (s_ledger)
        {
            Start("blocked-on-lock", () => PostToLedger("late entry"));
            Start("async", () => Reports.Nightly("2024-06").GetAwaiter().GetResult());
            Start("sorting", () => Reports.Rank(["gold", "silver", "tin"]));
            // each holds what the other wants next: a deadlock
            Start("shipping", () => Warehouse.Ship("C-20"));
            Start("refunding", () => Warehouse.Refund("C-20"));
            while (Volatile.Read(ref s_ready) < 10)
            {
                Thread.Sleep(5);
            }
            Thread.Sleep(200);
            Console.WriteLine($"READY {Environment.ProcessId}");
            // Ends with its input, so that nothing stays behind.
            Console.In.ReadToEnd();
        }
    }

    private static void Start(string name, Action work) =>
        new Thread(() => work()) { Name = name, IsBackground = true }.Start();

    public static void Here() => Interlocked.Increment(ref s_ready);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void PostToLedger(string entry)
    {
        Here();
        lock (s_ledger)
        {
            Console.WriteLine(entry);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long Collatz(long start)
    {
        Here();
        long steps = 0;
        for (long n = start; ; n = n == 1 ? start : Next(n))
        {
            steps++;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long Next(long n) => n % 2 == 0 ? n / 2 : 3 * n + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static double Simulate(double start)
    {
        Here();
        return Pricing.Simulate(start, &Market.Guess) + 1;
    }
}

internal static class Market
{
    private static readonly Approve s_approve = Approved;

    // Called by std::sort in the native library.
    [UnmanagedCallersOnly]
    public static double PriceOf(int item) => Pricing.Settle(s_approve, item, 0);

    // Called by std::sort, too, while prices are simulated: over and over.
    [UnmanagedCallersOnly]
    public static double Guess(int item)
    {
        double price = item * 7919 % 101;
        for (int day = 0; day < 20; day++)
        {
            price = Math.Sqrt(price * price + day);
        }
        return price;
    }

    // Called by the native library through a marshalled delegate; goes native a third time and waits there.
    private static int Approved(nint context, double total)
    {
        Program.Here();
        return Pricing.WaitForMarket() + (int)total + (int)context;
    }
}

internal sealed unsafe class Desk<TPlace>(TPlace place)
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public double Quote(int items) => Pricing.Cheapest(items, &Market.PriceOf) + place!.GetHashCode();

    [MethodImpl(MethodImplOptions.NoInlining)]
    public string Process(string order)
    {
        try
        {
            return Validate<int>(order, 3);
        }
        catch (OrderRejectedException error)
        {
            Program.Here();
            Thread.Sleep(Timeout.Infinite);
            return error.Message;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public string ProcessOrAsk(string order)
    {
        try
        {
            return Validate<Guid>(order, 2);
        }
        catch (OrderRejectedException error) when (Ask(error))
        {
            return error.Message;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool Ask(OrderRejectedException error)
    {
        Program.Here();
        return Pricing.WaitForMarket() > error.Message.Length;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static string Validate<TRule>(string order, int depth)
    {
        if (depth == 0)
        {
            throw new OrderRejectedException(order);
        }
        string result = Validate<TRule>(order, depth - 1);
        return result + typeof(TRule).Name;
    }
}

internal sealed class Stock
{
    public int Goods = 12;
}

internal sealed class Invoices
{
    public int Open = 3;
}

internal static class Warehouse
{
    private static readonly Stock s_stock = new();
    private static readonly Invoices s_invoices = new();
    private static readonly CountdownEvent s_holders = new(2);

    // Stock first, then invoices.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Ship(string order)
    {
        lock (s_stock)
        {
            MeetTheOther();
            lock (s_invoices)
            {
                s_invoices.Open++;
                s_stock.Goods -= order.Length;
            }
        }
    }

    // Invoices first, then stock: the other way round.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Refund(string order)
    {
        lock (s_invoices)
        {
            MeetTheOther();
            lock (s_stock)
            {
                s_stock.Goods += order.Length;
                s_invoices.Open--;
            }
        }
    }

    // What happens once in a thousand days happens each time here.
    private static void MeetTheOther()
    {
        s_holders.Signal();
        s_holders.Wait();
        Program.Here();
    }
}

internal static class Reports
{
    public static async Task<int> Nightly(string month)
    {
        int total = 0;
        await foreach (int page in Pages(month))
        {
            total += page;
        }
        return total;
    }

    private static async IAsyncEnumerable<int> Pages(string month)
    {
        // Long enough for the caller to wait: the rest runs on a pool thread.
        await Task.Delay(100);
        yield return month.Length;
        Program.Here();
        Thread.Sleep(Timeout.Infinite);
        yield return 1;
    }

    // A lambda called from precompiled framework code.
    public static void Rank(List<string> metals)
    {
        int calls = 0;
        metals.Sort((left, right) =>
        {
            if (calls++ == 0)
            {
                Program.Here();
                Pricing.WaitForMarket();
            }
            return string.CompareOrdinal(left, right);
        });
    }
}
