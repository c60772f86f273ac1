using System.Reflection;

namespace Scenarios;

/// <summary>A static method of this name-giving attribute sets one scenario up.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class ScenarioAttribute(string name) : Attribute
{
    public string Name { get; } = name;
}

internal static class Program
{
    /// <summary>Arguments of the scenario, without its name.</summary>
    public static string[] Arguments { get; private set; } = [];

    public static int Argument(int index, int otherwise) =>
        index < Arguments.Length ? int.Parse(Arguments[index]) : otherwise;

    private static int Main(string[] arguments)
    {
        Dictionary<string, MethodInfo> scenarios = [];
        foreach (Type type in typeof(Program).Assembly.GetTypes().Where(t => t.Namespace == "Scenarios" && !t.ContainsGenericParameters))
        {
            foreach (MethodInfo method in type.GetMethods(BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly))
            {
                if (method.GetCustomAttribute<ScenarioAttribute>() is { } scenario)
                {
                    scenarios.Add(scenario.Name, method);
                }
            }
        }
        if (arguments.Length == 0 || !scenarios.TryGetValue(arguments[0], out MethodInfo? chosen))
        {
            Console.WriteLine(string.Join('\n', scenarios.Keys.Order()));
            return arguments.Length == 0 ? 0 : 2;
        }
        Arguments = arguments[1..];
        chosen.CreateDelegate<Action>()();
        Scene.AwaitAll();
        Console.WriteLine($"READY {Environment.ProcessId}");
        Answer();
        return 0;
    }

    /// <summary>The test talks to a scenario line by line; without an input it stays for ever.</summary>
    private static void Answer()
    {
        while (Console.ReadLine() is { } line)
        {
            switch (line)
            {
                case "signals": Console.WriteLine($"SIGNALS {Native.SignalsGot()}"); break;
                case "churned": Console.WriteLine($"CHURNED {Threads.Churned}"); break;
                case "collections": Console.WriteLine($"COLLECTIONS {GC.CollectionCount(0)}"); break;
                case "count": Console.WriteLine(Counters.Count()); break;
                case "work": Console.WriteLine(Counters.Work()); break;
                case "traffic": Console.WriteLine($"TRAFFIC {Traffic.Progress}"); break;
                case "stormed": Console.WriteLine($"STORMED {Storms.Progress}"); break;
                case "forked": Console.WriteLine($"FORKED {Forks.Progress}"); break;
                case { } when line.StartsWith("gap "):
                case { } when line.StartsWith("cost "): Console.WriteLine($"COST {SignalCosts.Measure(line)}"); break;
                case "lines": Console.WriteLine(Lines.Kept); break;
                case "quit": return;
            }
        }
        Thread.Sleep(Timeout.Infinite);
    }
}
