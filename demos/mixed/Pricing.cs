using System.Reflection;
using System.Runtime.InteropServices;

namespace OrderDesk;

internal delegate int Approve(nint context, double total);

/// <summary>libpricing.so, the native half.</summary>
internal static unsafe class Pricing
{
    private const string Library = "pricing";

    static Pricing() => NativeLibrary.SetDllImportResolver(Assembly.GetExecutingAssembly(),
        (name, _, _) => name == Library ? NativeLibrary.Load(Path.Combine(AppContext.BaseDirectory, "libpricing.so")) : 0);

    [DllImport(Library, EntryPoint = "pricing_cheapest")]
    public static extern double Cheapest(int items, delegate* unmanaged<int, double> quote);

    [DllImport(Library, EntryPoint = "pricing_settle", SetLastError = true)]
    public static extern int Settle(Approve approve, nint context, int retries);

    [DllImport(Library, EntryPoint = "pricing_wait_for_market")]
    public static extern int WaitForMarket();

    [DllImport(Library, EntryPoint = "pricing_simulate")]
    public static extern double Simulate(double start, delegate* unmanaged<int, double> quote);
}
