// Values for the live tests to find: arguments, variables of async methods, requests, sockets.
namespace Values;

internal static class Program
{
    private static void Main(string[] arguments)
    {
        switch (arguments[0])
        {
            case "arguments":
                Arguments.Run();
                break;
            case "churn":
                Arguments.Churn();
                break;
            case "async":
                AsyncValues.Run();
                break;
            case "requests":
                Requests.Run();
                break;
            default:
                throw new ArgumentException(arguments[0]);
        }
        Console.WriteLine($"READY {Environment.ProcessId}");
        Thread.Sleep(Timeout.Infinite);
    }
}
