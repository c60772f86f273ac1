// One shape of memory each, for `mixstack memory`; says itself what it holds (lines TRUTH NAME VALUE):
//   Memory cache COUNT         a static dictionary of COUNT entries
//   Memory strings COUNT       COUNT equal strings, and so many of their own
//   Memory pinned COUNT        COUNT small arrays with pinned handles, and COUNT on the pinned heap
//   Memory large COUNT         COUNT arrays of a megabyte, half of them collected again
//   Memory fragments COUNT     COUNT objects in generation 2, every other one collected
//   Memory native MB           so much of malloc in small blocks, a quarter of it freed, and as much in large ones
//   Memory between COUNT       COUNT mappings of its own of a megabyte, between large blocks of malloc and stacks
//   Memory contexts COUNT      its own assembly in COUNT contexts that can be unloaded
//   Memory garbage COUNT       COUNT nodes that stay, while threads make garbage as fast as they can
// Answers "made" with the number of objects made meanwhile, "quit" by ending.
using Memory;

string mode = args.Length > 0 ? args[0] : "";
int count = args.Length > 1 ? int.Parse(args[1]) : 1000;
switch (mode)
{
    case "cache": Shapes.Cache(count); break;
    case "strings": Shapes.Strings(count); break;
    case "pinned": Shapes.Pinned(count); break;
    case "large": Shapes.Large(count); break;
    case "fragments": Shapes.Fragments(count); break;
    case "between": Shapes.Between(count); break;
    case "contexts": Shapes.Contexts(count); break;
    case "native": Shapes.Native(count); break;
    case "garbage": Shapes.Garbage(count); break;
    default:
        Console.WriteLine("usage: Memory cache|strings|pinned|large|fragments|between|contexts|garbage COUNT | native MB");
        return 2;
}
Console.WriteLine($"READY {Environment.ProcessId}");
while (Console.ReadLine() is { } line)
{
    switch (line)
    {
        case "made": Console.WriteLine($"MADE {Shapes.Made} {GC.CollectionCount(0)} {GC.CollectionCount(2)}"); break;
        case "quit": return 0;
    }
}
Thread.Sleep(Timeout.Infinite);
return 0;
