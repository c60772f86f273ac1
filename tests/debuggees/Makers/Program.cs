// Threads that make objects of several types at several places, for `mixstack record -m alloc`; says itself how many
// bytes each place made:
//   Makers THREADS PAUSE       so many threads; each rests PAUSE microseconds after a round, 0: never
//   Makers short               threads that end after a moment, one after another
//   Makers native              blocks of malloc that are touched and kept, half a megabyte 50 times a second
// Answers "truth" with lines TRUTH PLACE BYTES and then END, "made" with MADE and the number of rounds, "quit" by ending.
using Makers;

string mode = args.Length > 0 ? args[0] : "2";
switch (mode)
{
    case "short": Places.Short(); break;
    case "native": Places.Native(); break;
    default: Places.Start(int.Parse(mode), args.Length > 1 ? int.Parse(args[1]) : 0); break;
}
Console.WriteLine($"READY {Environment.ProcessId}");
while (Console.ReadLine() is { } line)
{
    switch (line)
    {
        case "truth":
            foreach ((string place, long bytes) in Places.Truth()) Console.WriteLine($"TRUTH {place} {bytes}");
            Console.WriteLine("END");
            break;
        case "made": Console.WriteLine($"MADE {Places.Rounds}"); break;
        case "quit": return 0;
    }
}
Thread.Sleep(Timeout.Infinite);
return 0;
