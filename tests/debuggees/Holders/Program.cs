// One way to hold memory each, for `mixstack memory --holders`; says itself what is held (lines TRUTH NAME BYTES):
//   Holders cache COUNT      a static dictionary
//   Holders collections COUNT collections that are made of types of their own
//   Holders events COUNT     subscribers of an event of a static object
//   Holders timers COUNT     timers that nobody else refers to
//   Holders async COUNT      async methods that wait for one task for ever
//   Holders threads COUNT    statics of threads of their own
//   Holders attached COUNT   values of a ConditionalWeakTable
//   Holders finalizers COUNT objects whose finalizers wait behind one that does not end
//   Holders handles COUNT    strong and pinned handles
//   Holders list COUNT       a linked list
//   Holders local COUNT      what only a local variable refers to
//   Holders worker COUNT     what only a local variable of another thread refers to, which it uses later
//   Holders raw COUNT        what only a number on a stack is the address of
//   Holders several COUNT    what two statics refer to
//   Holders mixed COUNT      what a static, a handle and a local variable refer to, and more than ten statics
//   Holders graph COUNT      a large graph of small objects
//   Holders churn COUNT      a static list whose items are replaced all the time
//   Holders shuffle COUNT    a static array whose items change their places all the time; nothing is allocated
// Answers "same" with whether it has run on, "quit" by ending.
using Holders;

string mode = args.Length > 0 ? args[0] : "";
int count = args.Length > 1 ? int.Parse(args[1]) : 1000;
switch (mode)
{
    case "cache": Shapes.Cache(count); break;
    case "collections": Collections.Fill(count); break;
    case "events": Shapes.Events(count); break;
    case "timers": Shapes.Timers(count); break;
    case "async": Shapes.Async(count); break;
    case "threads": Shapes.Threads(count); break;
    case "attached": Shapes.Attached(count); break;
    case "finalizers": Shapes.Finalizers(count); break;
    case "handles": Shapes.Handles(count); break;
    case "list": Shapes.LinkedList(count); break;
    case "several": Shapes.Several(count); break;
    case "graph": Shapes.Graph(count); break;
    case "churn": Shapes.Churn(count); break;
    case "mixed": Shapes.Mixed(count); break;
    case "shuffle": Shapes.Shuffle(count); break;
    case "worker": Stacks.Worker(count); break;
    case "raw": Stacks.Raw(count, Ready); return 0;
    case "local": Shapes.Local(count, Ready); return 0;
    default:
        Console.WriteLine("usage: Holders cache|collections|events|timers|async|threads|attached|finalizers|handles|list|several|graph|churn|local|worker|raw|mixed|shuffle COUNT");
        return 2;
}
Shapes.Settle();
Shapes.Started.Set();
Ready();
return 0;

static void Ready()
{
    Console.WriteLine($"READY {Environment.ProcessId}");
    while (Console.ReadLine() is { } line)
    {
        switch (line)
        {
            case "same": Console.WriteLine($"SAME {Shapes.Turns} {GC.CollectionCount(0)}"); break;
            case "quit": return;
        }
    }
    Thread.Sleep(Timeout.Infinite);
}
