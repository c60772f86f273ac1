' One thread for each way in which a lambda comes to its code; each stands still below it.
Imports System
Imports System.Collections.Generic
Imports System.Runtime.CompilerServices
Imports System.Threading
Imports System.Threading.Tasks

Public Class Till
  Private ReadOnly _kept As New List(Of Integer)
  Public Event Opened()

  Public Sub New()
  End Sub

  Public Sub New(wait As Boolean)
    Dim waits As Action = Sub() Park.Here()
    waits()
  End Sub

  <MethodImpl(MethodImplOptions.NoInlining)>
  Public Function OfObject(x As Integer) As Integer
    Dim f = Function(y As Integer)
              Park.Here()
              Return _kept.Count + y
            End Function
    Return f(x) + 1
  End Function

  ' Overloads: the name of the member would not do.
  <MethodImpl(MethodImplOptions.NoInlining)>
  Public Function OfObject(x As String) As Integer
    Dim f = Function(y As String)
              Park.Here()
              Return _kept.Count + y.Length
            End Function
    Return f(x) + 1
  End Function

  Public ReadOnly Property Rate As Integer
    Get
      For Each q In Walk(3)
        Return q
      Next
      Return 0
    End Get
  End Property

  Private Iterator Function Walk(n As Integer) As IEnumerable(Of Integer)
    Dim s As Action = Sub() Park.Here()
    s()
    Yield n
  End Function

  <MethodImpl(MethodImplOptions.NoInlining)>
  Public Function Twice(a As Integer) As Integer
    Dim outer = Function(b As Integer)
                  Dim inner = Function(c As Integer)
                                Park.Here()
                                Return a + b + c
                              End Function
                  Return inner(b) + 1
                End Function
    Return outer(a) + 1
  End Function

  <MethodImpl(MethodImplOptions.NoInlining)>
  Public Function Generic(Of T)(value As T) As Integer
    Dim f = Function() As Integer
              Park.Here()
              Return value.GetHashCode()
            End Function
    Return f() + 1
  End Function
End Class

Public Class Box(Of T)
  <MethodImpl(MethodImplOptions.NoInlining)>
  Public Function Look(value As T) As Integer
    Dim f = Function(n As Integer) As Integer
              Park.Here()
              Return value.GetHashCode() + n
            End Function
    Return f(2) + 1
  End Function
End Class

Module Park
  Public Count As Integer
  <MethodImpl(MethodImplOptions.NoInlining)>
  Public Sub Here()
    Interlocked.Increment(Count)
    Thread.Sleep(-1)
  End Sub
End Module

Module Program
  Private Async Function Late() As Task
    Dim a = Async Function(n As Integer) As Task(Of Integer)
              Await Task.Yield()
              Park.Here()
              Return n
            End Function
    Await a(3)
  End Function

  Private Sub Start(name As String, body As Action)
    Call New Thread(Sub() body()) With {.Name = name, .IsBackground = True}.Start()
  End Sub

  Sub Main()
    Start("object", Sub() Console.WriteLine(New Till().OfObject(3)))
    Start("overload", Sub() Console.WriteLine(New Till().OfObject("a")))
    Start("constructor", Sub() Console.WriteLine(New Till(True)))
    Start("iterator", Sub() Console.WriteLine(New Till().Rate))
    Start("nested", Sub() Console.WriteLine(New Till().Twice(3)))
    Start("generic", Sub() Console.WriteLine(New Till().Generic(3L)))
    Start("box", Sub() Console.WriteLine(New Box(Of Long)().Look(3L)))
    Dim unused = Late()
    While Volatile.Read(Park.Count) < 8
      Thread.Sleep(10)
    End While
    Thread.Sleep(50)
    Console.WriteLine("READY " & Environment.ProcessId)
    Console.ReadLine()
  End Sub
End Module
