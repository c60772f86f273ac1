// Heaps that hold many async methods which have not ended, for `mixstack why --heap`:
//   Heaps chains COUNT BALLAST_MB   COUNT of each kind in Chains.cs, and so much else
//   Heaps churn COUNT               COUNT chains, each soon replaced by another, while the GC compacts
// Answers "count" with how many chains there are now, "replaced" with how many were replaced so far, "quit" by ending.
using Heaps;

string mode = args.Length > 0 ? args[0] : "";
int count = args.Length > 1 ? int.Parse(args[1]) : 1000;
int ballast = args.Length > 2 ? int.Parse(args[2]) : 0;
switch (mode)
{
    case "chains": Chains.Make(count, ballast); break;
    case "churn": Churn.Begin(count); break;
    default:
        Console.WriteLine("usage: Heaps chains COUNT [BALLAST_MB] | churn COUNT");
        return 2;
}
Console.WriteLine($"READY {Environment.ProcessId}");
while (Console.ReadLine() is { } line)
{
    switch (line)
    {
        case "replaced": Console.WriteLine($"REPLACED {Churn.Replaced} {GC.CollectionCount(2)}"); break;
        case "quit": return 0;
    }
}
Thread.Sleep(Timeout.Infinite);
return 0;
