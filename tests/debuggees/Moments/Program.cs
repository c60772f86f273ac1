// Memory that grows, or whose strings and arrays are known, for `mixstack memory`; says itself what it holds (lines
// TRUTH NAME VALUE):
//   Moments objects RATE       RATE objects of type Moments.Kept a second, held; as many bytes of garbage; with "full" a
//                              full collection every 300 ms
//   Moments native RATE        RATE bytes of malloc a second, never freed
//   Moments fragments COUNT    COUNT pinned arrays, and gaps between them
//   Moments threads COUNT      COUNT threads, once "more" is asked
//   Moments texts COUNT        COUNT copies each of some texts, COUNT texts of their own, empty and half empty arrays
// Answers "count" with what it holds now, "more" when it has made more, "quit" by ending.
using Moments;

string mode = args.Length > 0 ? args[0] : "";
int count = args.Length > 1 ? int.Parse(args[1]) : 1000;
bool isFull = args.Length > 2 && args[2] == "full";
switch (mode)
{
    case "objects": Growth.Objects(count, isFull); break;
    case "native": Growth.Native(count); break;
    case "threads": break;
    case "fragments": Growth.Fragments(count); break;
    case "texts": Texts.Make(count); break;
    default:
        Console.WriteLine("usage: Moments objects|native|fragments|threads|texts COUNT");
        return 2;
}
Console.WriteLine($"READY {Environment.ProcessId}");
while (Console.ReadLine() is { } line)
{
    switch (line)
    {
        case "count": Console.WriteLine($"COUNT {Growth.Count} {GC.CollectionCount(2)}"); break;
        case "more":
            Growth.Threads(count);
            Console.WriteLine($"MORE {count}");
            break;
        case "quit": return 0;
    }
}
Thread.Sleep(Timeout.Infinite);
return 0;
