// Makes memory outside of the managed heap, some of it for ever, for `mixstack memory --native`:
//   Native MODE [WHAT]      the modes are those of Sites.cs; WHAT is the path of libgrow.so for "library", and how many
//                           strings are there for "collecting" (without a pause) and "held", and gigabytes for "huge"
// Begins with "go". Answers "truth" with TRUTH and the bytes that are held and were used, "quit" by ending.
using Native;

string mode = args[0];
Sites.Prepare(mode, args.Length > 1 ? args[1] : "");
Console.WriteLine($"READY {Environment.ProcessId}");
while (Console.ReadLine() is { } line)
{
    switch (line)
    {
        case "truth": Console.WriteLine($"TRUTH {Sites.Held}"); break;
        case "go": Sites.Start(mode); Console.WriteLine("GOING"); break;
        case "quit": return 0;
    }
}
Thread.Sleep(Timeout.Infinite);
return 0;
