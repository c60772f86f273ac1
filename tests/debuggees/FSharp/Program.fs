// One thread for each way in which F# makes code of its own; each stands still below it.
module Shop.Orders

open System
open System.Runtime.CompilerServices
open System.Threading
open System.Threading.Tasks

let mutable count = 0

[<MethodImpl(MethodImplOptions.NoInlining)>]
let park () =
    Interlocked.Increment(&count) |> ignore
    Thread.Sleep -1

[<MethodImpl(MethodImplOptions.NoInlining)>]
let apply (f: int -> int) (x: int) = f x + 1

let closures (n: int) =
    List.map (fun x -> park (); x + n) [ 1; 2 ] |> List.length

let curried (n: int) =
    apply (fun x -> apply (fun y -> park (); x + y + n) x + 1) n

type Square(side: int) =
    // An inner function that needs nothing of around becomes a method of the module.
    member this.Grow(n: int) =
        let rec loop k =
            if k = 0 then (park (); 0) else 1 + loop (k - 1)
        loop n + side
    // Members of one name: the binding's name would not do.
    member this.Area(n: int) = apply (fun x -> park (); x + side) n
    member this.Area(n: string) = n.Length
    member this.Total = apply (fun x -> park (); x + side) 3
    member this.Later(n: int) = task {
        do! Task.Yield()
        park ()
        return n + side }

let local (n: int) =
    let inner (k: int) = (fun (q: int) -> (if q > 100 then n else (park (); q + k + n)))
    apply (inner 3) n

let items (n: int) = seq {
    yield n
    park ()
    yield n + 1 }

let generic (value: 'T) = apply (fun x -> park (); x + value.GetHashCode()) 3

let kept = fun (x: int) -> (park (); x + 1)
let lazily = lazy (park (); 3)

let start name (body: unit -> unit) =
    Thread(body, Name = name, IsBackground = true).Start()

[<EntryPoint>]
let main _ =
    start "closure" (fun () -> closures 3 |> printfn "%d")
    start "curried" (fun () -> curried 3 |> printfn "%d")
    start "inner" (fun () -> Square(3).Grow 2 |> printfn "%d")
    start "member" (fun () -> Square(3).Area 2 |> printfn "%d")
    start "property" (fun () -> Square(3).Total |> printfn "%d")
    start "local" (fun () -> local 3 |> printfn "%d")
    start "sequence" (fun () -> Seq.length (items 3) |> printfn "%d")
    start "generic" (fun () -> generic 3L |> printfn "%d")
    start "value" (fun () -> apply kept 3 |> printfn "%d")
    start "lazy" (fun () -> lazily.Force() |> printfn "%d")
    Square(3).Later 3 |> ignore
    while Volatile.Read(&count) < 11 do
        Thread.Sleep 10
    Thread.Sleep 50
    printfn "READY %d" Environment.ProcessId
    Console.ReadLine() |> ignore
    0
