using System.Globalization;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Scenarios;

/// <summary>What a signal costs a thread whose stack is as deep as asked for: every level is a managed and a native
/// frame. "cost LEVELS VALUE ROUNDS" or "gap" with the same; answers nanoseconds (see scen_signal_cost, scen_signal_gap).
/// </summary>
internal static unsafe class SignalCosts
{
    private static nuint s_value;
    private static int s_rounds;
    private static bool s_isGap;
    private static double s_cost;

    [Scenario("signal_cost")]
    private static void Stage() => Scene.Actor("bystander", Scene.Park);

    /// <summary>`confined [strictly]`: see scen_spin_confined.</summary>
    [Scenario("confined")]
    private static void Confine() => Scene.Actor("confined", () => Native.SpinConfined(Program.Arguments.Contains("strictly") ? 1 : 0));

    public static string Measure(string line)
    {
        string[] parts = line.Split(' ');
        s_isGap = parts[0] == "gap";
        s_value = nuint.Parse(parts[2]);
        s_rounds = int.Parse(parts[3]);
        Thread thread = new(() => Down(int.Parse(parts[1])), 16 * 1024 * 1024) { Name = "measured" };
        thread.Start();
        thread.Join();
        return s_cost.ToString(CultureInfo.InvariantCulture);
    }

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private static int Down(int levels)
    {
        if (levels <= 0)
        {
            s_cost = s_isGap ? Native.SignalGap(s_value, s_rounds) : Native.SignalCost(s_value, s_rounds);
            return 0;
        }
        return Native.ChainBare(&Level, levels - 1, 1) + 1;
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int Level(nint levels) => Down((int)levels) + 1;
}
